//! Why there is no answer from a guest. Each has a code, and facts that a program can act on.

#[cfg(feature = "machine")]
use crate::installed::InstalledError;
use crate::package::{PackError, PackageError};
use hutch_model::contract::ArgumentViolation;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::guard::GuardViolation;
use hutch_model::invocation::InvocationError;
use hutch_model::ledger::{ChainError, EntryError, Record};
use hutch_model::limits::Limit;
use hutch_sandbox::{DescribeError, LoadError, RunError};
use hutch_store::{StoreError, StoreNameError};

/// A failure, and what is to be written down of it, if nothing is yet.
pub(crate) type Unkept = (Failure, Option<Box<Record>>);

/// A call that could not be carried out. No guest ran, or what it did was dropped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The package breaks the rules.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// An installed package can't be had, or not be kept.
    #[cfg(feature = "machine")]
    #[error(transparent)]
    Installed(#[from] InstalledError),
    /// The component can't be run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file is no exported application, or not as it was written.
    #[error("the bundle {reason}")]
    Bundle {
        /// How it shows.
        reason: &'static str,
    },
    /// The arguments or another input can't reach a guest.
    #[error(transparent)]
    Invocation(#[from] InvocationError),
    /// An argument breaks a guardrail.
    #[error("{0}")]
    Guard(GuardViolation),
    /// The user has not confirmed.
    #[error("{reason}")]
    Confirmation {
        /// Which command, and who wants it confirmed.
        reason: String,
    },
    /// The arguments break the contract of the package.
    #[error("{}", .violations.iter().map(|violation| violation.message.as_str()).collect::<Vec<_>>().join("; "))]
    Arguments {
        /// Each of them; at least one.
        violations: Vec<ArgumentViolation>,
    },
    /// The answer was to be held to its schema, and there is none.
    #[error("no output schema is declared for this call")]
    NoSchema,
    /// A value was given for an environment name that the package does not ask for.
    #[error("the package does not ask for the environment name {name:?}")]
    Environment {
        /// The name.
        name: String,
    },
    /// The value of a secret stands where the ledger would keep it as it is.
    #[error("the value of the secret {name:?} stands in {place} too, which the ledger keeps")]
    SecretTold {
        /// The name that the guest knows the secret by.
        name: String,
        /// Where else it stands: `argument 2`, or `the value of NAME`.
        place: String,
    },
    /// A real folder was granted that the package does not ask for.
    #[error("the package does not ask for a folder mounted as {name:?}")]
    MountNotAsked {
        /// Its name for the guest.
        name: String,
    },
    /// A granted folder could not be changed as the run left it. The state was not kept, and the folder is as it was, unless the
    /// reason says otherwise.
    #[error("{path}: {reason}")]
    Mount {
        /// The folder.
        path: String,
        /// Why.
        reason: String,
        /// Whether another program changed it meanwhile.
        changed: bool,
        /// Whether the system refused access.
        denied: bool,
        /// Whether it could not be put back.
        left: bool,
    },
    /// A run changed real folders, and for that to be taken back all of them have to be granted again.
    #[error("entry {sequence} changed real folders, which are put back only where they are granted again: {}", .mounts.join(", "))]
    FolderNotGranted {
        /// The run's entry.
        sequence: u64,
        /// How each of them is granted: `DIR:NAME:rw`, or `rwx`.
        mounts: Vec<String>,
    },
    /// A run changed a real folder, or what took it back did, and what that replaced there is not kept.
    #[error(
        "entry {sequence} changed the real folder {path}, and what it replaced there is not kept, so that is not taken back"
    )]
    FolderNotKept {
        /// The run's entry.
        sequence: u64,
        /// The folder.
        path: String,
    },
    /// What a run replaced in a real folder was kept, and can't be read.
    #[error("what was kept to be put back into real folders can't be read, in {path}: {reason}")]
    KeptUnreadable {
        /// Where it is kept.
        path: String,
        /// Why.
        reason: String,
    },
    /// A folder was granted that holds the host's own files, or lies among them.
    #[error("{path} holds hutch's own files, or lies among them, and can't be granted")]
    MountOwn {
        /// The folder.
        path: String,
    },
    /// A folder was granted for writing, and not with what tools act on, and tools act on all of it.
    #[error("tools act on what is in {path} because of {by:?}, and only a grant with :rwx lets a run change it")]
    MountActedOn {
        /// The folder.
        path: String,
        /// What they act on by its name.
        by: String,
    },
    /// A folder was granted for writing where instances are shared with other machines.
    #[error(
        "{path} can't be granted for writing: the instance is shared with other machines, which don't have that folder"
    )]
    MountShared {
        /// The folder.
        path: String,
    },
    /// The folders that were granted take more room in a ledger's entry than there may be.
    #[error("where the granted folders are takes {bytes} bytes in the ledger, {allowed} allowed")]
    MountsTooLong {
        /// How much they take.
        bytes: usize,
        /// How much they may.
        allowed: usize,
    },
    /// The state belongs to another package.
    #[error("the state of {slug}/{instance} belongs to {owners}, and not to the package at hand")]
    Foreign {
        /// The slug that both give themselves.
        slug: String,
        /// The instance.
        instance: String,
        /// Where the packages come from that it belongs to.
        owners: String,
    },
    /// The package declares a volume that lies in one that the instance has, or the other way round.
    #[error("the volume {declared:?} overlaps the volume {there:?}, which the instance has from an earlier version")]
    VolumeOverlap {
        /// What is declared.
        declared: String,
        /// What is there.
        there: String,
    },
    /// The package declares a volume that no store can keep.
    #[error("the volume {name:?} can't be kept: {source}")]
    Volume {
        /// The declared name.
        name: String,
        /// Why.
        source: StoreNameError,
    },
    /// The store failed, or the state changed meanwhile.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No entry of the ledger has this name.
    #[error("the ledger has no entry {name}")]
    NoEntry {
        /// The name.
        name: String,
    },
    /// Several entries have it.
    #[error("more than one entry's hash begins with {prefix}")]
    AmbiguousEntry {
        /// The beginning.
        prefix: String,
    },
    /// An entry can't be read.
    #[error(transparent)]
    Entry(EntryError),
    /// The ledger is not as it was written.
    #[error(transparent)]
    Chain(ChainError),
    /// The ledger has no plan.
    #[error("the ledger has no plan")]
    NoPlan,
    /// The entry is not a plan.
    #[error("entry {sequence} is not a plan")]
    NotAPlan {
        /// Its place.
        sequence: u64,
    },
    /// The state is not the one that the plan saw.
    #[error("the state of {volume} has changed since plan {sequence} was made")]
    PlanStale {
        /// The plan's place.
        sequence: u64,
        /// The volume.
        volume: String,
    },
    /// Carrying out the plan came to something else than it said.
    #[error("carrying out plan {sequence} came to something else than it said: {}", .differences.join(", "))]
    PlanDiffers {
        /// The plan's place.
        sequence: u64,
        /// What differs.
        differences: Vec<String>,
    },
    /// What a bundle tells of a run is not so.
    #[error("entry {sequence} of the bundle came to something else when it was run again: {}", .differences.join(", "))]
    BundleDiffers {
        /// The entry's place.
        sequence: u64,
        /// What differs.
        differences: Vec<String>,
    },
    /// A run that a bundle tells of kept a state, and can't be held against anything.
    #[error("entry {sequence} of the bundle kept a state and can't be run again here: {reason}")]
    BundleUnproved {
        /// The entry's place.
        sequence: u64,
        /// Why.
        reason: String,
    },
    /// What a bundle or a proof tells of takes more than a run may here.
    #[error("entry {sequence} of what was brought takes {} {value}, and {allowed} are allowed here", .limit.name())]
    BundleBeyond {
        /// The entry's place.
        sequence: u64,
        /// Of what.
        limit: Limit,
        /// How much.
        value: u64,
        /// How much is allowed.
        allowed: u64,
    },
    /// A proof is none, or not of what it says.
    #[error("the proof {reason}")]
    Proof {
        /// How it shows.
        reason: String,
    },
    /// What an entry says did not come of what is there to prove it.
    #[error("entry {sequence} came to something else when it was run again: {}", .differences.join(", "))]
    ProofDiffers {
        /// The entry's place.
        sequence: u64,
        /// What differs.
        differences: Vec<String>,
    },
    /// What an entry follows from is more than a proof may hold.
    #[error("what entry {sequence} follows from has {bytes} bytes, {allowed} allowed in a proof")]
    ProofTooLarge {
        /// The entry's place.
        sequence: u64,
        /// How much it is.
        bytes: u64,
        /// How much it may be.
        allowed: u64,
    },
    /// A run that is to be exported with the package that made it was made by one that is not at hand.
    #[error("entry {sequence} was made by a version of the package that is not here")]
    MakerMissing {
        /// The entry's place.
        sequence: u64,
    },
    /// A recorded invocation can't be made again.
    #[error("the invocation can't be made again: {reason}")]
    NotAgain {
        /// Why.
        reason: String,
    },
    /// A request with this name was carried out by another process meanwhile.
    #[error("the request was carried out meanwhile, as entry {sequence}")]
    CarriedOut {
        /// By which entry.
        sequence: u64,
    },
    /// There are fewer changes than are to be undone.
    #[error("{count} changes are to be undone, and there are {there}")]
    NothingToUndo {
        /// How many were asked for.
        count: u64,
        /// How many there are.
        there: u64,
    },
    /// There are fewer changes that were taken back than are to be made again.
    #[error("{count} undone changes are to be made again, and there are {there}")]
    NothingToRedo {
        /// How many were asked for.
        count: u64,
        /// How many there are.
        there: u64,
    },
    /// Going there would change nothing.
    #[error("the state is already the one {place} entry {sequence}")]
    NoChange {
        /// Before or after it.
        place: &'static str,
        /// Its place.
        sequence: u64,
    },
    /// There is nothing at a path of a volume, or not what was asked for.
    #[error("{path}: {reason}")]
    Path {
        /// The path, the volume first.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The process could not be enclosed as its owner wants it, and no guest started.
    #[error("{reason}")]
    Unenclosed {
        /// Why.
        reason: String,
        /// Whether that is for want of something that the machine has not, and not the host's fault.
        missing: bool,
    },
    /// The component's description can't be had.
    #[error(transparent)]
    Describe(#[from] DescribeError),
    /// The host failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What went wrong, of which the ledger has no entry.
    #[error("{failure}")]
    Unrecorded {
        /// What.
        failure: Box<Failure>,
        /// Why there is none.
        reason: StoreError,
    },
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Failure {
        match error {
            PackError::Package(error) => Failure::Package(error),
            PackError::Io(error) => Failure::Run(RunError::Host(error.to_string())),
        }
    }
}

impl Failure {
    /// A granted folder around which a run, whosever it is, had begun to place what it changed, and did not live: by the path of its
    /// staging folder.
    pub(crate) fn staged(folder: String, staging: &str) -> Failure {
        let reason =
            format!("a run that was cut short left it half changed, and what was there before is in {staging}");
        Failure::Mount { path: folder, reason, changed: true, denied: false, left: true }
    }

    /// The code to report it with.
    pub fn code(&self) -> ErrorCode {
        match self {
            Failure::Package(error) => error.code(),
            #[cfg(feature = "machine")]
            Failure::Installed(error) => error.code(),
            Failure::Load(error) => error.code(),
            Failure::Invocation(InvocationError::TooLarge { limit, .. }) => limit.info().code,
            Failure::Invocation(_) => ErrorCode::Usage,
            Failure::Bundle { .. } => ErrorCode::PackageInvalid,
            Failure::Guard(_) | Failure::SecretTold { .. } => ErrorCode::ArgumentRefused,
            Failure::Confirmation { .. } => ErrorCode::ConfirmationRequired,
            Failure::Environment { .. } | Failure::MountNotAsked { .. } => ErrorCode::PermissionDenied,
            Failure::Mount { changed: true, .. } => ErrorCode::Conflict,
            Failure::Mount { denied: true, .. }
            | Failure::MountOwn { .. }
            | Failure::MountActedOn { .. }
            | Failure::MountShared { .. }
            | Failure::FolderNotGranted { .. } => ErrorCode::PermissionDenied,
            Failure::Mount { .. } | Failure::KeptUnreadable { .. } => ErrorCode::HostFault,
            Failure::Foreign { .. } => ErrorCode::InstanceForeign,
            Failure::VolumeOverlap { .. } => ErrorCode::PackageInvalid,
            Failure::Arguments { .. } => ErrorCode::ArgumentInvalid,
            Failure::NoSchema => ErrorCode::Usage,
            Failure::Volume { .. } => ErrorCode::PackageInvalid,
            Failure::Store(error) => error.code(),
            Failure::NoEntry { .. } | Failure::NoPlan | Failure::Path { .. } | Failure::FolderNotKept { .. } => {
                ErrorCode::NotFound
            }
            Failure::NothingToUndo { .. } | Failure::NothingToRedo { .. } => ErrorCode::NotFound,
            Failure::AmbiguousEntry { .. }
            | Failure::NotAPlan { .. }
            | Failure::NoChange { .. }
            | Failure::ProofTooLarge { .. }
            | Failure::MountsTooLong { .. } => ErrorCode::Usage,
            Failure::Entry(_) | Failure::Chain(_) => ErrorCode::StoreDamaged,
            Failure::CarriedOut { .. } => ErrorCode::RequestConflict,
            Failure::PlanStale { .. } | Failure::PlanDiffers { .. } => ErrorCode::Conflict,
            Failure::BundleDiffers { .. } | Failure::Proof { .. } | Failure::ProofDiffers { .. } => {
                ErrorCode::VerifyFailed
            }
            Failure::BundleBeyond { limit, .. } => limit.info().code,
            Failure::NotAgain { .. } | Failure::BundleUnproved { .. } | Failure::MakerMissing { .. } => {
                ErrorCode::NotReproducible
            }
            Failure::Describe(DescribeError::Guest(_)) => ErrorCode::ComponentInvalid,
            Failure::Unenclosed { missing: true, .. } | Failure::Describe(DescribeError::Unenclosed(_)) => {
                ErrorCode::RingRequired
            }
            Failure::Unenclosed { .. } => ErrorCode::HostFault,
            Failure::Run(RunError::Stopped) => ErrorCode::Cancelled,
            Failure::Run(RunError::State(error)) => StoreError::object("", error).code(),
            Failure::Describe(_) | Failure::Run(_) => ErrorCode::HostFault,
            Failure::Unrecorded { failure, .. } => failure.code(),
        }
    }

    /// Whether the call itself is what is wrong: another one may be made all the same.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Failure::Invocation(_)
                | Failure::Guard(_)
                | Failure::Confirmation { .. }
                | Failure::Arguments { .. }
                | Failure::NoSchema
                | Failure::SecretTold { .. }
                | Failure::Environment { .. }
                | Failure::MountNotAsked { .. }
        )
    }

    /// The report, with the facts that the failure has.
    pub fn report(&self) -> ErrorReport {
        if let Failure::Unrecorded { failure, reason } = self {
            return failure.report().detail("unrecorded", reason.to_string());
        }
        let report = ErrorReport::new(self.code(), self.to_string());
        match self {
            Failure::Package(error) => {
                report.detail("diagnostics", serde_json::to_value(error.diagnostics()).unwrap_or_default())
            }
            Failure::Invocation(InvocationError::TooLarge { limit, size, limit_value }) => {
                report.detail("limit", limit.name()).detail("limit_value", *limit_value).detail("size", *size)
            }
            Failure::Guard(violation) => {
                report.detail("rule", violation.rule.id()).detail("argument", violation.index as u64 + 1)
            }
            Failure::Bundle { .. } => report.suggest("make it again with hutch pack --compiled"),
            Failure::SecretTold { name, .. } => {
                report.suggest("leave it out there: the application has it by its name").detail("name", name.as_str())
            }
            Failure::Environment { name } | Failure::MountNotAsked { name } => report.detail("name", name.as_str()),
            Failure::Arguments { violations } => {
                report.detail("violations", serde_json::to_value(violations).unwrap_or_default())
            }
            Failure::NoPlan | Failure::NotAPlan { .. } => report.suggest("make one with hutch plan"),
            Failure::NoSchema => report.suggest("name a declared command, or leave --contract schema out"),
            Failure::Foreign { owners, .. } => report.detail("owners", owners.as_str()),
            Failure::Mount { path, left, .. } => {
                let report = report.detail("folder", path.as_str()).detail("kept", false);
                match left {
                    true => report.detail("left", true).suggest(
                        "call the instance whose run that was (hutch doctor names it), which puts back what it can; see unsettled in hutch state diff; who needs none of that folder lets go of it with hutch gc --unsettled FOLDER",
                    ),
                    false => report,
                }
            }
            Failure::FolderNotGranted { mounts, .. } => report.detail("mounts", mounts.clone()).suggest(
                "grant each of them again; or go back by an entry's name, which leaves real folders as they are",
            ),
            Failure::KeptUnreadable { path, .. } | Failure::FolderNotKept { path, .. } => report
                .detail("folder", path.as_str())
                .suggest("go to an entry by its name, which leaves real folders as they are"),
            Failure::MountOwn { path } => report
                .detail("folder", path.as_str())
                .suggest("grant another folder, which neither holds hutch's nor lies in it"),
            Failure::MountActedOn { path, .. } => report
                .detail("folder", path.as_str())
                .suggest("grant it for reading, or another folder; :rwx only to whom you would let run programs there"),
            Failure::MountShared { path } => report
                .detail("folder", path.as_str())
                .suggest("grant it for reading, or use an instance of a home: unset HUTCH_STORE"),
            Failure::MountsTooLong { .. } => report.suggest("grant fewer folders at once, or by shorter paths"),
            Failure::Store(StoreError::Conflict { volume, .. }) => report.detail("volume", volume.as_str()),
            Failure::Store(StoreError::Dropped { kept_from, .. }) => {
                let before = kept_from.saturating_sub(1);
                let to = "to where nothing of it is (another --instance, or a home by backup)";
                report.detail("kept_from", *kept_from).suggest(format!(
                    "carry all up to entry {kept_from} or more {to}, or what comes --after @{before} to who has that"
                ))
            }
            Failure::Store(StoreError::Unsettled { open, .. }) => report.detail("open", open.clone()).suggest(
                "bring the folder back and call again, or let go of what is in it with hutch gc --unsettled FOLDER",
            ),
            Failure::Store(StoreError::InUse { by, .. }) => {
                let report = if by.is_empty() { report } else { report.detail("processes", by.clone()) };
                report.suggest(
                    "end the server or the command that has it open, or let it end, then repeat, or raise --wait",
                )
            }
            Failure::PlanStale { sequence, volume } => report
                .detail("plan", *sequence)
                .detail("volume", volume.as_str())
                .suggest("make a new plan and look at it"),
            Failure::PlanDiffers { sequence, differences } => report
                .detail("plan", *sequence)
                .detail("differences", differences.clone())
                .suggest("make a new plan and look at it"),
            Failure::BundleDiffers { sequence, differences } | Failure::ProofDiffers { sequence, differences } => {
                report.detail("sequence", *sequence).detail("differences", differences.clone())
            }
            Failure::BundleBeyond { sequence, limit, value, allowed } => report
                .detail("sequence", *sequence)
                .detail("limit", limit.name())
                .detail("limit_value", *allowed)
                .suggest(format!(
                    "if it may take that much, set the limit {} to {value}: --limit {0}={value} on the command line",
                    limit.name()
                )),
            Failure::BundleUnproved { sequence, .. } | Failure::MakerMissing { sequence } => {
                report.detail("sequence", *sequence)
            }
            Failure::Load(LoadError::Target { has, .. } | LoadError::Elsewhere { has, .. }) => {
                report.detail("targets", has.clone())
            }
            Failure::Load(LoadError::Lacking { feature, .. }) => report.detail("feature", feature.name()),
            Failure::Chain(error) => report.detail("sequence", error.sequence()),
            Failure::Describe(_) | Failure::Run(_) | Failure::Unenclosed { .. } => report.detail("kept", false),
            _ => report,
        }
    }
}

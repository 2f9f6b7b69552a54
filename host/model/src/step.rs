//! The steps of a call in the order in which the host takes them: what each presumes, and which codes it can end with. A code of
//! one step says that all steps before it went well, and that nothing is known yet of those after it.

use crate::error_code::ErrorCode;

/// A step of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// The program's own command line is read.
    CommandLine,
    /// What is named is fetched from elsewhere.
    Fetch,
    /// The package is opened.
    Package,
    /// Standard input is read.
    Input,
    /// The instance and the store are opened.
    Instance,
    /// The guest's arguments and what is granted to it are held to what the package declares.
    Call,
    /// A person's consent is looked for.
    Consent,
    /// The component is read and compiled.
    Component,
    /// The guest runs.
    Work,
    /// What the guest answered is judged.
    Answer,
    /// State and ledger are written.
    Commit,
    /// The answer is written.
    Tell,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: [Step; 12] = [
        Step::CommandLine,
        Step::Fetch,
        Step::Package,
        Step::Input,
        Step::Instance,
        Step::Call,
        Step::Consent,
        Step::Component,
        Step::Work,
        Step::Answer,
        Step::Commit,
        Step::Tell,
    ];

    /// As printed.
    pub const fn text(self) -> &'static str {
        match self {
            Step::CommandLine => "command line",
            Step::Fetch => "fetch",
            Step::Package => "package",
            Step::Input => "input",
            Step::Instance => "instance",
            Step::Call => "call",
            Step::Consent => "consent",
            Step::Component => "component",
            Step::Work => "work",
            Step::Answer => "answer",
            Step::Commit => "commit",
            Step::Tell => "tell",
        }
    }

    /// What must be true for the step to go well.
    pub const fn precondition(self) -> &'static str {
        match self {
            Step::CommandLine => "the command line has the form that --help states",
            Step::Fetch => {
                "the registry answers, knows the caller, and holds the package that is asked for, of the origin that is asked for"
            }
            Step::Package => {
                "the package is there, is sound, has a wasm: entry, is the one that was installed, and is trusted as far as a rule asks"
            }
            Step::Input => "standard input is no terminal, and is closed in time",
            Step::Instance => "the instance belongs to the package, and its store is whole and of this version",
            Step::Call => {
                "arguments pass the guard and the contract, only what the package asks for is granted, and arguments and standard input keep their limits"
            }
            Step::Consent => "a person agreed, where the package asks for that",
            Step::Component => "the payload is a component of a known size, and compiles within compile_time_ms",
            Step::Work => "the guest stays within its limits, does not trap, and is not cancelled",
            Step::Answer => "the guest exits with 0 and prints what its contract promises",
            Step::Commit => "nobody else changed the state or keeps it locked, and the disk takes it",
            Step::Tell => "what reads the answer takes it to the end",
        }
    }

    /// The step that ends with a code, if it is always the same one.
    pub const fn of(code: ErrorCode) -> Option<Step> {
        use ErrorCode as Code;
        let step = match code {
            Code::HostFault | Code::PermissionDenied | Code::NotFound | Code::AlreadyExists => return None,
            Code::BuildFailed | Code::ExampleFailed => return None,
            Code::VerifyFailed | Code::NotReproducible | Code::LevelNotReached | Code::LockDiffers => return None,
            Code::AuthenticationRequired | Code::RequestInvalid | Code::RequestConflict => return None,
            // By its outside where the package is opened, by its inside where it is compiled.
            Code::ComponentInvalid | Code::ComponentLimit => return None,
            // Before everything where the machine says that it lacks one, and before the guest where one can't be put up.
            Code::RingRequired => return None,
            Code::Usage | Code::TargetUnsupported => Step::CommandLine,
            Code::AuthenticationFailed | Code::RegistryFailed | Code::ArtifactInvalid => Step::Fetch,
            Code::SignatureInvalid | Code::SignatureRequired | Code::SignerChanged => Step::Fetch,
            Code::LockMismatch => Step::Fetch,
            Code::VersionOlder | Code::VersionReplaced | Code::SourceChanged => Step::Fetch,
            Code::PackageNotFound | Code::PackageInvalid | Code::PackageChanged | Code::EntryUnsupported => {
                Step::Package
            }
            Code::TrustRequired => Step::Package,
            Code::StdinTerminal | Code::StdinTimeLimit => Step::Input,
            Code::InstanceForeign | Code::StoreDamaged | Code::StoreTooNew => Step::Instance,
            Code::ArgumentRefused | Code::ArgumentInvalid | Code::ArgumentLimit | Code::StdinLimit => Step::Call,
            Code::ConfirmationRequired => Step::Consent,
            Code::CompileTimeLimit => Step::Component,
            Code::WallTimeLimit | Code::FuelLimit | Code::MemoryLimit | Code::TableLimit | Code::InstanceLimit => {
                Step::Work
            }
            Code::StackLimit | Code::HandleLimit | Code::HostCallLimit | Code::StdoutLimit | Code::StderrLimit => {
                Step::Work
            }
            Code::StateBytesLimit | Code::StateFilesLimit | Code::FileBytesLimit | Code::FolderDepthLimit => Step::Work,
            Code::GuestTrapped | Code::Cancelled | Code::ServerBusy => Step::Work,
            Code::GuestFailed | Code::ContractViolation => Step::Answer,
            Code::Conflict | Code::InstanceBusy | Code::CommitUncertain => Step::Commit,
            Code::AnswerLost => Step::Tell,
        };
        Some(step)
    }

    /// The steps that have gone well when this one ends a call.
    pub fn before(self) -> impl Iterator<Item = Step> {
        Step::ALL.into_iter().filter(move |step| *step < self)
    }

    /// The steps of which nothing is known when this one ends a call.
    pub fn after(self) -> impl Iterator<Item = Step> {
        Step::ALL.into_iter().filter(move |step| *step > self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_can_end_a_call_and_stands_between_the_others() {
        for step in Step::ALL {
            assert!(ErrorCode::ALL.iter().any(|code| Step::of(*code) == Some(step)), "{step:?} ends with no code");
            assert_eq!(step.before().count() + 1 + step.after().count(), Step::ALL.len());
        }
        assert!(Step::ALL.is_sorted());
    }
}

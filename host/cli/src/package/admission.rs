//! What comes into the home, by whatever command: judged here, and pinned here alone. A command says what the caller said and where the
//! package is; what that is worth beside the version that is installed is decided once, for a package that is named and one of a lock alike.

use crate::answer::output::Output;
use crate::answers::Changes;
use crate::flags::global::Global;
use crate::machine::surroundings;
use crate::package::launcher::Planned;
use crate::package::network::NetworkArguments;
use crate::package::signed::{self, Says, Signed};
use crate::package::taken::Taken;
use crate::package::{packages, shared, trust};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use hutch::installed::{InstalledError, Pin, Remembered};
use hutch::package::{Package, PackageBounds};
use hutch_model::asks::Asks;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use hutch_model::trust::Subject;
use hutch_registry::Signer;
use semver::Version;
use std::collections::BTreeSet;
use std::path::Path;

mod commands;

pub(crate) use commands::may_ask;

use commands::Commands;

/// What may be other than in the version before, once somebody says so.
#[derive(Debug, Args)]
pub(crate) struct AllowArguments {
    /// Grant this, as needs_grant lists it; may be repeated; --yes grants all
    #[arg(long = "grant", value_name = "ASK")]
    pub(crate) grants: Vec<String>,
    /// Take also what the signer of the installed version has not signed, or its attester not attested
    #[arg(long)]
    pub(crate) allow_signer_change: bool,
    /// Take also other files of the same version; from the folder that it came from that needs no saying
    #[arg(long)]
    pub(crate) allow_replaced_version: bool,
    /// Take it also from another place than the installed version; what the package kept is handed over
    #[arg(long)]
    pub(crate) allow_source_change: bool,
}

impl AllowArguments {
    /// A grant of what nobody asks for is a misunderstanding. A command that `may_ask` to change something unconfirmed may have done so
    /// before.
    pub(crate) fn check_grants<'a>(
        &self,
        asks: impl Iterator<Item = &'a str>,
        may_ask: impl Fn(&str) -> bool,
    ) -> Result<(), Fault> {
        let asks: BTreeSet<&str> = asks.collect();
        let is_known = |grant: &&String| asks.contains(grant.as_str()) || may_ask(grant);
        match self.grants.iter().find(|grant| !is_known(grant)) {
            Some(grant) => {
                let known = if asks.is_empty() { "nothing".to_owned() } else { Vec::from_iter(asks).join(", ") };
                let report = ErrorReport::new(ErrorCode::Usage, format!("nothing asks for {grant:?}"));
                Err(report.suggest(format!("what is asked for is {known}")).into())
            }
            None => Ok(()),
        }
    }
}

/// What the caller said, on the line or in a lock.
#[derive(Debug)]
pub(crate) struct Said<'s> {
    /// What may change.
    pub(crate) allowed: &'s AllowArguments,
    /// Whether the version is meant, be it older.
    pub(crate) version: bool,
    /// Whose signature is as good as that of the version before; one of them must have signed.
    pub(crate) keys: &'s [Signer],
    /// Who must have signed, whoever signed the version before: a lock says so, which may be a stranger's. It makes nobody known.
    pub(crate) signer: Option<Signer>,
    /// Who must say how it was built; the same.
    pub(crate) attester: Option<Signer>,
}

/// A package that is to be installed, as it was read: what becomes of its source afterwards changes nothing.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) package: Package,
    /// Where it is from, as pins say it.
    pub(crate) source: String,
    signed: Signed,
}

impl Candidate {
    /// What is at a place.
    pub(crate) fn take(global: &Global, network: &NetworkArguments, word: &Path) -> Result<Candidate, Fault> {
        let taken = Taken::from(global, network, word)?;
        let checked = taken.checked()?;
        let Some(package) = checked.package else {
            return Err(repair::refused(&global.line, word, &checked.diagnostics));
        };
        Ok(Candidate { signed: taken.signed(global, &package)?, source: taken.source(), package })
    }

    /// Whether it is from where another one came from: from the same repository, or the same folder or file whatever led there.
    pub(crate) fn is_from_where(&self, pin: &Pin) -> bool {
        trust::pinned(&self.source) == trust::pinned(&pin.source)
    }
}

/// What a package is judged beside: the version that is installed under its slug, or the one that was removed and left what it kept.
#[derive(Debug)]
pub(crate) struct Before {
    pin: Pin,
    is_removed: bool,
}

impl Before {
    /// The version that is installed.
    pub(crate) fn installed(&self) -> Option<&Pin> {
        (!self.is_removed).then_some(&self.pin)
    }

    /// What it is called in a sentence.
    fn version(&self) -> &'static str {
        if self.is_removed { "the removed version" } else { "the installed version" }
    }
}

/// What there was under a slug, if anything that matters was. Of a pin that nobody can read nobody can tell whose the state is.
///
/// # Errors
/// The pin can't be read, and nobody said that this doesn't matter.
pub(crate) fn before(global: &Global, slug: &Slug, allowed: &AllowArguments) -> Result<Option<Before>, Fault> {
    let installed = packages::installed(global)?;
    let found = match installed.pin(slug) {
        Ok(pin) => Ok(Some(Before { pin, is_removed: false })),
        // Where what it kept may be is not this call's to know: in the home, in a database, in another one.
        Err(InstalledError::Missing(_)) => {
            installed.removed(slug).map(|pin| pin.map(|pin| Before { pin, is_removed: true }))
        }
        Err(error) => Err(error),
    };
    match found {
        Ok(found) => Ok(found),
        Err(InstalledError::Damaged { .. }) if allowed.allow_source_change => Ok(None),
        Err(error) => {
            let report = ErrorReport::new(error.code(), error.to_string());
            Err(match error {
                InstalledError::Damaged { .. } => report
                    .suggest("restore it from a copy; or install it anew with --allow-source-change, if the source is the right one")
                    .into(),
                _ => report.into(),
            })
        }
    }
}

/// A package that may be installed, but for what is yet to be granted.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) candidate: Candidate,
    /// What it was judged beside.
    before: Option<Pin>,
    pub(crate) signer: Option<By>,
    pub(crate) attester: Option<By>,
    /// How far it is trusted once it is installed.
    pub(crate) trust: &'static str,
    pub(crate) asks: Asks,
    /// What was not granted to the version before.
    pub(crate) beyond: Vec<String>,
    /// What of its commands is other than in the version before, if there is one.
    pub(crate) changes: Option<Changes>,
}

/// Judges a package beside what there was.
///
/// # Errors
/// What is other than before and was not said, what it lacks that was asked for, or a rule that it breaks.
pub(crate) fn admit(
    global: &Global,
    candidate: Candidate,
    before: Option<&Before>,
    said: &Said<'_>,
) -> Result<Admission, Fault> {
    if let Some(before) = before {
        check_change(&candidate, before, said)?;
    }
    // What was granted to one that was removed is granted to none.
    let installed = before.and_then(Before::installed);
    let policy = trust::policy(global)?;
    let from = trust::pinned(&candidate.source);
    let trusted = trust::keys(&policy, &from);
    let signer = signer(&candidate.signed, before, said, &trusted)?;
    let attester = attester(&candidate.signed, before, said, &trusted)?;
    let texts = [&signer, &attester].map(|by| By::counted(by.as_ref()));
    let [by, built] = [&texts[0], &texts[1]].map(Option::as_deref);
    let judged = policy.judge(Subject { source: &from, is_installed: true, signer: by, attester: built });
    let manifest = candidate.package.manifest();
    trust::enough(&judged, manifest.slug().as_str())?;
    let trust = judged.level.text();
    let asks = Asks::of(manifest);
    let mut beyond: Vec<String> = asks.beyond(installed.map(|pin| &pin.asks)).into_iter().map(str::to_owned).collect();
    let changes = match installed {
        None => None,
        Some(pin) if candidate.package.digest()? == pin.digest => Some(Changes::default()),
        Some(pin) => {
            let now = Commands::of(&candidate.package)?;
            // Of one that can't be read nothing is known, so nothing was promised to be as it is now.
            let old = packages::installed(global)?.open(pin, PackageBounds::default(), None);
            let old = old.ok().and_then(|old| Commands::of(&old).ok()).unwrap_or_default();
            beyond.extend(now.unconfirmed_beyond(&old));
            Some(now.changes(&old))
        }
    };
    Ok(Admission { candidate, before: installed.cloned(), signer, attester, trust, asks, beyond, changes })
}

impl Admission {
    /// Whose it is.
    pub(crate) fn slug(&self) -> &Slug {
        self.candidate.package.manifest().slug()
    }

    /// Whether all that it needs was granted one by one.
    pub(crate) fn is_granted(&self, allowed: &AllowArguments) -> bool {
        self.beyond.iter().all(|ask| allowed.grants.contains(ask))
    }

    /// Installs it: the one way to a pin. What it was granted is what it asks for, so nothing may be ungranted.
    pub(crate) fn install(self, global: &Global, launcher: Option<&Planned>, output: &Output) -> Result<Pin, Fault> {
        let Candidate { package, source, signed } = &self.candidate;
        // What others can have is no harm to anybody, should it not be installed here after all.
        shared::keep(global, package, signed, output)?;
        // The launcher first: where it can't be, nothing is installed.
        launcher.map_or(Ok(()), Planned::write)?;
        let remembered = Remembered {
            launcher: launcher.map(Planned::launcher),
            signer: By::text(self.signer.as_ref()),
            attester: By::text(self.attester.as_ref()),
            signer_unnamed: self.signer.as_ref().is_some_and(|by| by.is_unnamed),
            attester_unnamed: self.attester.as_ref().is_some_and(|by| by.is_unnamed),
            signed_by: self.signer.as_ref().and_then(|by| signed.identity(&by.who, Says::Signed)),
            attested_by: self.attester.as_ref().and_then(|by| signed.identity(&by.who, Says::Built)),
        };
        let installed = packages::installed(global)?;
        let done = installed.install(package, source, surroundings::now(), remembered, self.before.as_ref());
        let pin = done.inspect_err(|_| launcher.into_iter().for_each(Planned::take_back))?;
        launcher.into_iter().for_each(Planned::finish);
        Ok(pin)
    }
}

/// Refuses what should not happen unsaid: to come from elsewhere, go back, or change what a version means.
fn check_change(candidate: &Candidate, before: &Before, said: &Said<'_>) -> Result<(), Fault> {
    let (before, is) = (&before.pin, if before.is_removed { "was" } else { "is" });
    let (version, source) = (candidate.package.manifest().version(), &candidate.source);
    let refuse = |code, message: String| {
        let report = ErrorReport::new(code, message).detail("from", before.source.as_str());
        Err(report.detail("source", source.as_str()).into())
    };
    let stays = candidate.is_from_where(before);
    if !stays && !said.allowed.allow_source_change {
        let message = format!("{} was installed from {}", before.slug, trust::pinned(&before.source));
        return refuse(ErrorCode::SourceChanged, message);
    }
    if Version::parse(&before.version).is_ok_and(|before| *version < before) && !said.version {
        let message =
            format!("{} {is} installed in version {}, and this one is {version}", before.slug, before.version);
        return refuse(ErrorCode::VersionOlder, message);
    }
    // In the folder where it is made a version is what it is now.
    let is_folder = !before.packed && !candidate.package.is_packed();
    let is_made_here = stays && is_folder && !Taken::is_no_path(source);
    let is_replaced = version.to_string() == before.version && candidate.package.digest()? != before.digest;
    if is_replaced && !is_made_here && !said.allowed.allow_replaced_version {
        let message = format!("version {version} of {} {is} installed with other files", before.slug);
        return refuse(ErrorCode::VersionReplaced, message);
    }
    Ok(())
}

/// Who did something for a package.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct By {
    pub(crate) who: Signer,
    /// Whether nobody but a lock named it: that makes nobody known, but for what comes later.
    is_unnamed: bool,
}

impl By {
    fn text(by: Option<&By>) -> Option<String> {
        by.map(|by| by.who.text())
    }

    /// The same where rules count it.
    fn counted(by: Option<&By>) -> Option<String> {
        By::text(by.filter(|by| !by.is_unnamed))
    }
}

/// Who may have done one thing for a package.
struct Known<'k> {
    /// What was done.
    did: Says,
    /// What the version before is called; empty if there is none.
    version: &'static str,
    /// Who did it for the version before.
    before: Option<By>,
    /// Who must have, by a lock.
    locked: Option<&'k Signer>,
    /// Whom the caller named.
    named: &'k [Signer],
    /// Whom the policy knows.
    trusted: &'k [Signer],
    /// Whether it may be another than before.
    may_change: bool,
}

impl<'k> Known<'k> {
    /// Who may have done this, by the version before and by what was said.
    fn of(did: Says, before: Option<&Before>, said: &'k Said<'_>, trusted: &'k [Signer]) -> Result<Known<'k>, Fault> {
        let (version, pin) = (before.map_or("", Before::version), before.map(|before| &before.pin));
        let (by, locked) = match did {
            Says::Signed => (pin.map(|pin| (pin.signer.as_ref(), pin.signer_unnamed)), &said.signer),
            Says::Built => (pin.map(|pin| (pin.attester.as_ref(), pin.attester_unnamed)), &said.attester),
        };
        let (locked, named, may_change) = (locked.as_ref(), said.keys, said.allowed.allow_signer_change);
        let mut known = Known { did, version, before: None, locked, named, trusted, may_change };
        if let Some((Some(text), is_unnamed)) = by {
            let who = Signer::parse(text).map_err(|error| {
                let message = format!("the {} in the pin: {error}", known.role());
                Fault::new(ErrorCode::StoreDamaged, message)
            })?;
            known.before = Some(By { who, is_unnamed });
        }
        Ok(known)
    }

    /// What who did it is called in a pin.
    fn role(&self) -> &'static str {
        match self.did {
            Says::Signed => "signer",
            Says::Built => "attester",
        }
    }

    /// How it is said that one who did it before did not do it now.
    fn lacks(&self, name: &str) -> String {
        let version = self.version;
        match self.did {
            Says::Signed => format!("{version} was signed by {name}, and this one was not"),
            Says::Built => format!("{name} says how {version} was built, and not how this one was"),
        }
    }

    /// Who did it: whom the caller named or took over from a lock by a word of its own, else who did it before, else somebody whom the
    /// policy knows, else whom a lock names, where nothing was there before. `did` is the first of these who did.
    fn by(&self, did: impl Fn(&[Signer]) -> Result<Option<Signer>, Fault>) -> Result<Option<By>, Fault> {
        let known = self.before.as_ref().map(|by| &by.who);
        let is_known = |who: &Signer| self.named.contains(who) || self.trusted.contains(who);
        let other = self.locked.filter(|locked| !is_known(locked) && known != Some(*locked));
        let changed = |name: &Signer, message: String| {
            Err(ErrorReport::new(ErrorCode::SignerChanged, message).detail(self.role(), name.name()).into())
        };
        if let Some(locked) = other.filter(|_| !self.version.is_empty() && !self.may_change) {
            let before = known.map_or_else(|| "nobody".to_owned(), Signer::name);
            let (role, name, version) = (self.role(), locked.name(), self.version);
            return changed(locked, format!("the lock names {name} as {role}, and for {version} that is {before}"));
        }
        let taken: Vec<Signer> = self.named.iter().chain(other.filter(|_| self.may_change)).cloned().collect();
        let mut found = did(&taken)?;
        for who in [known.map(std::slice::from_ref).unwrap_or_default(), self.trusted] {
            found = if found.is_none() { did(who)? } else { found };
        }
        match known {
            Some(known)
                if !self.may_change && found.as_ref().is_none_or(|found| found != known && self.named.is_empty()) =>
            {
                changed(known, self.lacks(&known.name()))
            }
            _ => Ok(match found {
                Some(who) => {
                    let was = self.before.as_ref().is_some_and(|by| by.is_unnamed && by.who == who);
                    Some(By { is_unnamed: was && !is_known(&who) && !taken.contains(&who), who })
                }
                None => {
                    did(other.map(std::slice::from_ref).unwrap_or_default())?.map(|who| By { who, is_unnamed: true })
                }
            }),
        }
    }
}

/// Who signed it.
fn signer(signed: &Signed, before: Option<&Before>, said: &Said<'_>, trusted: &[Signer]) -> Result<Option<By>, Fault> {
    let known = Known::of(Says::Signed, before, said, trusted)?;
    signed.required(&[said.signer.as_slice(), said.keys].concat())?;
    known.by(|who| signed.by(who))
}

/// Who says how it was built.
fn attester(
    signed: &Signed,
    before: Option<&Before>,
    said: &Said<'_>,
    trusted: &[Signer],
) -> Result<Option<By>, Fault> {
    let known = Known::of(Says::Built, before, said, trusted)?;
    let must = said.attester.as_slice();
    let before = known.before.as_ref().map(|by| by.who.clone());
    signed::sound(&signed.verdicts(&[must, before.as_slice(), said.keys, trusted].concat()))?;
    if let (Some(must), None) = (&said.attester, signed.attested(must)) {
        let message = format!("{} does not say how it was built, and must", must.name());
        return Err(Fault::new(ErrorCode::SignatureRequired, message));
    }
    known.by(|who| Ok(signed.attested(who)))
}

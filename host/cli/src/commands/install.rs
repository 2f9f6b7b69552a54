//! `hutch install` and `remove`: packages that have a home, for the first time or in place of what is there. What a package asks for is shown before it is granted.

use super::lock::{self, LockArguments};
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{InstallAnswer, InstallAnswers, RemoveAnswer};
use crate::flags::global::Global;
use crate::package::admission::{self, AllowArguments, Before, Candidate, Said};
use crate::package::launcher::{self, Planned};
use crate::package::network::{self, NetworkArguments};
use crate::package::{packages, released, shared, signed};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::Args;
use hutch::installed::InstalledError;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use semver::Version;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// A name that came with hutch, a folder with APP.md, a packed file, oci://HOST/REPOSITORY:TAG, or store:SLUG of
    /// HUTCH_STORE's database; of an installed one the slug, for where it came from; with --lock the slugs to lock, or all
    #[arg(value_name = "PACKAGE")]
    pub(super) packages: Vec<PathBuf>,
    /// Write a shell script SLUG that runs the package to ~/.local/bin
    #[arg(long, requires = "packages")]
    launcher: bool,
    /// Write it to this folder instead
    #[arg(long, value_name = "DIR", requires = "packages")]
    launcher_dir: Option<PathBuf>,
    /// A public key or an identity; one of those named must have signed the package, and must sign what replaces it
    #[arg(long = "key", value_name = "KEYFILE", requires = "packages")]
    keys: Vec<PathBuf>,
    /// Replace it also by an older version
    #[arg(long, requires = "packages")]
    allow_downgrade: bool,
    #[command(flatten)]
    pub(super) lock: LockArguments,
    #[command(flatten)]
    pub(super) allowed: AllowArguments,
    #[command(flatten)]
    pub(super) network: NetworkArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The installed package
    #[arg(value_name = "SLUG")]
    slug: String,
}

pub(crate) fn install(global: &Global, own: &InstallArguments, output: &Output) -> Result<ExitCode, Fault> {
    match (own.packages.as_slice(), &own.lock.file) {
        _ if own.lock.lock => lock::write(global, own, output),
        ([], _) => lock::install(global, own, output),
        ([package], None) => named(global, own, package, output),
        _ => {
            let fault = Fault::usage("a call installs one PACKAGE, or without it what --file names");
            let help = global.line.elsewhere(["install", "--help"]);
            Err(fault.fixed_by(help, "says what can be written there", "none"))
        }
    }
}

fn named(global: &Global, own: &InstallArguments, package: &Path, output: &Output) -> Result<ExitCode, Fault> {
    // What lies in the working folder decides nothing about a name that came with the program.
    let released = released::named(package);
    let passed_by = released.as_ref().filter(|_| packages::is_there(package)).map(Slug::to_string);
    let asked = released.or_else(|| packages::slug(package));
    let path = asked.as_ref().map_or_else(|| Ok(package.to_owned()), |slug| source_of(global, slug))?;
    let word = path.display().to_string();
    let candidate = Candidate::take(global, &own.network, &path)?;
    let manifest = candidate.package.manifest();
    let (slug, version) = (manifest.slug().clone(), manifest.version().clone());
    if let Some(asked) = asked.filter(|asked| *asked != slug) {
        let message = format!("{asked} was installed from {word}, and {slug} is there now");
        return Err(Fault::new(ErrorCode::PackageNotFound, message)
            .suggest("name the folder or the packed file to install it from"));
    }
    let before = admission::before(global, &slug, &own.allowed)?;
    let keys = signed::keys(global, &own.keys)?;
    let said = Said { allowed: &own.allowed, version: own.allow_downgrade, keys: &keys, signer: None, attester: None };
    let admission = admission::admit(global, candidate, before.as_ref(), &said)?;
    let asks = admission.asks.iter().chain(admission.beyond.iter().map(String::as_str));
    own.allowed.check_grants(asks, |grant| admission::may_ask(&admission.candidate.package, grant))?;
    let before = before.as_ref().and_then(Before::installed);
    let known = before.and_then(|pin| pin.launcher.as_ref());
    let launcher = match known {
        _ if own.launcher || own.launcher_dir.is_some() => {
            Some(launcher::asked(global, &slug, own.launcher_dir.as_deref(), known)?)
        }
        Some(known) => Some(launcher::kept(global, &slug, known)?),
        None => None,
    };
    let mut answer = InstallAnswer {
        slug: slug.to_string(),
        version: version.to_string(),
        downgrade: before.is_some_and(|pin| is_older(&version, &pin.version)),
        from: before.map(|pin| pin.version.clone()),
        asks: admission.asks.clone(),
        needs_grant: admission.beyond.clone(),
        changes: admission.changes.clone(),
        source: word,
        digest: admission.candidate.package.digest()?,
        launcher: launcher.as_ref().map(Planned::told),
        signer: admission.signer.as_ref().map(|by| by.who.name()),
        attester: admission.attester.as_ref().map(|by| by.who.name()),
        trust: admission.trust,
        dry_run: global.dry_run,
    };
    if !global.dry_run {
        if !global.yes && !admission.is_granted(&own.allowed) {
            let report = ErrorReport::new(
                ErrorCode::ConfirmationRequired,
                format!("{slug} asks for what was not granted: {:?}", admission.beyond),
            )
            .suggest("show the user what it asks for; then grant it with --grant or --yes")
            .detail("asks", &admission.asks)
            .detail("changes", &admission.changes)
            .detail("needs_grant", admission.beyond);
            return Err(repair::fixed(report, global.line.with_flag("--yes"), "grants all of it", "high").into());
        }
        answer.source = admission.install(global, launcher.as_ref(), output)?.source;
        output.done(Done::changed(global.line.elsewhere(["catalog"])));
    }
    if let Some(name) = passed_by {
        output.remark(&format!("{name} is a package that came with hutch; what lies in this folder is ./{name}"));
    }
    output.answer("install", InstallAnswers::Named(Box::new(answer)), human::fields)
}

/// Where the installed package of a slug came from.
fn source_of(global: &Global, slug: &Slug) -> Result<PathBuf, Fault> {
    let pin = match packages::installed(global)?.pin(slug) {
        Ok(pin) => pin,
        Err(InstalledError::Missing(_)) if released::path(slug).is_some() => return Ok(released::word(slug).into()),
        Err(error @ InstalledError::Missing(_)) => {
            return Err(Fault::new(error.code(), error.to_string()).suggest(&packages::had_as()));
        }
        Err(error) => return Err(error.into()),
    };
    let source = PathBuf::from(pin.source);
    if let Some(reference) = network::reference(&source)? {
        // What the tag names now; without a tag there is one package alone.
        let now = if reference.tag.is_some() { reference.without_digest() } else { reference };
        return Ok(now.to_string().into());
    }
    let is_slug = shared::slug(&source).is_some() || released::slug(&source).is_some();
    match is_slug || packages::is_there(&source) {
        true => Ok(source),
        false => {
            let message = format!("{slug} was installed from {}, and nothing is there", source.display());
            Err(Fault::new(ErrorCode::PackageNotFound, message)
                .suggest("name the folder or the packed file to install it from"))
        }
    }
}

/// Whether a version comes before another one.
fn is_older(version: &Version, than: &str) -> bool {
    Version::parse(than).is_ok_and(|than| *version < than)
}

pub(crate) fn remove(global: &Global, own: &RemoveArguments, output: &Output) -> Result<ExitCode, Fault> {
    let slug = Slug::parse(&own.slug).map_err(|error| Fault::usage(format!("SLUG: {error}")))?;
    let installed = packages::installed(global)?;
    let pin = installed.pin(&slug).map_err(|error| {
        let report = ErrorReport::new(error.code(), error.to_string()).suggest("name an installed package");
        Fault::from(repair::fixed(report, global.line.elsewhere(["catalog"]), "shows the installed packages", "none"))
    })?;
    let own = pin.launcher.as_ref().filter(|known| launcher::is_there(known));
    let launcher = own.map(|known| known.path.clone());
    if !global.dry_run {
        if !global.yes {
            let report = ErrorReport::new(ErrorCode::ConfirmationRequired, format!("{slug} would be removed"))
                .suggest("ask the user, then repeat the call with --yes");
            return Err(repair::again(report, &global.line, 0).into());
        }
        // First, so that what is left of an interrupted call can be removed again.
        if let Some(known) = &pin.launcher
            && !launcher::take_away(known)
        {
            output.remark(&format!("{} is left as it is: it is not the file that hutch wrote", known.path));
        }
        installed.remove(&slug)?;
        output.done(Done::changed(global.line.elsewhere(["catalog"])));
    }
    let (state, dry_run) = ("kept", global.dry_run);
    let result = RemoveAnswer { slug: pin.slug, version: pin.version, state, launcher, dry_run };
    let told = human::sentence(&[
        "{dry_run?would remove|removed} {slug} {version}",
        "; its state is {state}",
        "; its launcher was {launcher}",
    ]);
    output.answer("remove", result, told)
}

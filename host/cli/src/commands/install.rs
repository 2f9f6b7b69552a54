//! `hutch install`, `update` and `remove`: packages that have a home. What a package asks for is shown before it is granted.

use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{InstallAnswer, RemoveAnswer};
use crate::flags::global::Global;
use crate::package::admission::{self, AllowArguments, Candidate, Said};
use crate::package::launcher::{self, Planned};
use crate::package::network::{self, NetworkArguments};
use crate::package::{packages, shared, signed};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::Args;
use hutch::installed::{InstalledError, Pin};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use hutch_registry::Signer;
use semver::Version;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// The folder that holds APP.md, a packed file, oci://HOST/REPOSITORY:TAG, or store:SLUG of the database that HUTCH_STORE names; in
    /// an update also the slug, for where the package came from
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// Write a shell script SLUG that runs the package to ~/.local/bin
    #[arg(long)]
    launcher: bool,
    /// Write it to this folder instead
    #[arg(long, value_name = "DIR")]
    launcher_dir: Option<PathBuf>,
    /// A public key or an identity; one of those that are named must have signed the package, and must sign each update
    #[arg(long = "key", value_name = "KEYFILE")]
    keys: Vec<PathBuf>,
    /// Update also to an older version
    #[arg(long)]
    allow_downgrade: bool,
    #[command(flatten)]
    allowed: AllowArguments,
    #[command(flatten)]
    network: NetworkArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The installed package
    #[arg(value_name = "SLUG")]
    slug: String,
}

/// Which of the two a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Install,
    Update,
}

pub(crate) fn install(global: &Global, own: &InstallArguments, output: &Output, kind: Kind) -> Result<ExitCode, Fault> {
    let name = if kind == Kind::Install { "install" } else { "update" };
    let asked = packages::slug(&own.package).filter(|_| kind == Kind::Update);
    let path = asked.as_ref().map_or_else(|| Ok(own.package.clone()), |slug| source_of(global, slug))?;
    let word = path.display().to_string();
    let candidate = Candidate::take(global, &own.network, &path)?;
    let manifest = candidate.package.manifest();
    let (slug, version) = (manifest.slug().clone(), manifest.version().clone());
    if let Some(asked) = asked.filter(|asked| *asked != slug) {
        let message = format!("{asked} was installed from {word}, and {slug} is there now");
        let report = ErrorReport::new(ErrorCode::PackageNotFound, message);
        return Err(report.suggest("name the folder or the packed file to update from").into());
    }
    let before = admission::before(global, &slug, &own.allowed)?;
    match (&before, kind) {
        (Some(pin), Kind::Install) => return Err(is_there(global, &candidate, pin)),
        (None, Kind::Update) => {
            if let Err(error @ InstalledError::Missing(_)) = packages::installed(global)?.pin(&slug) {
                return Err(error.into());
            }
        }
        _ => {}
    }
    let keys = signed::keys(global, &own.keys)?;
    let said = Said { allowed: &own.allowed, version: own.allow_downgrade, keys: &keys, signer: None, attester: None };
    let admission = admission::admit(global, candidate, before.as_ref(), &said)?;
    let asks = admission.asks.iter().chain(admission.beyond.iter().map(String::as_str));
    own.allowed.check_grants(asks, |grant| admission::may_ask(&admission.candidate.package, grant))?;
    let known = before.as_ref().and_then(|pin| pin.launcher.as_ref());
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
        downgrade: before.as_ref().is_some_and(|pin| is_older(&version, &pin.version)),
        from: before.map(|pin| pin.version),
        asks: admission.asks.clone(),
        needs_grant: admission.beyond.clone(),
        changes: admission.changes.clone(),
        source: word,
        digest: admission.candidate.package.digest()?,
        launcher: launcher.as_ref().map(Planned::told),
        signer: admission.signer.as_ref().map(Signer::name),
        attester: admission.attester.as_ref().map(Signer::name),
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
            .detail("asks", json!(admission.asks))
            .detail("changes", json!(admission.changes))
            .detail("needs_grant", admission.beyond);
            return Err(repair::fixed(report, global.line.with_flag("--yes"), "grants all of it", "high").into());
        }
        answer.source = admission.install(global, launcher.as_ref(), output)?.source;
        output.done(Done::changed(global.line.elsewhere(["catalog"])));
    }
    output.answer(name, answer, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// Why a package is not installed where another one has its slug. What hands that one's state over is no small matter.
fn is_there(global: &Global, candidate: &Candidate, pin: &Pin) -> Fault {
    let report = ErrorReport::new(ErrorCode::AlreadyExists, format!("{} is installed already", pin.slug));
    let update = global.line.with_command("update");
    if candidate.is_from_where(pin) {
        return repair::fixed(report, update.and_then(|line| line.text()), "replaces it; its state stays", "low")
            .into();
    }
    let report = report
        .suggest(format!("it is from {}: ask the user whether this is the same application", pin.source))
        .detail("from", pin.source.as_str())
        .detail("source", candidate.source.as_str());
    let remove = global.line.elsewhere(["remove", &pin.slug]);
    let report = repair::fixed(report, remove, "takes the one that is installed away, once confirmed", "high");
    let handed = "hands the state, the grants and the launcher of the one that is installed to this one";
    let update = update.and_then(|line| line.with_flag("--allow-source-change"));
    repair::fixed(report, update, handed, "high").into()
}

/// Where the installed package of a slug came from.
fn source_of(global: &Global, slug: &Slug) -> Result<PathBuf, Fault> {
    let source = PathBuf::from(packages::installed(global)?.pin(slug)?.source);
    if let Some(reference) = network::reference(&source)? {
        // What the tag names now; without a tag there is one package alone.
        let now = if reference.tag.is_some() { reference.without_digest() } else { reference };
        return Ok(now.to_string().into());
    }
    match shared::slug(&source).is_some() || packages::is_there(&source) {
        true => Ok(source),
        false => {
            let message = format!("{slug} was installed from {}, and nothing is there", source.display());
            let report = ErrorReport::new(ErrorCode::PackageNotFound, message);
            Err(report.suggest("name the folder or the packed file to update from").into())
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
    output.answer("remove", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

//! `hutch install`, `update` and `remove`: packages that have a home. What a package asks for is shown before it is granted.

use crate::answers::{InstallAnswer, RemoveAnswer};
use crate::done::Done;
use crate::fault::Fault;
use crate::global::Global;
use crate::launcher::{self, Planned};
use crate::network::{self, NetworkArguments};
use crate::output::Output;
use crate::signed::{self, Signed};
use crate::taken::Taken;
use crate::{human, packages, repair, shared, surroundings, trust};
use clap::Args;
use hutch::installed::{Pin, Remembered};
use hutch::package::Package;
use hutch_model::asks::Asks;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use hutch_model::trust::Subject;
use hutch_registry::Signer;
use semver::Version;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// The folder that holds APP.md, a packed file, oci://HOST/REPOSITORY:TAG, or store:SLUG of the database that HUTCH_STORE names; in
    /// an update also the slug, for where the package came from
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// Grant this ask of the package, as env:TOKEN; may be repeated; --yes grants all
    #[arg(long = "grant", value_name = "ASK")]
    grants: Vec<String>,
    /// Write a shell script SLUG that runs the package to ~/.local/bin
    #[arg(long)]
    launcher: bool,
    /// Write it to this folder instead
    #[arg(long, value_name = "DIR")]
    launcher_dir: Option<PathBuf>,
    /// A public key or an identity; one of those that are named must have signed the package, and must sign each update
    #[arg(long = "key", value_name = "KEYFILE")]
    keys: Vec<PathBuf>,
    /// Update also to what the signer of the installed version has not signed, or its attester not attested
    #[arg(long)]
    allow_signer_change: bool,
    /// Update also to an older version
    #[arg(long)]
    allow_downgrade: bool,
    /// Update also to other files of the same version; from a folder that needs no saying
    #[arg(long)]
    allow_replaced_version: bool,
    /// Update also from another repository
    #[arg(long)]
    allow_source_change: bool,
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
    let path = match kind {
        Kind::Install => own.package.clone(),
        Kind::Update => source_of(global, &own.package)?,
    };
    let word = path.display().to_string();
    let taken = Taken::from(global, &own.network, &path)?;
    let checked = taken.checked()?;
    let Some(package) = checked.package else {
        return Err(crate::repair::refused(&global.line, &path, &checked.diagnostics));
    };
    let slug = package.manifest().slug().clone();
    let installed = packages::installed(global)?;
    let before = match (installed.pin(&slug), kind) {
        (Ok(_), Kind::Install) => {
            let report = ErrorReport::new(ErrorCode::AlreadyExists, format!("{slug} is installed already"));
            let update = global.line.with_command("update");
            return Err(repair::fixed(report, update, "replaces it; its state stays", "low").into());
        }
        (Ok(pin), Kind::Update) => Some(pin),
        (Err(error), Kind::Update) => return Err(error.into()),
        (Err(_), Kind::Install) => None,
    };
    let (signed, source) = (taken.signed(global, &package)?, taken.source());
    if let Some(before) = &before {
        check_update(own, &package, &source, before)?;
    }
    let policy = trust::policy(global)?;
    let from = trust::source(&source);
    let (named, trusted) = (signed::keys(global, &own.keys)?, trust::keys(&policy, &from));
    let signer = signer(own, &signed, before.as_ref(), &named, &trusted)?;
    let attester = signed::attester(&signed, before.as_ref(), (&named, &trusted), own.allow_signer_change)?;
    let (pem, attester_pem) = (signer.as_ref().map(Signer::text), attester.as_ref().map(Signer::text));
    let (by, built) = (pem.as_deref(), attester_pem.as_deref());
    let judged = policy.judge(Subject { source: &from, is_installed: true, signer: by, attester: built });
    trust::enough(&judged, slug.as_str())?;
    let asks = Asks::of(package.manifest());
    let granted = before.as_ref().map(|pin| pin.asks.clone()).unwrap_or_default();
    let beyond: Vec<String> = asks.beyond(&granted).into_iter().map(str::to_owned).collect();
    check_grants(&own.grants, &asks)?;
    let open: Vec<&String> = beyond.iter().filter(|ask| !own.grants.contains(ask) && !global.yes).collect();
    let known = before.as_ref().and_then(|pin| pin.launcher.as_ref());
    let launcher = match known {
        _ if own.launcher || own.launcher_dir.is_some() => {
            Some(launcher::asked(global, &slug, own.launcher_dir.as_deref(), known)?)
        }
        Some(known) => Some(launcher::kept(global, &slug, known)?),
        None => None,
    };
    let answer = |source: String, digest: Digest| InstallAnswer {
        slug: slug.to_string(),
        version: package.manifest().version().to_string(),
        from: before.as_ref().map(|pin| pin.version.clone()),
        downgrade: before.as_ref().is_some_and(|pin| is_older(package.manifest().version(), &pin.version)),
        asks: asks.clone(),
        needs_grant: beyond.clone(),
        source,
        digest,
        launcher: launcher.as_ref().map(Planned::told),
        signer: signer.as_ref().map(Signer::name),
        attester: attester.as_ref().map(Signer::name),
        trust: judged.level.text(),
        dry_run: global.dry_run,
    };
    if global.dry_run {
        output.answer(name, answer(word, package.digest()?), human::fields)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !open.is_empty() {
        let report = ErrorReport::new(
            ErrorCode::ConfirmationRequired,
            format!("{slug} asks for what was not granted: {beyond:?}"),
        )
        .suggest("show the user what it asks for; then grant it with --grant or --yes")
        .detail("asks", json!(asks))
        .detail("needs_grant", beyond.clone());
        return Err(repair::fixed(report, global.line.with_flag("--yes"), "grants all of it", "high").into());
    }
    // What others can have is no harm to anybody, should it not be installed here after all.
    shared::keep(global, &package, &signed, output)?;
    // The launcher first: where it can't be, nothing is installed.
    if let Some(launcher) = &launcher {
        launcher.write()?;
    }
    let launched = launcher.as_ref().map(Planned::launcher);
    let remembered = Remembered { launcher: launched, signer: pem, attester: attester_pem };
    let done = installed.install(&package, &source, surroundings::now(), remembered, kind == Kind::Update);
    let pin = done.inspect_err(|_| launcher.iter().for_each(Planned::take_back))?;
    launcher.iter().for_each(Planned::finish);
    output.done(Done::changed(global.line.elsewhere(["catalog"])));
    output.answer(name, answer(pin.source, pin.digest), human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses what an update should not do unsaid: go back, change what a version means, or come from elsewhere.
fn check_update(own: &InstallArguments, package: &Package, source: &str, before: &Pin) -> Result<(), Fault> {
    let version = package.manifest().version();
    let refuse = |code, message: String| {
        let report = ErrorReport::new(code, message).detail("from", before.source.as_str()).detail("source", source);
        Err(report.into())
    };
    let moved = trust::source(source) != trust::source(&before.source);
    if moved && (Taken::is_remote(source) || Taken::is_remote(&before.source)) && !own.allow_source_change {
        let message = format!("{} was installed from {}", before.slug, trust::source(&before.source));
        return refuse(ErrorCode::SourceChanged, message);
    }
    if is_older(version, &before.version) && !own.allow_downgrade {
        let message = format!("{} is installed in version {}, and this one is {version}", before.slug, before.version);
        return refuse(ErrorCode::VersionOlder, message);
    }
    // In a folder, where packages are made, a version is what it is now.
    let is_made_here = !packages::is_packed(Path::new(source)) && !Taken::is_remote(source);
    let is_same = version.to_string() == before.version;
    if is_same && package.digest()? != before.digest && !is_made_here && !own.allow_replaced_version {
        let message = format!("version {version} of {} is installed with other files", before.slug);
        return refuse(ErrorCode::VersionReplaced, message);
    }
    Ok(())
}

/// Who signed it, of those who must have: those who are named, else who signed the version before. Of who may have: those whom the
/// policy knows.
fn signer(
    own: &InstallArguments,
    signed: &Signed,
    before: Option<&Pin>,
    named: &[Signer],
    trusted: &[Signer],
) -> Result<Option<Signer>, Fault> {
    let known = before.and_then(|pin| pin.signer.as_deref()).filter(|_| named.is_empty());
    let Some(known) = known else {
        return if named.is_empty() { signed.by(trusted) } else { signed.required(named) };
    };
    let key = Signer::parse(known)
        .map_err(|error| Fault::new(ErrorCode::StoreDamaged, format!("the signer in the pin: {error}")))?;
    match signed.required(std::slice::from_ref(&key)) {
        Err(fault) if fault.report().code == ErrorCode::SignatureRequired => match own.allow_signer_change {
            true => signed.by(trusted),
            false => {
                let message =
                    format!("the version that is installed was signed by {}, and this one was not", key.name());
                Err(ErrorReport::new(ErrorCode::SignerChanged, message).detail("signer", key.name()).into())
            }
        },
        judged => judged,
    }
}

/// Where an update comes from: the path that is named, else where the installed package of that slug came from.
fn source_of(global: &Global, named: &Path) -> Result<PathBuf, Fault> {
    let Some(slug) = packages::slug(named) else { return Ok(named.to_owned()) };
    let source = PathBuf::from(packages::installed(global)?.pin(&slug)?.source);
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

/// A grant of what nobody asks for is a misunderstanding.
fn check_grants(grants: &[String], asks: &Asks) -> Result<(), Fault> {
    match grants.iter().find(|grant| !asks.iter().any(|ask| ask == grant.as_str())) {
        Some(grant) => {
            let known = asks.iter().collect::<Vec<_>>().join(", ");
            let report = ErrorReport::new(ErrorCode::Usage, format!("the package does not ask for {grant:?}"));
            Err(report.suggest(format!("it asks for {known}")).into())
        }
        None => Ok(()),
    }
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

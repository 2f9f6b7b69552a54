//! `hutch lock` and `hutch sync`: which packages a home has, in a file for version control, and a home that is made to agree with it.
//! Comparing asks nobody: only what is missing is fetched.

use crate::answers::{ComparedPackage, Difference, LockAnswer, LockedPackage, SyncAnswer};
use crate::done::Done;
use crate::fault::Fault;
use crate::global::Global;
use crate::launcher::{self, Planned};
use crate::network::{self, NetworkArguments};
use crate::new_file;
use crate::output::Output;
use crate::signed::{self, Signed};
use crate::taken::Taken;
use crate::{human, packages, repair, shared, surroundings, trust};
use clap::Args;
use hutch::installed::{Installed, InstalledError, Pin, Remembered};
use hutch::package::{Package, PackageBounds};
use hutch_model::asks::Asks;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::lock::{LOCK_BYTES_MAX, Lock, Locked};
use hutch_model::names::Slug;
use hutch_model::trust::Subject;
use hutch_registry::Signer;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const DEFAULT_FILE: &str = "hutch.lock";

#[derive(Debug, Args)]
pub(crate) struct LockArguments {
    /// Lock these installed packages alone; all if none is named
    #[arg(value_name = "SLUG")]
    slugs: Vec<String>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SyncArguments {
    /// The file that says what is to be installed
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    file: PathBuf,
    /// Compare alone, without a network; fails if anything differs
    #[arg(long)]
    check: bool,
    /// Remove installed packages that the file does not name; their state stays
    #[arg(long)]
    prune: bool,
    /// Install also what the signer of the installed version has not signed, or its attester not attested
    #[arg(long)]
    allow_signer_change: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

pub(crate) fn lock(global: &Global, own: &LockArguments, output: &Output) -> Result<ExitCode, Fault> {
    let installed = packages::installed(global)?;
    let folder = folder_of(&own.file);
    let mut pins = match own.slugs.is_empty() {
        true => installed.pins()?.into_iter().collect::<Result<Vec<Pin>, _>>()?,
        false => {
            let named = own.slugs.iter().map(|slug| {
                let slug = Slug::parse(slug).map_err(|error| Fault::usage(format!("SLUG: {error}")))?;
                Ok(installed.pin(&slug)?)
            });
            named.collect::<Result<Vec<Pin>, Fault>>()?
        }
    };
    pins.sort_by(|a, b| a.slug.cmp(&b.slug));
    pins.dedup_by(|a, b| a.slug == b.slug);
    let locked = pins.into_iter().map(|pin| {
        Ok(Locked {
            slug: Slug::parse(&pin.slug).map_err(|error| Fault::host(error.to_string()))?,
            source: from(&folder, &pin.source),
            version: pin.version,
            digest: pin.digest,
            asks: pin.asks,
            signer: pin.signer,
            attester: pin.attester,
        })
    });
    let lock = Lock::of(locked.collect::<Result<_, Fault>>()?);
    let text = lock.text();
    let before = text_of(&own.file)?;
    // A file of that name which is no lock is somebody's.
    if let Some(Err(_)) = before.as_deref().map(Lock::parse) {
        return Err(new_file::is_another(&own.file));
    }
    let changed = before.as_deref() != Some(text.as_str());
    if changed && !global.dry_run {
        new_file::replace(&own.file, text.as_bytes())?;
        output.done(Done::changed(None));
    }
    let result = LockAnswer {
        path: own.file.display().to_string(),
        packages: lock.packages.iter().map(told).collect(),
        changed,
        dry_run: global.dry_run,
    };
    output.answer("lock", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

fn told(locked: &Locked) -> LockedPackage {
    LockedPackage {
        slug: locked.slug.to_string(),
        version: locked.version.clone(),
        source: locked.source.clone(),
        digest: locked.digest,
        asks: locked.asks.clone(),
        signer: signed::hint(locked.signer.as_deref()),
        attester: signed::hint(locked.attester.as_deref()),
    }
}

/// One package of the lock, or one that only the home has.
struct Compared<'l> {
    slug: String,
    locked: Option<&'l Locked>,
    pin: Option<Pin>,
    difference: Option<Difference>,
}

impl Compared<'_> {
    fn told(&self) -> ComparedPackage {
        ComparedPackage {
            slug: self.slug.clone(),
            difference: self.difference,
            locked: self.locked.map(|locked| locked.version.clone()),
            installed: self.pin.as_ref().map(|pin| pin.version.clone()),
        }
    }
}

/// A package that was fetched and found to be the locked one.
struct Ready {
    package: Package,
    source: String,
    signed: Signed,
    signer: Option<String>,
    attester: Option<String>,
    launcher: Option<Planned>,
    beyond: Vec<String>,
    is_update: bool,
}

pub(crate) fn sync(global: &Global, own: &SyncArguments, output: &Output) -> Result<ExitCode, Fault> {
    let missing = || Fault::file(&own.file, &io::ErrorKind::NotFound.into());
    let text = text_of(&own.file)?.ok_or_else(missing)?;
    let lock =
        Lock::parse(&text).map_err(|reason| Fault::usage(format!("{} is no lock: {reason}", own.file.display())))?;
    let folder = folder_of(&own.file);
    let installed = packages::installed(global)?;
    let compared = compare(&installed, &lock, &folder)?;
    let told: Vec<ComparedPackage> = compared.iter().map(Compared::told).collect();
    let differs = |one: &&Compared<'_>| one.difference.is_some() && (own.prune || one.locked.is_some());
    let differing: Vec<&str> = compared.iter().filter(differs).map(|one| one.slug.as_str()).collect();
    let changed = !differing.is_empty();
    if own.check && changed {
        let message = format!("not as {} says: {}", own.file.display(), differing.join(", "));
        let report = ErrorReport::new(ErrorCode::LockDiffers, message).detail("packages", json!(told));
        return Err(report.into());
    }
    let unlocked: Vec<&Compared<'_>> = compared.iter().filter(|one| one.locked.is_none()).collect();
    if !own.prune {
        unlocked.iter().for_each(|one| output.remark(&format!("{} is installed and not locked; it is left", one.slug)));
    }
    let mut ready = Vec::new();
    for one in compared.iter().filter(|one| one.difference.is_some()) {
        if let Some(locked) = one.locked {
            ready.push(fetch(global, own, locked, one.pin.as_ref(), &folder)?);
        }
    }
    let removed: Vec<&str> = unlocked.iter().filter(|_| own.prune).map(|one| one.slug.as_str()).collect();
    if !global.dry_run && !own.check {
        agreed(global, &ready, &removed)?;
        for one in &ready {
            shared::keep(global, &one.package, &one.signed, output)?;
            install(&installed, one)?;
        }
        for one in unlocked.iter().filter(|_| own.prune) {
            let slug = Slug::parse(&one.slug).map_err(|error| Fault::host(error.to_string()))?;
            if let Some(known) = one.pin.as_ref().and_then(|pin| pin.launcher.as_ref()) {
                launcher::take_away(known);
            }
            installed.remove(&slug)?;
        }
        if changed {
            output.done(Done::changed(global.line.elsewhere(["catalog"])));
        }
    }
    let result = SyncAnswer {
        path: own.file.display().to_string(),
        packages: told,
        changed,
        removed: removed.into_iter().map(str::to_owned).collect(),
        needs_grant: ready.iter().flat_map(|one| one.beyond.iter().cloned()).collect(),
        dry_run: global.dry_run,
    };
    output.answer("sync", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// Each locked package as it is in the home, then those that are only there.
fn compare<'l>(installed: &Installed, lock: &'l Lock, folder: &Path) -> Result<Vec<Compared<'l>>, Fault> {
    let mut compared = Vec::new();
    for locked in &lock.packages {
        let (pin, difference) = match installed.pin(&locked.slug) {
            Err(InstalledError::Missing(_)) => (None, Some(Difference::Missing)),
            Err(InstalledError::Damaged { .. }) => (None, Some(Difference::Changed)),
            Err(error) => return Err(error.into()),
            Ok(pin) => {
                let difference = difference(installed, &pin, locked, folder);
                (Some(pin), difference)
            }
        };
        compared.push(Compared { slug: locked.slug.to_string(), locked: Some(locked), pin, difference });
    }
    for pin in installed.pins()? {
        let Ok(pin) = pin else { continue };
        if !lock.packages.iter().any(|locked| locked.slug.as_str() == pin.slug) {
            let slug = pin.slug.clone();
            compared.push(Compared { slug, locked: None, pin: Some(pin), difference: Some(Difference::Unlocked) });
        }
    }
    Ok(compared)
}

fn difference(installed: &Installed, pin: &Pin, locked: &Locked, folder: &Path) -> Option<Difference> {
    let bounds = PackageBounds::default();
    let found = || hutch::package::Source::open(&installed.folder_of(pin), &bounds).ok()?.digest(&bounds).ok();
    if pin.version != locked.version {
        Some(Difference::Version)
    } else if pin.digest != locked.digest {
        Some(Difference::Files)
    } else if pin.source != at(folder, &locked.source) {
        Some(Difference::Source)
    // A home that knows a signer where the lock knows none is the stricter one.
    } else if locked.signer.is_some() && pin.signer != locked.signer {
        Some(Difference::Signer)
    } else if locked.attester.is_some() && pin.attester != locked.attester {
        Some(Difference::Attester)
    } else if found() != Some(pin.digest) {
        Some(Difference::Changed)
    } else {
        None
    }
}

/// Has a package from where the lock says, and holds it against everything that the lock says of it.
fn fetch(
    global: &Global,
    own: &SyncArguments,
    locked: &Locked,
    before: Option<&Pin>,
    folder: &Path,
) -> Result<Ready, Fault> {
    let source = at(folder, &locked.source);
    let path = Path::new(&source);
    let taken = Taken::from(global, &own.network, path)?;
    let checked = taken.checked()?;
    let Some(package) = checked.package else {
        return Err(crate::repair::refused(&global.line, path, &checked.diagnostics));
    };
    let (manifest, found) = (package.manifest(), package.digest()?);
    let asks = Asks::of(manifest);
    let is_locked = *manifest.slug() == locked.slug
        && manifest.version().to_string() == locked.version
        && found == locked.digest
        && asks == locked.asks;
    if !is_locked {
        let message = format!("{source} has another package than the one that is locked as {}", locked.slug);
        let report = ErrorReport::new(ErrorCode::LockMismatch, message).detail("locked", json!(told(locked))).detail(
            "found",
            json!({"slug": manifest.slug(), "version": manifest.version().to_string(), "digest": found, "asks": asks}),
        );
        return Err(report.into());
    }
    let signed = taken.signed(global, &package)?;
    let policy = trust::policy(global)?;
    let from = trust::source(&source);
    let trusted = trust::keys(&policy, &from);
    let signer = signer(own, locked, &signed, before, &trusted)?;
    let attester = attester(own, locked, &signed, before, &trusted)?;
    let (by, built) = (signer.as_deref(), attester.as_deref());
    let judged = policy.judge(Subject { source: &from, is_installed: true, signer: by, attester: built });
    trust::enough(&judged, locked.slug.as_str())?;
    let granted = before.map(|pin| pin.asks.clone()).unwrap_or_default();
    let beyond = asks.beyond(&granted).into_iter().map(|ask| format!("{} {ask}", locked.slug)).collect();
    let known = before.and_then(|pin| pin.launcher.as_ref());
    let launcher = known.map(|known| launcher::kept(global, &locked.slug, known)).transpose()?;
    Ok(Ready { package, source, signed, signer, attester, launcher, beyond, is_update: before.is_some() })
}

/// Who signed it: the one whom the lock names, else the one who signed the version before, else one whom the policy knows.
fn signer(
    own: &SyncArguments,
    locked: &Locked,
    signed: &Signed,
    before: Option<&Pin>,
    trusted: &[Signer],
) -> Result<Option<String>, Fault> {
    let key = |pem: &str| Signer::parse(pem).map_err(|error| Fault::usage(format!("{}: {error}", locked.slug)));
    let named = locked.signer.as_deref().map(key).transpose()?;
    let known = before.and_then(|pin| pin.signer.as_deref()).map(key).transpose()?;
    let found = match (&named, &known) {
        (Some(named), _) => signed.required(std::slice::from_ref(named))?,
        (None, Some(known)) => signed.by(&[std::slice::from_ref(known), trusted].concat())?,
        (None, None) => signed.by(trusted)?,
    };
    match known {
        Some(known) if found.as_ref() != Some(&known) && !own.allow_signer_change => {
            let message = format!("{} is installed as signed by {}, and this one is not", locked.slug, known.name());
            Err(ErrorReport::new(ErrorCode::SignerChanged, message).detail("signer", known.name()).into())
        }
        _ => Ok(found.as_ref().map(Signer::text)),
    }
}

/// Who says how it was built: the one whom the lock names, else as in an update.
fn attester(
    own: &SyncArguments,
    locked: &Locked,
    signed: &Signed,
    before: Option<&Pin>,
    trusted: &[Signer],
) -> Result<Option<String>, Fault> {
    let named = locked.attester.as_deref().map(Signer::parse).transpose();
    let named = named.map_err(|error| Fault::usage(format!("{}: {error}", locked.slug)))?;
    let may = [named.as_slice(), trusted].concat();
    let found = signed::attester(signed, before, (&[], &may), own.allow_signer_change)?;
    if let Some(named) = &named
        && signed.attested(std::slice::from_ref(named)).is_none()
    {
        let message = format!("{} does not say how {} was built, and the lock says so", named.name(), locked.slug);
        return Err(ErrorReport::new(ErrorCode::SignatureRequired, message).into());
    }
    Ok(named.or(found).as_ref().map(Signer::text))
}

/// A lock says what there is to be; it grants nothing, and takes nothing away unasked.
fn agreed(global: &Global, ready: &[Ready], removed: &[&str]) -> Result<(), Fault> {
    let beyond: Vec<&String> = ready.iter().flat_map(|one| &one.beyond).collect();
    if global.yes || (beyond.is_empty() && removed.is_empty()) {
        return Ok(());
    }
    let message = match beyond.is_empty() {
        true => format!("{} would be removed", removed.join(", ")),
        false => format!("packages ask for what was not granted: {beyond:?}"),
    };
    let report = ErrorReport::new(ErrorCode::ConfirmationRequired, message)
        .suggest("ask the user, then repeat the call with --yes")
        .detail("needs_grant", json!(beyond))
        .detail("removed", removed);
    Err(repair::fixed(report, global.line.with_flag("--yes"), "grants and removes all of it", "high").into())
}

fn install(installed: &Installed, one: &Ready) -> Result<(), Fault> {
    if let Some(launcher) = &one.launcher {
        launcher.write()?;
    }
    let launcher = one.launcher.as_ref().map(Planned::launcher);
    let remembered = Remembered { launcher, signer: one.signer.clone(), attester: one.attester.clone() };
    // A pin that nobody can read is replaced.
    let done = installed.install(&one.package, &one.source, surroundings::now(), remembered, one.is_update);
    done.inspect_err(|_| one.launcher.iter().for_each(Planned::take_back))?;
    one.launcher.iter().for_each(Planned::finish);
    Ok(())
}

/// The folder that the paths in a lock begin at, as the sources that pins name.
fn folder_of(file: &Path) -> PathBuf {
    packages::without_links(new_file::folder_of(file))
}

/// A source as a lock in this folder says it.
fn from(folder: &Path, source: &str) -> String {
    let below = |path: &str| Some(Path::new(path).strip_prefix(folder).ok()?.to_str()?.to_owned());
    match source.strip_prefix(network::LAYOUT) {
        Some(path) => below(path).map(|path| format!("{}{path}", network::LAYOUT)),
        None => below(source).map(|path| if path.is_empty() { ".".to_owned() } else { path }),
    }
    .unwrap_or_else(|| source.to_owned())
}

/// A source of a lock in this folder, as pins say it.
fn at(folder: &Path, source: &str) -> String {
    match source.strip_prefix(network::LAYOUT) {
        Some(path) => format!("{}{}", network::LAYOUT, folder.join(path).display()),
        None if Taken::is_remote(source) => source.to_owned(),
        None => packages::without_links(&folder.join(source)).display().to_string(),
    }
}

/// The text of a file that may be absent.
#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
fn text_of(path: &Path) -> Result<Option<String>, Fault> {
    let read = path.metadata().and_then(|metadata| match metadata.is_file() && metadata.len() <= LOCK_BYTES_MAX {
        true => std::fs::read_to_string(path).map(Some),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is no lock")),
    });
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Fault::usage(format!("{}: {error}", path.display())))
        }
        read => read.map_err(|error| Fault::file(path, &error)),
    }
}

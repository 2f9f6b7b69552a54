//! `hutch install` without a package: which packages a home has, in a file for version control, and a home that is made to agree with it.
//! Comparing asks nobody: only what is missing is fetched.

use super::install::InstallArguments;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{ComparedPackage, Difference, InstallAnswers, LockCompared, LockWritten, LockedPackage};
use crate::flags::global::Global;
use crate::machine::new_file;
use crate::package::admission::{self, Admission, Candidate, Said};
use crate::package::taken::Taken;
use crate::package::{launcher, network, packages, signed};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::Args;
use hutch::installed::{Installed, InstalledError, Pin};
use hutch::package::PackageBounds;
use hutch_model::asks::Asks;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::lock::{LOCK_BYTES_MAX, Lock, Locked};
use hutch_model::names::Slug;
use hutch_registry::Signer;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct LockArguments {
    /// The lock; hutch.lock if absent
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Write the lock, by what is installed
    #[arg(long, conflicts_with_all = ["check", "prune", "launcher", "launcher_dir", "keys", "allow_downgrade"])]
    pub(super) lock: bool,
    /// Compare alone, without a network; fails if anything differs
    #[arg(long, conflicts_with = "packages")]
    check: bool,
    /// Remove installed packages that the lock does not name; their state stays
    #[arg(long, conflicts_with = "packages")]
    prune: bool,
}

/// The lock that is meant.
pub(crate) fn path(file: Option<&PathBuf>) -> &Path {
    file.map_or(Path::new("hutch.lock"), PathBuf::as_path)
}

pub(super) fn write(global: &Global, own: &InstallArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (installed, file) = (packages::installed(global)?, path(own.lock.file.as_ref()));
    let folder = folder_of(file);
    let mut pins = match own.packages.is_empty() {
        true => installed.pins()?.into_iter().collect::<Result<Vec<Pin>, _>>()?,
        false => {
            let named = own.packages.iter().map(|word| {
                let word = word.to_string_lossy();
                let slug = Slug::parse(word.strip_prefix(packages::INSTALLED).unwrap_or(&word));
                Ok(installed.pin(&slug.map_err(|error| Fault::usage(format!("PACKAGE: {error}")))?)?)
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
    let before = text_of(file)?;
    // A file of that name which is no lock is somebody's.
    if let Some(Err(_)) = before.as_deref().map(Lock::parse) {
        return Err(new_file::is_another(file).suggest("remove it, or name another with --file"));
    }
    let changed = before.as_deref() != Some(text.as_str());
    if changed && !global.dry_run {
        new_file::replace(file, text.as_bytes())?;
        output.done(Done::changed(None));
    }
    let result = LockWritten {
        path: file.display().to_string(),
        packages: lock.packages.iter().map(told).collect(),
        changed,
        dry_run: global.dry_run,
    };
    let told = human::sentence(&[
        "{changed!}nothing changes in ",
        "{changed?}{dry_run?would write|wrote} ",
        "{path}",
        "\nit holds {packages.*.slug}",
    ]);
    output.answer("install", InstallAnswers::Written(result), told)
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
    fn told(&self, admissions: &[Admission]) -> ComparedPackage {
        let ours = |one: &&Admission| one.slug().as_str() == self.slug;
        ComparedPackage {
            slug: self.slug.clone(),
            difference: self.difference,
            locked: self.locked.map(|locked| locked.version.clone()),
            installed: self.pin.as_ref().map(|pin| pin.version.clone()),
            changes: admissions.iter().find(ours).and_then(|one| one.changes.clone()),
        }
    }
}

/// Where there is no lock, nobody has said what is to be installed; one of nothing would say nothing either.
fn missing(global: &Global, file: Option<&PathBuf>) -> Fault {
    let absent =
        Fault::new(ErrorCode::NotFound, format!("no package is named, and there is no {}", path(file).display()));
    if packages::installed(global).is_ok_and(|installed| installed.pins().is_ok_and(|pins| pins.is_empty())) {
        return absent.suggest("name what to install, as a folder, a file or oci://HOST/REPOSITORY:TAG");
    }
    let named = file.and_then(|file| file.to_str()).into_iter().flat_map(|file| ["--file", file]);
    let write = global.line.elsewhere(["install", "--lock"].into_iter().chain(named));
    absent
        .suggest(
            "name what to install, as a folder, a file or oci://HOST/REPOSITORY:TAG; --lock locks what is installed",
        )
        .fixed_by(write, "writes a lock of what is installed", "low")
}

pub(super) fn install(global: &Global, own: &InstallArguments, output: &Output) -> Result<ExitCode, Fault> {
    let LockArguments { check, prune, .. } = own.lock;
    let file = path(own.lock.file.as_ref());
    let text = text_of(file)?.ok_or_else(|| missing(global, own.lock.file.as_ref()))?;
    let lock = Lock::parse(&text).map_err(|reason| Fault::usage(format!("{} is no lock: {reason}", file.display())))?;
    let folder = folder_of(file);
    let installed = packages::installed(global)?;
    let compared = compare(&installed, &lock, &folder)?;
    let told = |admissions: &[Admission]| compared.iter().map(|one| one.told(admissions)).collect::<Vec<_>>();
    let differs = |one: &&Compared<'_>| one.difference.is_some() && (prune || one.locked.is_some());
    let differing: Vec<&str> = compared.iter().filter(differs).map(|one| one.slug.as_str()).collect();
    let changed = !differing.is_empty();
    if check && changed {
        let message = format!("not as {} says: {}", file.display(), differing.join(", "));
        let report = ErrorReport::new(ErrorCode::LockDiffers, message).detail("packages", told(&[]));
        return Err(report.into());
    }
    let unlocked: Vec<&Compared<'_>> = compared.iter().filter(|one| one.locked.is_none()).collect();
    if !prune {
        unlocked.iter().for_each(|one| output.remark(&format!("{} is installed and not locked; it is left", one.slug)));
    }
    let asks = |one: &Locked| one.asks.iter().map(|ask| format!("{} {ask}", one.slug)).collect::<Vec<_>>();
    let asked: Vec<String> = lock.packages.iter().flat_map(asks).collect();
    let mut admissions = Vec::new();
    for one in compared.iter().filter(|one| one.difference.is_some()) {
        if let Some(locked) = one.locked {
            admissions.push(admitted(global, own, locked, &folder)?);
        }
    }
    let needed = |one: &Admission| one.beyond.iter().map(|ask| format!("{} {ask}", one.slug())).collect::<Vec<_>>();
    let beyond: Vec<String> = admissions.iter().flat_map(needed).collect();
    let may_ask = |grant: &str| {
        let Some((slug, ask)) = grant.split_once(' ') else { return false };
        match (admissions.iter().find(|one| one.slug().as_str() == slug), compared.iter().find(|one| one.slug == slug))
        {
            (Some(one), _) => admission::may_ask(&one.candidate.package, ask),
            (None, Some(Compared { locked: Some(_), pin: Some(pin), .. })) => {
                let there = installed.open(pin, PackageBounds::default(), None);
                there.is_ok_and(|package| admission::may_ask(&package, ask))
            }
            (None, _) => false,
        }
    };
    own.allowed.check_grants(asked.iter().chain(&beyond).map(String::as_str), may_ask)?;
    let result = LockCompared {
        path: file.display().to_string(),
        packages: told(&admissions),
        changed,
        removed: unlocked.iter().filter(|_| prune).map(|one| one.slug.clone()).collect(),
        needs_grant: beyond,
        dry_run: global.dry_run,
    };
    if !global.dry_run && !check {
        agreed(global, own, &result)?;
        let kept = |one: &Admission| {
            let known = installed.pin(one.slug()).ok().and_then(|pin| pin.launcher);
            known.map(|known| launcher::kept(global, one.slug(), &known)).transpose()
        };
        let launchers = admissions.iter().map(kept).collect::<Result<Vec<_>, _>>()?;
        for (admission, launcher) in admissions.into_iter().zip(&launchers) {
            admission.install(global, launcher.as_ref(), output)?;
        }
        for one in unlocked.iter().filter(|_| prune) {
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
    output.answer("install", InstallAnswers::Compared(result), human::fields)
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

/// Has a package from where the lock says, holds it against everything that the lock says of it, and judges it as any that comes. The lock
/// says which version is meant and who must stand for it. Everything else about it, where it is from above all, is the word of whoever
/// wrote the lock, and no word of this home's operator.
fn admitted(global: &Global, own: &InstallArguments, locked: &Locked, folder: &Path) -> Result<Admission, Fault> {
    let source = at(folder, &locked.source);
    let candidate = Candidate::take(global, &own.network, Path::new(&source))?;
    let (manifest, found) = (candidate.package.manifest(), candidate.package.digest()?);
    let asks = Asks::of(manifest);
    let is_locked = *manifest.slug() == locked.slug
        && manifest.version().to_string() == locked.version
        && found == locked.digest
        && asks == locked.asks;
    if !is_locked {
        let message = format!("{source} has another package than the one that is locked as {}", locked.slug);
        let report = ErrorReport::new(ErrorCode::LockMismatch, message).detail("locked", told(locked)).detail(
            "found",
            json!({"slug": manifest.slug(), "version": manifest.version().to_string(), "digest": found, "asks": asks}),
        );
        return Err(report.into());
    }
    let key = |text: &str| Signer::parse(text).map_err(|error| Fault::usage(format!("{}: {error}", locked.slug)));
    let said = Said {
        allowed: &own.allowed,
        version: true,
        keys: &[],
        signer: locked.signer.as_deref().map(key).transpose()?,
        attester: locked.attester.as_deref().map(key).transpose()?,
    };
    let before = admission::before(global, &locked.slug, &own.allowed)?;
    admission::admit(global, candidate, before.as_ref(), &said)
}

/// A lock says what there is to be; it grants nothing, and takes nothing away unasked.
fn agreed(global: &Global, own: &InstallArguments, result: &LockCompared) -> Result<(), Fault> {
    let is_granted = result.needs_grant.iter().all(|ask| own.allowed.grants.contains(ask));
    if global.yes || (is_granted && result.removed.is_empty()) {
        return Ok(());
    }
    let message = match is_granted {
        true => format!("{} would be removed", result.removed.join(", ")),
        false => format!("packages ask for what was not granted: {:?}", result.needs_grant),
    };
    let report = ErrorReport::new(ErrorCode::ConfirmationRequired, message)
        .suggest("ask the user, then repeat the call with --grant or --yes")
        .detail("packages", &result.packages)
        .detail("needs_grant", &result.needs_grant)
        .detail("removed", &result.removed);
    Err(repair::fixed(report, global.line.with_flag("--yes"), "grants and removes all of it", "high").into())
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
    let word = match source.strip_prefix(network::LAYOUT) {
        Some(path) => format!("{}{}", network::LAYOUT, folder.join(path).display()),
        None if Taken::is_no_path(source) => source.to_owned(),
        None => return packages::without_links(&folder.join(source)).display().to_string(),
    };
    match network::reference(Path::new(&word)) {
        Ok(Some(reference)) => network::settled(&reference).to_string(),
        _ => word,
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
        read => read.map_err(|error| Fault::unreadable(path, &error)),
    }
}

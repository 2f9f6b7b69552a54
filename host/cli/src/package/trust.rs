//! `<home>/trust.json`: read where a package is opened, replaced as a whole by `hutch trust`. What it says is `hutch_model::trust`'s
//! matter. `<home>/trusted_root.json`, if it is there, says whose certificates count.

use crate::flags::global::Global;
use crate::machine::place::{Place, make_private, without_links};
use crate::machine::surroundings;
use crate::package::network;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use hutch::installed::Pin;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::trust::{Judged, POLICY_BYTES_MAX, Policy, RELEASED, SHARED, Subject};
use hutch_registry::{Reference, Root, Signer};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::NamedTempFile;

const POLICY_FILE: &str = "trust.json";
const ROOT_FILE: &str = "trusted_root.json";
/// The documents about trust that a home holds.
pub(crate) const FILES: [&str; 2] = [POLICY_FILE, ROOT_FILE];
const LOCK_FILE: &str = "trust.lock";

/// Where the policy of a home is.
pub(crate) fn path(global: &Global) -> Result<PathBuf, Fault> {
    Ok(surroundings::home(global)?.join(POLICY_FILE))
}

/// The policy; without a document the one that asks for nothing.
pub(crate) fn policy(global: &Global) -> Result<Policy, Fault> {
    read(&path(global)?)
}

fn read(path: &Path) -> Result<Policy, Fault> {
    let Some(text) = document(path)? else { return Ok(Policy::default()) };
    let mut policy = Policy::parse(&text).map_err(|reason| damaged(path, &reason))?;
    for (name, text) in &mut policy.keys {
        let signer = Signer::parse(text).map_err(|error| damaged(path, &format!("the key {name:?}: {error}")))?;
        *text = signer.text();
    }
    Ok(policy)
}

/// The authorities whose certificates count: those that the home names, else those that this program knows.
pub(crate) fn root(global: &Global) -> Result<Root, Fault> {
    let path = surroundings::home(global)?.join(ROOT_FILE);
    Root::of(document(&path)?.as_deref()).map_err(|reason| damaged(&path, &reason))
}

/// The text of a document about trust, if there is one.
#[expect(clippy::disallowed_methods, reason = "the one place where the path of the policy becomes authority")]
fn document(path: &Path) -> Result<Option<String>, Fault> {
    let mut text = String::new();
    // Looked at before it is opened: a pipe in its place would be waited for.
    let read = path.metadata().and_then(|metadata| match metadata.is_file() {
        true => File::open(path)?.take(POLICY_BYTES_MAX + 1).read_to_string(&mut text),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file")),
    });
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(damaged(path, "it is a link that leads to nothing"))
        }
        // No text, or no file.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(damaged(path, &error.to_string())),
        Err(error) => Err(Fault::file(path, &error)),
        Ok(bytes) if bytes as u64 > POLICY_BYTES_MAX => {
            Err(damaged(path, &format!("longer than {POLICY_BYTES_MAX} bytes")))
        }
        Ok(_) => Ok(Some(text)),
    }
}

/// A policy that is not understood stops everything: it may say no.
fn damaged(path: &Path, reason: &str) -> Fault {
    let report = ErrorReport::new(ErrorCode::StoreDamaged, format!("{} can't be read: {reason}", path.display()));
    report.suggest("mend the file: while nobody knows what it says, nothing that it decides about is done").into()
}

/// Changes the policy, one caller after the other. `change` says whether it changed anything; nothing is written otherwise.
#[expect(clippy::disallowed_methods, reason = "the one place where the path of the policy becomes authority")]
pub(crate) fn change(global: &Global, change: impl FnOnce(&mut Policy) -> Result<bool, Fault>) -> Result<bool, Fault> {
    let path = path(global)?;
    let apply = |path: &Path| {
        let before = read(path)?;
        let mut policy = before.clone();
        let changed = change(&mut policy)?;
        if changed && policy.is_looser_than(&before) && !global.yes && !global.dry_run {
            let message = "packages could run afterwards that may not now";
            let report = ErrorReport::new(ErrorCode::ConfirmationRequired, message)
                .suggest("ask the user, then repeat the call with --yes");
            return Err(repair::fixed(report, global.line.with_flag("--yes"), "loosens the rules", "high").into());
        }
        Ok((policy, changed))
    };
    if global.dry_run {
        return apply(&path).map(|(_, changed)| changed);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |error: io::Error| Fault::file(&path, &error);
    make_private(folder)?;
    let _lock = lock(folder.join(LOCK_FILE), global.wait)?;
    let (policy, changed) = apply(&path)?;
    if changed {
        let mut aside = NamedTempFile::new_in(folder).map_err(failed)?;
        let written = aside.write_all(policy.text().as_bytes()).and_then(|()| aside.as_file().sync_all());
        written.map_err(failed)?;
        aside.persist(&path).map_err(|error| failed(error.error))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(changed)
}

/// Waits until nobody else changes the policy; the lock ends with the file.
#[expect(clippy::disallowed_methods, reason = "the one place where the path of the policy becomes authority")]
fn lock(path: PathBuf, wait: Duration) -> Result<File, Fault> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let shown = path.clone();
    // Nothing but another thread can give up on a lock. One that still waits ends with the program.
    let locking = std::thread::Builder::new().name("lock".to_owned()).spawn(move || {
        let file = File::options().create(true).truncate(false).write(true).open(path);
        // The receiver may have given up.
        let _ = sender.send(file.and_then(|file| file.lock().map(|()| file)));
    });
    locking.map_err(|error| Fault::host(format!("no thread to lock with: {error}")))?;
    match receiver.recv_timeout(wait) {
        Ok(locked) => locked.map_err(|error| Fault::file(&shown, &error)),
        Err(_) => {
            let message = format!("another process kept {} locked for {} ms", shown.display(), wait.as_millis());
            Err(Fault::new(ErrorCode::InstanceBusy, message))
        }
    }
}

/// A source as rules write it: a repository without tag and digest, or a path.
pub(crate) fn source(text: &str) -> String {
    parsed(text).map_or_else(|| text.to_owned(), |reference| network::settled(&reference).place.to_string())
}

/// The source that a pin says, as rules write it. It was written so that it means the same from everywhere and ever: what is at that place by
/// now, a link say, makes no other one of it.
pub(crate) fn pinned(source: &str) -> String {
    parsed(source).map_or_else(|| source.to_owned(), |reference| reference.place.to_string())
}

fn parsed(text: &str) -> Option<Reference> {
    Reference::is_meant(text).then(|| text.parse().ok()).flatten()
}

/// What a rule is about, whatever folder it is written in.
pub(crate) fn pattern(text: &str) -> String {
    let is_slug = [SHARED, RELEASED].iter().any(|kind| text.starts_with(kind));
    let is_elsewhere = Reference::is_meant(text) || text.contains("://") || is_slug;
    if !text.is_empty() && text != "*" && !is_elsewhere {
        let folder = text.strip_suffix('*');
        let path = without_links(Path::new(folder.unwrap_or(text))).display().to_string();
        return if folder.is_some() { format!("{}/*", path.trim_end_matches('/')) } else { path };
    }
    match text.ends_with('*') {
        true => network::settled_begin(text).unwrap_or_else(|| {
            match text.strip_prefix("oci://").map(|rest| rest.split_once('/')) {
                Some(Some((host, rest))) => format!("oci://{}/{rest}", host.to_ascii_lowercase()),
                _ => text.to_owned(),
            }
        }),
        // With a tag or a digest it is refused: a rule is about a repository.
        false => match text.parse::<Reference>() {
            Ok(reference) => network::settled(&reference).to_string(),
            Err(_) => text.to_owned(),
        },
    }
}

/// What the policy says about a package that was found.
pub(crate) fn judge<'p>(policy: &'p Policy, place: &Place) -> Judged<'p> {
    match place {
        Place::Local { path, .. } => {
            let source = path.to_string_lossy();
            policy.judge(Subject { source: &source, is_installed: false, signer: None, attester: None })
        }
        Place::Installed(pin) => judge_installed(policy, pin),
    }
}

/// What it says about an installed package.
pub(crate) fn judge_installed<'p>(policy: &'p Policy, pin: &Pin) -> Judged<'p> {
    let signer = pin.signer.as_deref().filter(|_| !pin.signer_unnamed);
    let attester = pin.attester.as_deref().filter(|_| !pin.attester_unnamed);
    policy.judge(Subject { source: &pinned(&pin.source), is_installed: true, signer, attester })
}

/// How far a package is trusted, in a word.
pub(crate) fn level(policy: &Policy, place: &Place) -> &'static str {
    judge(policy, place).level.text()
}

/// Refuses a package that may not be run.
pub(crate) fn admit(policy: &Policy, place: &Place) -> Result<(), Fault> {
    match policy.rules.is_empty() {
        true => Ok(()),
        false => enough(&judge(policy, place), &place.word()),
    }
}

/// Refuses what is less trusted than it has to be.
pub(crate) fn enough(judged: &Judged<'_>, word: &str) -> Result<(), Fault> {
    if judged.is_allowed() {
        return Ok(());
    }
    let pattern = judged.rule.map_or("*", |rule| rule.pattern.as_str());
    let message = format!(
        "{word} is {}, and the rule for {pattern} in {POLICY_FILE} asks for {}",
        judged.level.text(),
        judged.required.text()
    );
    let report = ErrorReport::new(ErrorCode::TrustRequired, message)
        .detail("level", judged.level.text())
        .detail("required", judged.required.text())
        .detail("rule", pattern);
    Err(report.into())
}

/// Whose signatures count for a source.
pub(crate) fn keys(policy: &Policy, source: &str) -> Vec<Signer> {
    policy.keys_for(source).filter_map(|(_, text)| Signer::parse(text).ok()).collect()
}

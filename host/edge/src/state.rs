//! An instance in one file: its whole ledger and what belongs to it, in the form of `hutch_store::bundle`. It is replaced by one that
//! says more, at once, or left as it is.
//!
//! The next file is written beside it as `.NAME.next`, under a lock that is held from before the state is read: so there is one writer.
//! What a process that was killed left there is taken over; nothing else is made.
#![allow(clippy::disallowed_methods, reason = "the caller named the file")]

use super::report::{of, usage};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use hutch_store::{MemoryStore, Store, StoreError, bundle};
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How often the lock's file is looked for again because the process that had it has just taken its name away.
const TRIES: u32 = 8;

/// A state that nobody else can change meanwhile.
pub(crate) struct StateFile {
    path: PathBuf,
    next: PathBuf,
    file: File,
    bytes: Vec<u8>,
    replaced: bool,
}

fn failed(path: &Path, action: &'static str) -> impl Fn(io::Error) -> ErrorReport {
    let at = path.display().to_string();
    move |error| {
        let (at, denied) =
            (at.clone(), matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem));
        match (error.kind(), Box::new(error)) {
            (ErrorKind::NotFound | ErrorKind::NotADirectory, error) => {
                ErrorReport::new(ErrorCode::NotFound, format!("{at}: can't {action}: {error}"))
                    .suggest("name a file in a folder that is there")
            }
            (_, source) if denied => of(StoreError::Denied { at, action, source }),
            (_, source) => of(StoreError::Failed { at, action, source }),
        }
    }
}

/// What the file holds; nothing if there is none yet.
fn content(path: &Path) -> Result<Option<(Vec<u8>, Metadata)>, ErrorReport> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.map_err(failed(path, "look at it"))?,
    };
    if !found.is_file() {
        return Err(usage(format!("{}: is no file, or a link to one", path.display())).suggest("name the file itself"));
    }
    let bytes = std::fs::read(path).map_err(failed(path, "read it"))?;
    Ok(Some((bytes, found)))
}

/// Puts what a state file of a package holds into a store.
///
/// # Errors
/// It is damaged, another version's, or another package's.
fn fill(store: &MemoryStore, slug: &Slug, path: &Path, bytes: &[u8]) -> Result<(), ErrorReport> {
    let at = path.display().to_string();
    let taken = bundle::take_in(store, bytes).map_err(|error| match error {
        StoreError::Damaged { what, reason, .. } => of(StoreError::Damaged { at: at.clone(), what, reason }),
        error => of(error),
    })?;
    // It is never written in place, so its last part is whole, and it has one.
    if taken.whole_bytes != bytes.len() as u64 || taken.entries == 0 {
        let (what, reason) = ("the state".to_owned(), "is cut short, or does not match its digest".to_owned());
        return Err(of(StoreError::Damaged { at, what, reason }));
    }
    let last = store.entry(taken.entries).map_err(of)?.map(|sealed| sealed.open());
    match last.transpose().map_err(|error| of(hutch::Failure::Entry(error)))? {
        Some(last) if last.record.package.slug != slug.as_str() => {
            let message = format!("{at}: is the state of {}, and this is {slug}", last.record.package.slug);
            let report = ErrorReport::new(ErrorCode::InstanceForeign, message);
            Err(report.suggest("run the application that it belongs to, or name another file"))
        }
        _ => Ok(()),
    }
}

/// Puts what a state file holds into a store, to look at it.
///
/// # Errors
/// There is none, or it is damaged.
pub(crate) fn read(store: &MemoryStore, slug: &Slug, path: &Path) -> Result<(), ErrorReport> {
    match content(path)? {
        Some((bytes, _)) => fill(store, slug, path, &bytes),
        None => Err(missing(path)),
    }
}

pub(crate) fn missing(path: &Path) -> ErrorReport {
    ErrorReport::new(ErrorCode::NotFound, format!("{}: there is no state", path.display()))
}

impl StateFile {
    /// Takes the state for one call, and puts what it holds into a store.
    ///
    /// # Errors
    /// Another process has it; it is damaged; files can't be written beside it.
    pub(crate) fn take(store: &MemoryStore, slug: &Slug, path: PathBuf) -> Result<StateFile, ErrorReport> {
        let Some(name) = path.file_name() else { return Err(usage(format!("{}: is no file's name", path.display()))) };
        let next = path.with_file_name([".".as_ref(), name, ".next".as_ref()].join("".as_ref()));
        let file = locked(&path, &next)?;
        // From here on its name is taken away again if nothing comes of it.
        let mut taken = StateFile { path, next, file, bytes: Vec::new(), replaced: false };
        if let Some((bytes, found)) = content(&taken.path)? {
            fill(store, slug, &taken.path, &bytes)?;
            let kept = taken.file.set_permissions(found.permissions());
            kept.map_err(failed(&taken.next, "let the same people read it"))?;
            taken.bytes = bytes;
        }
        Ok(taken)
    }

    /// Makes everything durable that is in the store and not yet in the file.
    ///
    /// # Errors
    /// The system refuses: the file is as it was, unless the report says that this is not known.
    pub(crate) fn keep(mut self, store: &MemoryStore, after: u64) -> Result<(), ErrorReport> {
        let added = bundle::export(store, after).map_err(of)?;
        if added.is_empty() {
            return Ok(());
        }
        let mut file = &self.file;
        let written = file.set_len(0).and_then(|()| file.write_all(&self.bytes)).and_then(|()| file.write_all(&added));
        written.and_then(|()| file.sync_all()).map_err(failed(&self.next, "write it"))?;
        std::fs::rename(&self.next, &self.path).map_err(failed(&self.path, "replace it"))?;
        self.replaced = true;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| {
            let sequence = store.head().map(|head| head.last.sequence).unwrap_or_default();
            of(StoreError::Uncertain { at: self.path.display().to_string(), sequence, source: source.into() })
        })
    }
}

impl Drop for StateFile {
    fn drop(&mut self) {
        if !self.replaced {
            // The lock still holds, so the name is ours. One that stays is taken over by the next call.
            let _ = std::fs::remove_file(&self.next);
        }
    }
}

/// The file that is to be the next state, locked.
fn locked(path: &Path, next: &Path) -> Result<File, ErrorReport> {
    let busy = || {
        let message = format!("{}: another process is using it", path.display());
        ErrorReport::new(ErrorCode::InstanceBusy, message).suggest("wait for it to end, then repeat")
    };
    for _ in 0..TRIES {
        let file = options().open(next).map_err(failed(next, "write it"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Error(error)) => return Err(failed(next, "lock it")(error)),
        }
        let (ours, named) = (file.metadata().map_err(failed(next, "look at it"))?, next.symlink_metadata().ok());
        if !ours.is_file() {
            return Err(usage(format!("{}: is no file", next.display())).suggest("remove it"));
        }
        // Who had it may have made it the state, or taken its name away, before the lock was ours.
        if named.is_some_and(|named| is_same(&ours, &named)) {
            return Ok(file);
        }
    }
    Err(busy())
}

/// A file of whoever runs this, and of nobody else. It is not emptied by being opened.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

//! Behaviours that work on files the ordinary way, through std.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use hutch_guest::argv::Arguments;
use hutch_guest::failure::{Failure, INVALID_VALUE};
use serde_json::{Value, json};

use crate::component::{Observation, Trouble, end, errno, fnv1a, print, size, status, text};
use crate::resources::spin;
use crate::wasi::filesystem::preopens::get_directories;
use crate::wasi::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};

pub(crate) fn observe(command: &str, arguments: &Arguments) -> Option<Observation> {
    let path = text(arguments, "path");
    let text = |name| text(arguments, name);
    let number = |name| size(arguments, name);
    Some(match command {
        "write-file" => number("bytes").and_then(|bytes| done(path, fs::write(path, alphabet(bytes)))),
        "write-text" => done(path, fs::write(path, text("text"))),
        "append-text" => {
            let appended = OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .and_then(|mut file| file.write_all(text("text").as_bytes()));
            done(path, appended)
        }
        "write-at" => number("offset").and_then(|offset| done(path, write_at(path, offset, text("text")))),
        "truncate" => number("bytes").and_then(|bytes| {
            done(path, OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(bytes)))
        }),
        "write-files" => number("files").map(|files| Some(write_files(text("directory"), files))),
        "write-chunked" => write_chunked(path, arguments),
        "read-file" => read_file(path),
        "list-dir" => list(path).map(|entries| Some(json!({"path": path, "entries": entries}))),
        "tree" => {
            let mut entries = Vec::new();
            tree(path, &mut entries).map(|()| Some(json!({"path": path, "entries": entries})))
        }
        "stat" => stat(path),
        "make-dir" => done(path, fs::create_dir(path)),
        "remove" => done(path, remove(path, arguments.flag("all"))),
        "rename" => done(text("from"), fs::rename(text("from"), text("to"))),
        "link" => done(text("from"), fs::hard_link(text("from"), text("to"))),
        "symlink" => done(path, symlink(text("target"), path)),
        "read-link" => fs::read_link(path)
            .map_err(failed(path))
            .map(|target| Some(json!({"path": path, "target": target.to_string_lossy()}))),
        "deep-dirs" => number("levels").map(|levels| Some(deep_directories(text("directory"), levels))),
        "long-name" => number("bytes").map(|bytes| {
            let made =
                File::create(format!("{}/{}", text("directory"), "n".repeat(usize::try_from(bytes).unwrap_or(0))));
            Some(json!({"bytes": bytes, "made": made.is_ok(), "errno": made.err().as_ref().map(errno)}))
        }),
        "write-then-trap" => {
            done(path, fs::write(path, b"written before the trap")).map(|_| core::arch::wasm32::unreachable())
        }
        "write-then-exit" => status(arguments).and_then(|status| {
            fs::write(path, b"written before the exit").map_err(failed(path))?;
            print(&json!({"ok": status == 0, "command": command, "path": path, "status": status}));
            end(status);
            std::process::exit(i32::from(status))
        }),
        "write-then-spin" => done(path, fs::write(path, b"written before the loop")).map(|_| spin()),
        _ => return None,
    })
}

/// Turns an error of std into trouble with that path.
pub(crate) fn failed(what: &str) -> impl Fn(io::Error) -> Trouble + '_ {
    move |error| Trouble::Io { what: what.to_owned(), error }
}

fn done(path: &str, result: io::Result<()>) -> Observation {
    result.map_err(failed(path)).map(|()| Some(json!({"path": path})))
}

/// `abc…xyzabc…`
pub(crate) fn alphabet(bytes: u64) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(usize::try_from(bytes).unwrap_or(usize::MAX)).collect()
}

/// The preopened directory of that name, without regard to slashes around it.
pub(crate) fn preopen(name: &str) -> Option<Descriptor> {
    let name = name.trim_matches('/');
    get_directories().into_iter().find(|(_, preopen)| preopen.trim_matches('/') == name).map(|(directory, _)| directory)
}

fn write_at(path: &str, offset: u64, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(text.as_bytes())
}

fn write_files(directory: &str, files: u64) -> Value {
    let (mut written, mut error) = (0, None);
    while written < files && error.is_none() {
        match fs::write(format!("{directory}/file-{written:06}"), b"x") {
            Ok(()) => written += 1,
            Err(failure) => error = Some(errno(&failure)),
        }
    }
    json!({"requested": files, "written": written, "errno": error})
}

fn write_chunked(path: &str, arguments: &Arguments) -> Observation {
    let (bytes, chunk) = (size(arguments, "bytes")?, size(arguments, "chunk")?);
    if chunk == 0 {
        return Err(Failure::new(INVALID_VALUE, "chunk is 0, expected 1 or more").into());
    }
    let content = alphabet(bytes);
    let mut file = File::create(path).map_err(failed(path))?;
    let mut calls = 0_u64;
    for part in content.chunks(usize::try_from(chunk).unwrap_or(usize::MAX)) {
        file.write_all(part).map_err(failed(path))?;
        calls += 1;
    }
    Ok(Some(json!({"path": path, "bytes": bytes, "calls": calls})))
}

fn read_file(path: &str) -> Observation {
    let bytes = fs::read(path).map_err(failed(path))?;
    Ok(Some(content(&bytes, json!({"path": path}))))
}

/// Length, digest and the beginning of some bytes, added to an object.
pub(crate) fn content(bytes: &[u8], mut object: Value) -> Value {
    /// More than that is not printed.
    const SHOWN_BYTES_MAX: usize = 4096;
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
    object["length"] = json!(bytes.len());
    object["fnv1a"] = json!(fnv1a(bytes));
    object["content"] = json!(String::from_utf8_lossy(shown));
    object["truncated"] = json!(bytes.len() > shown.len());
    object
}

fn list(path: &str) -> Result<Vec<Value>, Trouble> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(failed(path))? {
        let entry = entry.map_err(failed(path))?;
        let kind = entry.file_type().map_err(failed(path))?;
        entries.push(json!({"name": entry.file_name().to_string_lossy(), "kind": kind_name(kind)}));
    }
    Ok(entries)
}

fn tree(path: &str, found: &mut Vec<Value>) -> Result<(), Trouble> {
    for entry in list(path)? {
        let below = format!("{path}/{}", entry["name"].as_str().unwrap_or_default());
        let metadata = fs::symlink_metadata(&below).map_err(failed(&below))?;
        found.push(json!({"path": below, "kind": entry["kind"], "bytes": metadata.len()}));
        if metadata.is_dir() {
            tree(&below, found)?;
        }
    }
    Ok(())
}

fn kind_name(kind: fs::FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "directory",
        _ if kind.is_symlink() => "symbolic-link",
        _ if kind.is_file() => "file",
        _ => "other",
    }
}

fn stat(path: &str) -> Observation {
    let metadata = fs::symlink_metadata(path).map_err(failed(path))?;
    let since_epoch_ns = |time: io::Result<std::time::SystemTime>| {
        time.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).map(|since| since.as_nanos() as u64)
    };
    let std = json!({
        "kind": kind_name(metadata.file_type()),
        "bytes": metadata.len(),
        "modifiedNs": since_epoch_ns(metadata.modified()),
        "accessedNs": since_epoch_ns(metadata.accessed()),
    });
    Ok(Some(json!({"path": path, "std": std, "wasi": raw_stat(path)})))
}

/// The same through WASI itself, with what std leaves out.
fn raw_stat(path: &str) -> Value {
    let (volume, below) = path.trim_start_matches('/').split_once('/').unwrap_or((path, "."));
    let Some(directory) = preopen(volume) else {
        return json!({"error": format!("no preopen is called {volume}")});
    };
    let time = |time: Option<crate::wasi::clocks::wall_clock::Datetime>| {
        time.map(|time| json!({"seconds": time.seconds, "nanoseconds": time.nanoseconds}))
    };
    match (directory.stat_at(PathFlags::empty(), below), directory.metadata_hash_at(PathFlags::empty(), below)) {
        (Ok(stat), Ok(hash)) => json!({
            "kind": format!("{:?}", stat.type_),
            "bytes": stat.size,
            "links": stat.link_count,
            "accessed": time(stat.data_access_timestamp),
            "modified": time(stat.data_modification_timestamp),
            "changed": time(stat.status_change_timestamp),
            "hash": format!("{:016x}{:016x}", hash.upper, hash.lower),
        }),
        (Err(code), _) | (_, Err(code)) => json!({"error": code.name()}),
    }
}

fn remove(path: &str, all: bool) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true if all => fs::remove_dir_all(path),
        true => fs::remove_dir(path),
        false => fs::remove_file(path),
    }
}

/// Makes a symbolic link that holds `target`.
pub(crate) fn symlink(target: impl AsRef<Path>, path: impl AsRef<Path>) -> io::Result<()> {
    // The platform's own function is not stable.
    #[allow(deprecated)]
    fs::soft_link(target, path)
}

/// Each directory is made in the one before, so no path grows long.
fn deep_directories(directory: &str, levels: u64) -> Value {
    let mut error = None;
    let mut made = 0;
    if let Some(mut here) = preopen(directory) {
        while made < levels && error.is_none() {
            let rights = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
            let deeper = here
                .create_directory_at("d")
                .and_then(|()| here.open_at(PathFlags::empty(), "d", OpenFlags::DIRECTORY, rights));
            match deeper {
                Ok(deeper) => (here, made) = (deeper, made + 1),
                Err(code) => error = Some(code.name().to_owned()),
            }
        }
    } else {
        error = Some(format!("no preopen is called {directory}"));
    }
    json!({"requested": levels, "made": made, "error": error})
}

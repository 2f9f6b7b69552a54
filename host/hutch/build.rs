//! Names the rules by which packages are read: what is remembered of a package follows from them, and holds under no others.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use std::error::Error;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// All that a package is read by, the versions of what is not written here among it.
const RULES: [&str; 5] =
    ["host/model/src", "host/folder/src", "host/hutch/src/package", "host/hutch/build.rs", "Cargo.lock"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let mut files = Vec::new();
    for path in RULES {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
        gather(root.join(path), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let path = file.strip_prefix(&root)?.to_string_lossy().replace('\\', "/");
        for part in [path.as_bytes(), &fs::read(&file)?] {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
    }
    println!("cargo::rustc-env=HUTCH_PACKAGE_RULES={:016x}", hasher.finish());
    Ok(())
}

/// The file at `path`, or all files below it.
fn gather(path: PathBuf, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    match path.is_dir() {
        false => files.push(path),
        true => {
            for entry in fs::read_dir(&path)? {
                gather(entry?.path(), files)?;
            }
        }
    }
    Ok(())
}

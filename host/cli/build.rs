//! Gathers what the program needs to hold itself to the 98 rules: what the project holds for agents (files that are not there are
//! not gathered, and the rules about them then fail), and the to-do package, to try its commands on.

#![allow(clippy::disallowed_methods, reason = "a build script reads the project that it builds")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    // At a fixed address, nothing of the program is rewritten when it starts: a million instructions and 200 pages less.
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        // Names of functions are a fifth of the program, and nothing that it says needs them; profilers do.
        println!("cargo::rerun-if-env-changed=HUTCH_SYMBOLS");
        if env::var_os("HUTCH_SYMBOLS").is_none() {
            println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
        }
    }
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let mut project = vec![PathBuf::from("AGENTS.md"), PathBuf::from("CHANGELOG.md")];
    files(&root, Path::new("agent"), &mut project);
    project.retain(|path| path.extension().is_some_and(|extension| extension == "md") && root.join(path).is_file());
    let mut sample = Vec::new();
    files(&root, Path::new("packages/todo"), &mut sample);
    let source = [
        table(&root, "PROJECT_FILES", "&str", "include_str", project)?,
        table(&root, "SAMPLE_FILES", "&[u8]", "include_bytes", sample)?,
    ];
    fs::write(Path::new(&env::var("OUT_DIR")?).join("embedded.rs"), source.concat())?;
    Ok(())
}

/// Every file below a folder of the repository.
fn files(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", root.join(folder).display());
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let path = folder.join(entry.file_name());
        match root.join(&path).is_dir() {
            true => files(root, &path, found),
            false => found.push(path),
        }
    }
}

/// A constant that holds files by path.
fn table(
    root: &Path,
    name: &str,
    kind: &str,
    macro_name: &str,
    mut paths: Vec<PathBuf>,
) -> Result<String, Box<dyn Error>> {
    paths.sort();
    let mut source = format!("const {name}: &[(&str, {kind})] = &[\n");
    for path in paths {
        println!("cargo::rerun-if-changed={}", root.join(&path).display());
        let whole = root.join(&path).display().to_string();
        writeln!(source, "    ({:?}, {macro_name}!({whole:?})),", path.display().to_string())?;
    }
    source.push_str("];\n");
    Ok(source)
}

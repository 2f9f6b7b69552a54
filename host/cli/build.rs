//! Gathers what the project holds for agents, so that the program can hold itself to the rules about it: files that are not there
//! are not gathered, and those rules then fail.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let mut found = vec![PathBuf::from("AGENTS.md"), PathBuf::from("CHANGELOG.md")];
    for folder in ["agent", "agent/rules", "agent/skills"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| Path::new(folder).join(entry.file_name())));
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md") && root.join(path).is_file());
    found.sort();
    let mut source = String::from("const PROJECT_FILES: &[(&str, &str)] = &[\n");
    for path in ["AGENTS.md", "CHANGELOG.md"] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    for path in &found {
        let whole = fs::canonicalize(root.join(path))?;
        println!("cargo::rerun-if-changed={}", whole.display());
        writeln!(source, "    ({:?}, include_str!({:?})),", path.display().to_string(), whole.display().to_string())?;
    }
    source.push_str("];\n");
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("project_files.rs"), source)?;
    Ok(())
}

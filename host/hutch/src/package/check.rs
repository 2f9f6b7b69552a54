//! Everything that a rule says about a package as a whole: folders, skills, declared paths, agreement of its parts.

use super::files::{Found, PackageEntry, problem};
use super::{Checked, Package, PackageBounds, Source, fixed, not_a_folder, open_parts, read_text};
use hutch_model::command_line::PAYLOAD_FOLDER;
use hutch_model::diagnostic::{Code, Diagnostic, sort};
use hutch_model::front_matter::DOCUMENT_BYTES_MAX;
use hutch_model::manifest::{MANIFEST_FILE, Manifest};
use hutch_model::names::SkillName;
use hutch_model::skill::{self, SKILL_FILE, SKILLS_FOLDER};

pub(super) fn check(source: &Source, bounds: PackageBounds) -> Checked {
    let mut found = Vec::new();
    let (package, manifest_alone) = open_parts(source, bounds, &mut found);
    let manifest = package.as_ref().map(Package::manifest).or(manifest_alone.as_ref());
    for folder in [PAYLOAD_FOLDER, SKILLS_FOLDER] {
        check_folder(source, folder, &mut found);
    }
    let bounds = manifest.map_or(bounds, |manifest| bounds.asked_by(manifest));
    let walk = source.walk(None, &bounds);
    found.extend(walk.problems);
    let mut skills = Vec::new();
    match manifest {
        Some(manifest) => {
            for (at, name) in manifest.skills().iter().enumerate() {
                let absent = |file: &str| {
                    let at = manifest.position(&format!("/skills/{at}"));
                    Diagnostic::new(Code::SkillMissing, MANIFEST_FILE, at, format!("{file} is not there"))
                };
                skills.extend(check_skill(source, name, absent, &mut found));
            }
            for name in skill_folders(&walk.entries).filter(|name| !is_listed(manifest, name)) {
                let message = format!("{MANIFEST_FILE} does not list the skill {name:?}");
                found.push(problem(Code::SkillUnlisted, &format!("{SKILLS_FOLDER}/{name}"), message));
            }
            check_declared(source, manifest, &mut found);
        }
        // Without a list of skills, those that are there can still be read.
        None => {
            let absent = |file: &str| problem(Code::SkillMissing, file, "the skill has no SKILL.md");
            for name in skill_folders(&walk.entries).filter_map(|name| SkillName::parse(name).ok()) {
                skills.extend(check_skill(source, &name, absent, &mut found));
            }
        }
    }
    if let Some(package) = &package
        && let Ok(Some(contract)) = package.contract()
    {
        found.extend(contract.disagreements(package.manifest()));
    }
    sort(&mut found);
    // A file that is read is also met on the walk.
    found.dedup();
    let package = package.filter(|_| !found.iter().any(Diagnostic::is_error));
    Checked { package, skills, diagnostics: found }
}

fn check_folder(source: &Source, folder: &str, found: &mut Vec<Diagnostic>) {
    match fixed(folder).and_then(|path| source.look(&path)) {
        Ok(Found::Folder) => {}
        Ok(Found::File(_)) => found.push(not_a_folder(folder)),
        Ok(Found::Nothing) => {
            found.push(problem(Code::FolderMissing, folder, format!("a package has a folder {folder}")));
        }
        Err(problem) => found.push(problem),
    }
}

/// Reads a skill, of which nothing is kept but its name: together they may be as long as a package.
fn check_skill(
    source: &Source,
    name: &SkillName,
    absent: impl Fn(&str) -> Diagnostic,
    found: &mut Vec<Diagnostic>,
) -> Option<SkillName> {
    let file = format!("{SKILLS_FOLDER}/{name}/{SKILL_FILE}");
    match fixed(&file).and_then(|path| read_text(source, &path, DOCUMENT_BYTES_MAX)) {
        Ok(Some(text)) => {
            let (skill, problems) = skill::parse(&text, &file, name);
            found.extend(problems);
            skill.map(|skill| skill.name().clone())
        }
        Ok(None) => {
            found.push(absent(&file));
            None
        }
        Err(problem) => {
            found.push(problem);
            None
        }
    }
}

fn is_listed(manifest: &Manifest, name: &str) -> bool {
    manifest.skills().iter().any(|skill| skill.as_str() == name)
}

/// The names of the folders right in `skills/`.
fn skill_folders(entries: &[PackageEntry]) -> impl Iterator<Item = &str> {
    entries.iter().filter(|entry| entry.file_bytes.is_none()).filter_map(|entry| {
        let mut components = entry.path.components();
        match (components.next(), components.next(), components.next()) {
            (Some(SKILLS_FOLDER), Some(name), None) => Some(name),
            _ => None,
        }
    })
}

/// Resources must be there; a volume may begin empty. Both are folders.
fn check_declared(source: &Source, manifest: &Manifest, found: &mut Vec<Diagnostic>) {
    let volumes = manifest.volumes().iter().enumerate().map(|(at, path)| ("state", at, path));
    let resources = manifest.resources().iter().enumerate().map(|(at, path)| ("resources", at, path));
    for (list, at, path) in volumes.chain(resources) {
        let at = manifest.position(&format!("/metadata/hutch/{list}/{at}"));
        let mut report = |code, message| found.push(Diagnostic::new(code, MANIFEST_FILE, at, message));
        match source.look(path) {
            Ok(Found::Nothing) if list == "resources" => {
                report(Code::FolderMissing, format!("{list} names {path}, which is not there"))
            }
            Ok(Found::File(_)) => report(Code::NotAFolder, format!("{list} names {path}, which is a file")),
            Ok(_) => {}
            Err(problem) => found.push(problem),
        }
    }
}

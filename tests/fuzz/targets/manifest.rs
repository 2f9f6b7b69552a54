//! `APP.md` and `SKILL.md`: what is accepted keeps every rule that the rest of the host relies on, comes back from what was written of
//! it, and cost memory in proportion to the text.
#![no_main]

use hutch_fuzz::{check_diagnostics, within};
use hutch_model::asks::Asks;
use hutch_model::front_matter::decode;
use hutch_model::manifest::{self, Manifest};
use hutch_model::names::{CommandPath, PackagePath, SkillName, Slug};
use hutch_model::skill;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = decode(bytes, "APP.md") else { return };
    // A diagnostic is some hundred bytes, and a node of the front matter some ten for each of the text's.
    let memory_max = (1 << 20) + 400 * text.len();
    let (manifest, diagnostics) = within(memory_max, || manifest::parse(text, "APP.md"));
    check_diagnostics(text, &diagnostics, manifest.is_some());
    if let Some(manifest) = manifest {
        check_manifest(&manifest, text);
    }
    let Ok(folder) = SkillName::parse("usage") else { return };
    let (skill, diagnostics) = within(memory_max, || skill::parse(text, "SKILL.md", &folder));
    check_diagnostics(text, &diagnostics, skill.is_some());
    if let Some(skill) = skill {
        assert_eq!(*skill.name(), folder);
        assert!(text.ends_with(skill.body()));
    }
});

fn check_manifest(manifest: &Manifest, text: &str) {
    assert_eq!(Slug::parse(manifest.slug().as_str()).as_ref(), Ok(manifest.slug()));
    for command in manifest.commands() {
        assert_eq!(CommandPath::parse(command.as_str()).as_ref(), Ok(command));
    }
    for confirmed in manifest.confirmation_required() {
        assert!(manifest.commands().contains(confirmed), "{confirmed} is confirmed, and no command");
    }
    let folders: Vec<&PackagePath> =
        manifest.volumes().iter().chain(manifest.resources()).chain(manifest.mounts()).collect();
    for (at, folder) in folders.iter().enumerate() {
        assert_eq!(PackagePath::parse(folder.as_str()).as_ref(), Ok(*folder));
        for other in folders.iter().skip(at + 1) {
            assert!(!folder.overlaps(other), "{folder} and {other} overlap");
        }
    }
    assert!(manifest.limits().values().all(|amount| *amount > 0));
    let asks = Asks::of(manifest);
    assert!(asks.beyond(Some(&asks)).is_empty(), "it asks for more than it asks for");

    // What it was made of, put together again, is the same manifest.
    let again = format!("---\n{}---\n{}", manifest.front_matter(), manifest.body());
    assert!(text.ends_with(manifest.body()) && text.contains(manifest.front_matter()));
    let (again, problems) = manifest::parse(&again, "APP.md");
    assert_eq!(again.as_ref(), Some(manifest), "{problems:?}");
    // And so is the one that is kept.
    let kept = manifest.keep();
    assert_eq!(kept.and_then(|kept| Manifest::recall(&kept)).as_ref(), Some(manifest), "what is kept is another one");
}

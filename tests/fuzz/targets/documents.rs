//! What the host keeps as text and reads again, and names and numbers that people write: `trust.json`, `hutch.lock`, instants, digests,
//! names, paths, entry commands, amounts. What is read and written is the same, and the same bytes from then on; what is accepted keeps
//! the rules of its kind.
#![no_main]

use hutch_fuzz::within;
use hutch_model::command_line::EntryCommand;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::limits::Unit;
use hutch_model::lock::Lock;
use hutch_model::names::{CommandPath, EnvironmentName, PackagePath, SLUG_CHARACTERS_MAX, Slug};
use hutch_model::payload::Payload;
use hutch_model::snapshot::{Tree, TreeObject, decode_list, encode_list};
use hutch_model::trust::{Level, Policy, Subject, check_pattern};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| within((1 << 20) + 400 * bytes.len(), || read(bytes)));

fn read(bytes: &[u8]) {
    // Folders and lists of chunks have one form each.
    if let Ok(tree) = Tree::decode(bytes) {
        assert_eq!(tree.encode(), bytes);
        assert_eq!(Tree::new(tree.entries().to_vec()).as_ref(), Some(&tree));
        assert!(tree.entries().iter().all(|entry| tree.get(entry.name.as_str()) == Some(entry)));
        assert!(tree.totals().files >= tree.entries().len() as u64);
    }
    if let Ok(object) = TreeObject::decode(bytes) {
        assert_eq!(object.encode(), bytes);
    }
    if let Some(parts) = decode_list(bytes) {
        assert_eq!(encode_list(&parts), bytes);
    }
    assert!(Payload::of(bytes).is_err() || bytes.len() >= 8);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if text.starts_with('{') {
        if let Ok(lock) = Lock::parse(text) {
            assert_eq!(Lock::parse(&lock.text()).as_ref(), Ok(&lock));
        }
        if let Ok(policy) = Policy::parse(text) {
            check_policy(&policy);
        }
        return;
    }
    names(text);
}

fn check_policy(policy: &Policy) {
    let written = policy.text();
    let again = Policy::parse(&written).unwrap_or_else(|error| panic!("{written} is refused: {error}"));
    assert_eq!(again.text(), written);
    assert!(!policy.is_looser_than(policy), "a policy is looser than itself");
    assert!(!policy.is_looser_than(&again) && !again.is_looser_than(policy), "the order of rules means something");
    for rule in &policy.rules {
        assert_eq!(check_pattern(&rule.pattern), Ok(()));
        let source = rule.pattern.trim_end_matches('*');
        for key in policy.keys.values().map(|key| Some(key.as_str())).chain([None]) {
            for is_installed in [true, false] {
                let subject = || Subject { source, is_installed, signer: key, attester: key };
                let (judged, other) = (policy.judge(subject()), again.judge(subject()));
                assert_eq!(judged, other, "the same policy judges {source:?} in two ways");
                assert!(judged.rule.is_some(), "no rule is about {source:?}");
                assert_eq!(judged.is_allowed(), judged.level >= judged.required);
                assert!(judged.level < Level::Trusted || judged.signer.is_some(), "trusted, and nobody signed");
                if let Some(signer) = judged.signer {
                    assert!(policy.keys_for(source).any(|(name, _)| name == signer), "{signer} does not count");
                }
            }
        }
    }
}

fn names(text: &str) {
    if let Ok(at) = text.parse::<Instant>() {
        assert_eq!(at.to_string().parse(), Ok(at));
    }
    if let Ok(digest) = text.parse::<Digest>() {
        assert_eq!(digest.to_string(), text);
    }
    if let Ok(slug) = Slug::parse(text) {
        assert_eq!(Slug::derived(text).as_ref(), Some(&slug));
        assert!(text.len() <= SLUG_CHARACTERS_MAX);
        // A slug is a name of a folder on every system.
        assert!(PackagePath::parse(text).is_ok() && !text.contains('/'));
    }
    if let Some(slug) = Slug::derived(text) {
        assert_eq!(Slug::parse(slug.as_str()), Ok(slug));
    }
    if let Ok(path) = CommandPath::parse(text) {
        assert_eq!(path.words().collect::<Vec<_>>().join(" "), text);
        assert!(!path.words().any(|word| word.is_empty() || word.starts_with('-')));
    }
    if let Ok(name) = EnvironmentName::parse(text) {
        assert!(name.as_str() == text && !text.contains(['=', '\0']));
    }
    if let Ok(path) = PackagePath::parse(text) {
        check_path(&path, text);
    }
    if let Ok(entry) = EntryCommand::parse(text) {
        check_path(entry.component(), entry.component().as_str());
        assert!(text.len() >= entry.arguments().iter().map(String::len).sum());
    }
    for unit in [Unit::Bytes, Unit::Milliseconds, Unit::Count] {
        if let Some(amount) = unit.parse(text) {
            assert!(amount > 0);
            assert_eq!(unit.parse(&amount.to_string()), Some(amount));
        }
    }
}

fn check_path(path: &PackagePath, text: &str) {
    assert_eq!(path.as_str(), text);
    let parts: Vec<&str> = path.components().collect();
    assert_eq!(parts.join("/"), text);
    assert!(
        !parts.iter().any(|part| matches!(*part, "" | "." | "..") || part.len() > PackagePath::COMPONENT_BYTES_MAX)
    );
    assert!(parts.len() <= PackagePath::COMPONENTS_MAX && text.len() <= PackagePath::BYTES_MAX);
    assert!(path.overlaps(path));
    // Nothing in it means something else to a system.
    assert!(!text.starts_with('/') && !text.contains(['\\', ':', '\0']) && !text.contains(char::is_control));
}

//! Arguments of a call, judged by three descriptions: what is judged by a part of a description is what the whole says, the gate and the
//! contract mean the same command, what is suggested mends what it was suggested for, and a laxer guard refuses nothing more.
//!
//! The first byte picks the description, the others are words, one a line.
#![no_main]

use hutch_fuzz::within;
use hutch_model::contract::{self, Contract, KeptContract};
use hutch_model::gate::Gate;
use hutch_model::guard;
use hutch_model::manifest::{self, Guard, Manifest};
use std::sync::LazyLock;

/// A description, and what is kept of it.
struct Described {
    contract: Contract,
    kept: KeptContract,
}

static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
    let (manifest, problems) = manifest::parse(include_str!("../../../packages/todo/APP.md"), "APP.md");
    manifest.unwrap_or_else(|| panic!("{problems:?}"))
});

static DESCRIBED: LazyLock<[Described; 3]> = LazyLock::new(|| {
    let texts = [
        include_str!("../../../packages/todo/schemas/commands.json"),
        include_str!("../../manifests/good.commands.json"),
        include_str!("../../manifests/constraints.commands.json"),
    ];
    texts.map(|text| {
        let (file, problems) = contract::parse(text, "commands.json");
        let contract = file.unwrap_or_else(|| panic!("{problems:?}")).contract().clone();
        let kept = KeptContract::of(&contract).unwrap_or_else(|| panic!("a description that can't be kept"));
        Described { contract, kept }
    })
});

/// The most violations that are listed of what is there; what is missing is listed beside them.
const VIOLATIONS_MAX: usize = 100;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, words)) = bytes.split_first() else { return };
    let Ok(words) = std::str::from_utf8(words) else { return };
    let at = usize::from(*first) % DESCRIBED.len();
    let words: Vec<String> = words.split('\n').map(str::to_owned).collect();
    let manifest = (at == 0).then_some(&*MANIFEST);
    within((16 << 20) + 1000 * bytes.len(), || judge(&DESCRIBED[at], manifest, &words));
});

fn judge(described: &Described, manifest: Option<&Manifest>, words: &[String]) {
    let contract = &described.contract;
    let read = contract.read_arguments(words);
    let parameters = read.command.map_or(0, |command| command.parameters.len()) + contract.parameters.len();
    assert!(read.violations.len() <= VIOLATIONS_MAX + parameters, "{} violations", read.violations.len());
    for violation in &read.violations {
        assert!(violation.index.is_none_or(|index| index < words.len()), "{violation:?}");
        assert!(!violation.message.contains(char::is_control), "{violation:?} acts on a terminal");
        if let (Some(index), Some(instead)) = (violation.index, &violation.instead) {
            let mut mended = words.to_vec();
            mended[index].clone_from(instead);
            let again = contract.read_arguments(&mended).violations;
            let same = |other: &contract::ArgumentViolation| other.index == Some(index) && other.kind == violation.kind;
            assert!(!again.iter().any(same), "{violation:?} is not mended: {again:?}");
        }
    }

    // As much of the description as the words may mean.
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let part = described.kept.judging_call(&texts).unwrap_or_else(|| panic!("what is kept can't be read"));
    let of_part = part.read_arguments(words);
    assert_eq!(of_part.command.map(|command| &command.name), read.command.map(|command| &command.name));
    if read.command.is_some() {
        assert_eq!(of_part.violations, read.violations);
        assert_eq!((of_part.shaped, of_part.for_people), (read.shaped, read.for_people));
    }

    let name = read.command.map(|command| command.name.as_str());
    let guarded = |policy| guard::check(words, policy, Some(contract), name);
    assert_eq!(guarded(Guard::Off), Ok(()));
    for violation in [guarded(Guard::Strict).err(), guarded(Guard::Text).err()].into_iter().flatten() {
        assert!(violation.index < words.len());
    }
    assert!(
        guarded(Guard::Strict).is_err() || guarded(Guard::Text).is_ok(),
        "text is refused what is strictly allowed"
    );

    if let (Some(manifest), Some(command)) = (manifest, read.command)
        && read.violations.is_empty()
        && read.about.is_none()
    {
        let decision = Gate::new(manifest, Some(contract)).decide(words);
        assert!(!command.confirmation_required || decision.confirmation.is_some(), "{} needs nobody", command.name);
        let certain = decision.command.as_ref().map(|certain| certain.as_str());
        assert!(certain.is_none_or(|certain| certain == command.name), "{certain:?} and {:?}", command.name);
    }
}

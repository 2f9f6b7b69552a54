//! Laws of the readers over any input at all: no panic, every place inside the file, a bounded list of problems, and the
//! same answer twice.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

use hutch_model::diagnostic::{Code, Diagnostic};
use hutch_model::names::SkillName;
use hutch_model::{command_line, contract, front_matter, gate, guard, manifest, skill};
use proptest::prelude::*;

fn assert_inside(text: &str, diagnostics: &[Diagnostic]) -> Result<(), TestCaseError> {
    let lines: Vec<usize> = text.split('\n').map(|line| line.chars().count()).collect();
    prop_assert!(diagnostics.len() <= 201);
    for d in diagnostics {
        let last = lines.get(d.line as usize - 1);
        prop_assert!(last.is_some_and(|last| (1..=last + 1).contains(&(d.column as usize))), "{d:?} in {text:?}");
        prop_assert!(d.message.len() < 1000 && !d.message.contains('\n') && !d.message.ends_with('.'), "{d:?}");
    }
    Ok(())
}

fn read_everything(text: &str) -> Result<(), TestCaseError> {
    let (read, found) = manifest::parse(text, "APP.md");
    prop_assert_eq!(read.is_none(), found.iter().any(Diagnostic::is_error));
    assert_inside(text, &found)?;
    prop_assert_eq!(&manifest::parse(text, "APP.md").1, &found);
    if let Some(read) = read {
        prop_assert!(text.ends_with(read.body()));
        let decision = gate::Gate::new(&read, None).decide(&[text.to_owned()]);
        prop_assert!(decision.command.is_none_or(|command| read.commands().contains(&command)));
    }
    let (read, found) = skill::parse(text, "SKILL.md", &SkillName::parse("x").unwrap());
    prop_assert_eq!(read.is_none(), found.iter().any(Diagnostic::is_error));
    assert_inside(text, &found)?;
    let (read, found) = contract::parse(text, "commands.json");
    // One of another kind is none, and that is all that is said of it.
    let foreign = found.iter().any(|problem| problem.code == Code::ContractForeign);
    prop_assert_eq!(read.is_none(), foreign || found.iter().any(Diagnostic::is_error));
    prop_assert!(!foreign || found.len() == 1, "{found:?}");
    assert_inside(text, &found)?;
    let _ = command_line::EntryCommand::parse(text);
    let _ = guard::check(&[text.to_owned()], manifest::Guard::Strict, None, None);
    Ok(())
}

/// Pieces that YAML, JSON and our fields give a meaning to.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "name",
        "version",
        "entry",
        "command",
        "commands",
        "skills",
        "metadata",
        "hutch",
        "state",
        "limits",
        "schema",
        ": ",
        ":",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "\"",
        "'",
        "|",
        ">-",
        "#",
        "&a",
        "*a",
        "!t ",
        "!!str ",
        "<<",
        "? ",
        "~",
        "true",
        "1.0",
        "0x",
        "---",
        "---\n",
        "...",
        "%YAML",
        "\t",
        "\r\n",
        "\u{feff}",
        "é",
        "日",
        "🎉",
        "\\u0000",
        "\\",
        "wasm:a.wasm",
        "@",
        "`",
        "null",
        "1e999",
        "\u{2028}",
        "\u{85}",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        read_everything(&text)?;
    }

    #[test]
    fn any_front_matter(front in fragments(), body in ".{0,20}") {
        read_everything(&format!("---\n{front}\n---\n{body}"))?;
    }

    #[test]
    fn any_json(text in fragments()) {
        read_everything(&format!("{{\"schema\": \"hutch/commands@0.1\", \"name\": {text}}}"))?;
    }

    #[test]
    fn a_damaged_manifest(at in any::<prop::sample::Index>(), length in 0_usize..20, with in fragments(), case in any::<prop::sample::Index>()) {
        let cases = ["complete", "many-problems", "hutch-limits", "quoted-and-folded"];
        let folder = "../../tests/manifests/";
        let text = std::fs::read_to_string(format!("{folder}{}.md", cases[case.index(cases.len())])).unwrap();
        let chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        let damaged: String = chars[..at].iter().collect::<String>() + &with + &chars[(at + length).min(chars.len())..].iter().collect::<String>();
        read_everything(&damaged)?;
    }

    #[test]
    fn a_damaged_contract(at in any::<prop::sample::Index>(), length in 0_usize..20, with in fragments()) {
        let text = include_str!("../../../tests/manifests/good.commands.json");
        let chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        let damaged: String = chars[..at].iter().collect::<String>() + &with + &chars[(at + length).min(chars.len())..].iter().collect::<String>();
        read_everything(&damaged)?;
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        match front_matter::decode(&bytes, "APP.md") {
            Ok(text) => read_everything(text)?,
            Err(found) => {
                let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
                prop_assert!(found.line as usize <= lines.len());
                prop_assert!(found.column as usize <= lines[found.line as usize - 1].len() + 1);
            }
        }
    }
}

//! `--sanitize` and `--redact` hold wherever something that a guest wrote comes out, however it is written.

use crate::support::{Machine, probe, todo};

const MAIL: &str = "bob@example.org";
const FLAGS: [&str; 2] = ["--sanitize", "--redact"];

/// Texts with a mail address and a turned direction in them, raw or escaped.
fn texts() -> Vec<String> {
    let escaped = r#""\u202e mail bob\u0040example.org\u009b""#;
    let raw = format!("\"\u{202e} mail {MAIL}\u{9b}\"");
    let mut texts = Vec::new();
    for text in [escaped, &raw] {
        for depth in [0, 1, 127, 128, 5000] {
            texts.push(format!("{}{text}{}", "[".repeat(depth), "]".repeat(depth)));
        }
        texts.push(format!("{{{text}:{{\"a\":[{text}]}}}}"));
        texts.push(format!("{text}\n{text}\n"));
        texts.push(format!("{{\"cut\":{text}"));
        texts.push(format!("not JSON: {text}"));
        texts.push(serde_json::Value::from(format!("[{text}]")).to_string());
    }
    texts
}

#[track_caller]
fn assert_clean(text: &str, told: &str) {
    let mut text = text.to_owned();
    // Also not in what a reader of JSON makes of it, and of the JSON in that.
    for _ in 0..4 {
        assert!(!text.contains(MAIL), "{told}: {text}");
        assert!(!text.contains(['\u{202e}', '\u{9b}']), "{told}: {text:?}");
        text = text
            .replace(r"\\", r"\")
            .replace(r"\u0040", "@")
            .replace(r"\u202e", "\u{202e}")
            .replace(r"\u009b", "\u{9b}");
    }
}

#[test]
fn nothing_that_a_guest_prints_comes_out_unclean() {
    let machine = Machine::new();
    let probe = probe();
    for text in texts() {
        let shown: String = text.chars().filter(|letter| !"[]".contains(*letter)).take(60).collect();
        let call = |flags: &[&str], verb: &str| {
            machine.run([&[verb], &FLAGS[..], flags, &["--stdin-text", &text, &probe, "stdin-echo"]].concat())
        };
        for (flags, verb) in [
            (&[][..], "run"),
            (&["--human"], "run"),
            (&["--contract", "any"], "run"),
            (&["--contract", "any", "--envelope"], "run"),
            (&["--contract", "any", "--envelope", "--human"], "run"),
            (&["--contract", "any", "--query", "stdout"], "run"),
            (&["--contract", "any", "--query", "stdout", "--human"], "run"),
            (&[], "plan"),
            (&["--human"], "plan"),
            (&["--contract", "any"], "plan"),
            (&["--contract", "any", "--human"], "plan"),
        ] {
            let ran = call(flags, verb);
            assert_clean(&ran.stdout, &format!("{verb} {flags:?} {shown}"));
            assert_clean(&ran.stderr, &format!("{verb} {flags:?} {shown}"));
            assert!(ran.stdout.len() + ran.stderr.len() > 20, "{ran:?}");
        }
        for flags in [&[][..], &["--human"], &["--query", "stdout"]] {
            let ran = machine.run([&["ledger", "show"], &FLAGS[..], flags, &[&probe]].concat());
            assert_eq!(ran.status, 0);
            assert_clean(&ran.stdout, &format!("ledger show {flags:?} {shown}"));
        }
    }
}

#[test]
fn neither_do_errors_names_and_remarks() {
    let machine = Machine::new();
    let (probe, todo) = (probe(), todo());
    let wild = format!("\u{202e}{MAIL}");
    for words in [
        &["run", "--guard", "off", &probe, "write-then-trap", &format!("state/{wild}")][..],
        &["run", "--guard", "off", &probe, "write-text", &format!("state/{wild}"), &wild],
        &["plan", "--guard", "off", &probe, "write-text", "state/x", &wild],
        &["plan", "--human", "--guard", "off", &probe, "remove", &format!("state/{wild}")],
        &["run", "--envelope", "--guard", "off", &probe, "read-file", &format!("state/{wild}")],
        &["plan", "--guard", "off", &probe, "read-file", &format!("state/{wild}-missing")],
        &["plan", "--human", "--guard", "off", &probe, "read-file", &format!("state/{wild}-missing")],
        &["run", "--guard", "off", &probe, "panic", &wild],
        &["run", "--human", "--guard", "off", &todo, &wild],
        &["run", "--guard", "off", &todo, "ad", MAIL],
        &["run", "--human", "--guard", "off", &todo, "ad", MAIL],
        &["run", &wild, "x"],
        &["state", "cat", &probe, "state"],
        &["state", "cat", "--human", &probe, "state"],
        &["undo", "--dry-run", "--human", &probe],
        &["ledger", "list", "--human", &probe],
        &["ledger", "list", "--bytes", &probe],
        &["ledger", "list", "--bytes", "--human", &probe],
        &["catalog", "--human", &wild],
    ] {
        let ran = machine
            .run([words, &[][..]].concat().iter().take(1).copied().chain(FLAGS).chain(words[1..].iter().copied()));
        assert_clean(&ran.stdout, &format!("{words:?}"));
        assert_clean(&ran.stderr, &format!("{words:?}"));
    }
    // Bytes that a hash is of are not changed in silence.
    machine.run(["ledger", "list", "--bytes", "--ndjson", "--redact", &probe]).fault("USAGE", 2);
}

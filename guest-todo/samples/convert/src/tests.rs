//! The application as its callers see it. Paths are those of the package, as in a run of the host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use hutch_guest::testing::Harness;
use serde_json::{Value, json};

use super::*;

fn convert() -> Harness<()> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/convert")).unwrap();
    Harness::new(&CONVERT)
}

/// The text that a document is shown as.
fn shown(file: &str, form: &str) -> String {
    convert().ok(&["show", file, "--as", form])["items"][0]["text"].as_str().unwrap().to_owned()
}

/// The same of a document that is made for it.
fn made(name: &str, content: &[u8], args: &[&str]) -> Value {
    let file = std::env::temp_dir().join(format!("hutch-convert-{}-{name}", std::process::id()));
    std::fs::write(&file, content).unwrap();
    let (command, rest) = args.split_first().unwrap();
    let reply = convert().call(&[&[*command, file.to_str().unwrap()], rest].concat(), std::io::empty());
    std::fs::remove_file(&file).unwrap();
    serde_json::from_str(&reply.stdout).unwrap()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    convert().contract("schemas/commands.json");
}

#[test]
fn every_example_ends_as_it_says() {
    convert().examples();
}

#[test]
fn a_sheet_comes_out_in_every_form() {
    let csv = "Day,What,Amount\n2026-04-01,Rent,1200\n2026-04-03,\"Paint, white | 2 tins\",49.9\n2026-04-04,Coffee,\n";
    assert_eq!(shown("samples/budget.xlsx", "csv"), csv);
    let table = shown("samples/budget.xlsx", "markdown");
    assert!(table.starts_with("| Day | What | Amount |\n|---|---|---|\n| 2026-04-01 | Rent | 1200 |\n"), "{table}");
    assert!(table.contains(r"Paint, white \| 2 tins"), "{table}");
    let page = shown("samples/budget.xlsx", "html");
    assert!(page.contains("<td>Paint, white | 2 tins</td><td>49.9</td>"), "{page}");
    assert_eq!(shown("samples/stock.ods", "csv"), "Part,Left\nScrew,1200\nNut,7\n");
    let notes = convert().ok(&["show", "samples/budget.xlsx", "--as", "html", "--sheet", "Notes"]);
    assert!(notes["items"][0]["text"].as_str().unwrap().contains("&lt;b&gt;Looks good"), "{notes}");
}

#[test]
fn what_a_stranger_wrote_is_shown_and_never_run() {
    let page = shown("samples/letter.md", "html");
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("<a href=\"#\">this</a>"),
        "{page}"
    );
    assert!(page.contains("<a href=\"https://example.org/march\">March</a>"), "{page}");
    for address in
        ["javascript:x", "JavaScript:x", "data:text/html,x", "vbscript:x", "&#106;avascript:x", "java\tscript:x"]
    {
        for link in [
            format!("[a]({address})"),
            format!("![a]({address})"),
            format!("[a][b]\n\n[b]: {address}"),
            format!("<{address}>"),
        ] {
            let page =
                made("link", link.as_bytes(), &["show", "--as", "html"])["items"][0]["text"].to_string().to_lowercase();
            for attribute in ["href=\\\"", "src=\\\""] {
                let targets = page.split(attribute).skip(1);
                targets.for_each(|target| {
                    assert!(target.starts_with(['#', '&', 'j']) && !target.starts_with("javascript"), "{link}: {page}")
                });
            }
        }
    }
    for address in ["/a:b", "#a", "?a:b", "b.html", "mailto:a@example.org"] {
        let page = made("good", format!("[a]({address})").as_bytes(), &["show", "--as", "html"]);
        assert!(page.to_string().contains(&format!("href=\\\"{address}\\\"")), "{page}");
    }
}

#[test]
fn a_text_and_a_spreadsheet_are_told_apart_by_what_they_hold() {
    let all = convert().ok(&["show", "samples/budget.xlsx", "--fields", "file,sheet,as,bytes"]);
    let sheet =
        |name: &str, bytes: u64| json!({"file": "samples/budget.xlsx", "sheet": name, "as": "html", "bytes": bytes});
    assert_eq!(all["items"], json!([sheet("Costs", 276), sheet("Notes", 141)]));
    let second = convert().ok(&["show", "samples/budget.xlsx", "--limit", "1", "--offset", "1"]);
    assert_eq!((&second["items"][0]["sheet"], &second["total"]), (&json!("Notes"), &json!(2)));
    let letter = convert().ok(&["show", "samples/letter.md"]);
    assert_eq!((&letter["items"][0]["sheet"], &letter["count"]), (&Value::Null, &json!(1)));
    for (args, code) in [
        (&["show", "samples/letter.md", "--sheet", "Costs"][..], "SHEET_NOT_FOUND"),
        (&["show", "samples/letter.md", "--as", "csv"], "INVALID_VALUE"),
        (&["show", "samples/stock.ods", "--sheet", "Costs"], "SHEET_NOT_FOUND"),
    ] {
        assert_eq!(convert().refused(args)["code"], code, "{args:?}");
    }
}

#[test]
fn a_broken_document_is_told_and_leaves_nothing() {
    let book =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/convert/samples/budget.xlsx")).unwrap();
    for (name, broken) in [
        ("cut", &book[..book.len() / 2]),
        ("zip", b"PK\x03\x04nothing"),
        ("ole", b"\xd0\xcf\x11\xe0\xa1\xb1"),
        ("bytes", b"\xff\xfe"),
    ] {
        let answer = made(name, broken, &["write", "--as", "html", "--to", "x.html"]);
        assert_eq!(answer["error"]["code"], "DOCUMENT_INVALID", "{name}: {answer}");
    }
    // Any byte of it may be another one: it is read, or refused with a code.
    for place in (0..book.len()).step_by(7) {
        let mut changed = book.clone();
        changed[place] ^= 0x55;
        let answer = made("changed", &changed, &["show", "--as", "csv"]);
        assert!(answer["ok"] == true || answer["error"]["code"] != "INTERNAL_ERROR", "{place}: {answer}");
    }
}

#[test]
fn a_cell_in_a_far_corner_is_told_before_there_is_memory_for_it() {
    let far = include_bytes!("../../../../tests/cli/samples/far.xlsx");
    for args in [&["show"][..], &["write", "--to", "far.html"]] {
        let answer = made("far", far, args);
        assert_eq!(answer["error"]["code"], "SHEET_TOO_LARGE", "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("17179869184 cells"), "{answer}");
    }
}

#[test]
fn of_a_document_without_sheets_nothing_is_shown_or_written() {
    let empty = include_bytes!("../../../../tests/cli/samples/empty.ods");
    for args in [&["show"][..], &["write", "--to", "empty.html"]] {
        let answer = made("empty", empty, args);
        assert_eq!(answer["error"]["code"], "SHEET_NOT_FOUND", "{answer}");
    }
}

#[test]
fn the_sheets_of_a_document_are_a_batch() {
    let convert = convert();
    let sheets = convert.ok(&["show", "samples/budget.xlsx", "--as", "markdown"]).to_string();
    let reply = convert.call(&["write", "--json-input"], sheets.as_bytes());
    assert_eq!(reply.exit_status, 0, "{}", reply.stdout);
    assert!(convert.file("budget-Costs.markdown").unwrap().starts_with(b"| Day |"));
    assert!(convert.file("budget-Notes.markdown").is_some());
    // What has no plain name needs one.
    let unnamed = made("Übersicht", b"# Hi", &["write"]);
    assert_eq!(unnamed["error"]["code"], "INVALID_VALUE", "{unnamed}");
}

#[test]
fn a_file_is_written_with_what_would_be_shown() {
    let convert = convert();
    let args = ["write", "samples/budget.xlsx", "--as", "csv", "--to", "costs.csv"];
    convert.ok(&[&args[..], &["--dry-run"]].concat());
    assert_eq!(convert.file("costs.csv"), None);
    let written = convert.ok(&args);
    assert_eq!(
        written["items"][0],
        json!({"file": "state/costs.csv", "sheet": "Costs", "as": "csv", "bytes": 96, "text": null})
    );
    assert_eq!(convert.file("costs.csv").unwrap(), shown("samples/budget.xlsx", "csv").as_bytes());
    assert_eq!(
        convert.refused(&["write", "samples/letter.md", "--as", "html", "--to", "../x"])["code"],
        "INVALID_VALUE"
    );
}

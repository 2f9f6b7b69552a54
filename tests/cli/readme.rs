//! What the documents say is so: their commands are run and print what is shown, their tables are those of the code, and what they
//! point to exists.
//!
//! A `console` block is a session: a line that begins with `$ ` is a command, what follows up to the next one is all that it
//! prints, standard error included. `…` in a line stands for any text, and a line of only `…` for any lines. A command fails if an error
//! is shown for it, and else it must not. A `sh` block is run as a script that must succeed. All blocks of a document are run in order in one folder, where the folders of the repository are
//! seen, with a home of their own and the built program on PATH. `cargo run --release -- …` is the built program; other cargo
//! commands would take minutes, so they are held to a list of those that `.ci/run` or this file vouches for.

#[cfg(unix)]
use crate::edge::hutch_edge;
use crate::support::package::{copy_folder, probe_that_ends_soon};
use crate::support::{HUTCH, Machine, artifacts, repository};
use hutch_model::error_code::ErrorCode;
use hutch_model::guard::forms;
use hutch_model::limits::{Limit, Unit};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const DOCUMENTS: [&str; 16] = [
    "README.md",
    "host/README.md",
    "AGENTS.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "host/docs/using.md",
    "host/docs/limits.md",
    "host/docs/packages.md",
    "host/docs/proofs.md",
    "host/docs/world.md",
    "host/docs/registry.md",
    "host/docs/servers.md",
    "host/docs/fleets.md",
    "host/docs/elsewhere.md",
    "host/docs/decisions.md",
    "host/docs/figures.md",
];

fn text(document: &str) -> String {
    std::fs::read_to_string(repository().join(document)).unwrap()
}

/// Fenced blocks: language, first line's number, text.
fn blocks(document: &str) -> Vec<(String, usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, usize, String)> = None;
    for (number, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => open = Some((language.to_owned(), number + 2, String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, _, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// A command and what it prints.
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

impl Step {
    /// Whether an error is shown for it: the program's own, or an application's.
    fn is_said_to_fail(&self) -> bool {
        let told = [r#"{"error":"#, r#"{"ok":false"#, "error: "];
        self.expected.iter().any(|line| told.iter().any(|told| line.starts_with(told)))
    }
}

/// What each step printed, and how it ended; then what followed the last.
fn endings(printed: &str) -> (Vec<(&str, i32)>, &str) {
    let (mut ended, mut rest) = (Vec::new(), printed);
    while let Some((step, after)) = rest.split_once(&format!("{MARK} ")) {
        let (status, after) = after.split_once('\n').expect("a status ends its line");
        ended.push((step, status.parse().expect("a status")));
        rest = after;
    }
    (ended, rest)
}

#[test]
fn a_step_that_fails_unsaid_is_noticed() {
    let printed = format!("a\n{MARK} 0\nb{MARK} 20\n");
    assert_eq!(endings(&printed), (vec![("a\n", 0), ("b", 20)], ""));
    let said = |expected: &str| Step { line: 1, command: String::new(), expected: vec![expected.to_owned()] };
    for (expected, fails) in
        [("…", false), ("0", false), (r#"{"error":true,…}"#, true), (r#"{"ok":false,…}"#, true), ("error: x", true)]
    {
        assert_eq!(said(expected).is_said_to_fail(), fails, "{expected}");
    }
}

fn steps(language: &str, first_line: usize, text: &str) -> Vec<Step> {
    if language == "sh" {
        return vec![Step {
            line: first_line,
            command: format!("set -e\n{text}set +e\n"),
            expected: vec!["…".to_owned()],
        }];
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut continued = false;
    for (number, line) in text.lines().enumerate() {
        if let (Some(step), true) = (steps.last_mut(), continued) {
            step.command.push_str(line);
            step.command.push('\n');
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: first_line + number, command: format!("{command}\n"), expected: Vec::new() });
        } else {
            let step = steps.last_mut().expect("a console block begins with a command");
            step.expected.push(line.to_owned());
            continue;
        }
        continued = line.ends_with('\\');
    }
    steps
}

const MARK: &str = "--- end of a step ---";

/// What is not run in a session, and what it prints: it starts 3,000 programs, and `tests/certify/cli.rs` holds it to the same.
const HELD_ELSEWHERE: (&str, &str) = ("hutch certify --query level --self\n", "echo '\"agent-native\"'\n");

/// What cargo is in a session.
const PRELUDE: &str = r#"
cargo() {
    case "$*" in
    "run --release -- "*) shift 3; hutch "$@" ;;
    "test --release --workspace" | "build --release" | "install --locked --path host/cli" | \
        "install --locked --path host/edge") ;;
    *) echo "not vouched for: cargo $*"; return 1 ;;
    esac
}
git() { echo "not vouched for: git $*"; return 1; }
"#;

fn run(document: &str) {
    hutch_edge();
    let text = text(document);
    let steps: Vec<Step> = blocks(&text)
        .into_iter()
        .filter(|(language, ..)| language == "console" || language == "sh")
        .flat_map(|(language, line, text)| steps(&language, line, &text))
        .collect();
    let machine = Machine::new();
    // A lock's paths begin at its folder, whatever links lead there.
    copy_folder(&repository().join("packages"), &machine.path("packages"));
    probe_that_ends_soon(&machine);
    for folder in ["guest-todo", "wit", "host"] {
        #[cfg(unix)]
        std::os::unix::fs::symlink(repository().join(folder), machine.path(folder)).unwrap();
    }
    let mut script = PRELUDE.to_owned();
    for step in &steps {
        let command = if step.command == HELD_ELSEWHERE.0 { HELD_ELSEWHERE.1 } else { &step.command };
        // The status is handed on, so that a later `echo $?` shows it.
        script.push_str(&format!("{command}status=$?; printf '%s %s\\n' '{MARK}' $status; (exit $status)\n"));
    }
    // What a page calls is compiled once for all tests: with a key of its own each would compile it again.
    artifacts::keep_key(&machine.home());
    let program = Path::new(HUTCH).parent().unwrap().display().to_string();
    let output = Command::new("/bin/sh")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(machine.path(""))
        .env_clear()
        .env("PATH", format!("{program}:/usr/bin:/bin"))
        .env("HOME", machine.path("person"))
        .env("XDG_CACHE_HOME", artifacts::CACHE)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let (ended, rest) = endings(&printed);
    assert_eq!((ended.len(), rest), (steps.len(), ""), "{document}: a step ended the session");
    for (step, (printed, status)) in steps.iter().zip(ended) {
        let lines: Vec<&str> = printed.lines().collect();
        assert!(
            step.is_said_to_fail() != (status == 0),
            "{document}:{}: {}\nends with {status}\n{printed}",
            step.line,
            step.command
        );
        assert!(
            matches(&step.expected, &lines),
            "{document}:{}: {}\nis said to print\n{}\nand prints\n{printed}",
            step.line,
            step.command,
            step.expected.join("\n"),
        );
    }
}

/// Whether lines are as shown.
fn matches(expected: &[String], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "…" => (0..=lines.len()).any(|skipped| matches(rest, &lines[skipped..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, more)| line_matches(first, line) && matches(rest, more))
        }
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        None => expected == line,
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|after| {
            after.char_indices().map(|(at, _)| at).chain([after.len()]).any(|at| line_matches(rest, &after[at..]))
        }),
    }
}

#[test]
fn the_rule_for_what_is_shown() {
    for (expected, line, same) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a…", "abc", true),
        ("a…c", "abbc", true),
        ("a…c", "abbd", false),
        ("…", "", true),
        ("a…b…c", "a1b2b3c", true),
    ] {
        assert_eq!(line_matches(expected, line), same, "{expected} {line}");
    }
    assert!(matches(&["a".into(), "…".into(), "b".into()], &["a", "x", "y", "b"]));
    assert!(!matches(&["a".into(), "…".into()], &["b"]));
    assert!(!matches(&[], &["x"]), "what is not shown is not printed");
}

#[cfg(unix)]
#[test]
fn the_readme() {
    run("README.md");
}

/// It is a first page: what is not for everybody's first minutes stands in `host/docs`.
#[test]
fn the_readme_is_short() {
    let length = text("README.md").len();
    assert!(length <= 10_000, "{length}");
}

#[cfg(unix)]
#[test]
fn the_page_for_builders() {
    run("host/README.md");
}

#[cfg(unix)]
#[test]
fn the_page_for_agents() {
    run("AGENTS.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_using() {
    run("host/docs/using.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_limits() {
    run("host/docs/limits.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_packages() {
    run("host/docs/packages.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_proofs() {
    run("host/docs/proofs.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_registries() {
    run("host/docs/registry.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_servers() {
    run("host/docs/servers.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_fleets() {
    run("host/docs/fleets.md");
}

#[cfg(unix)]
#[test]
fn the_page_about_other_hosts() {
    run("host/docs/elsewhere.md");
}

#[test]
fn every_block_is_of_a_kind_that_is_known() {
    for document in DOCUMENTS {
        let text = text(document);
        for (language, line, _) in blocks(&text) {
            // `js`: run by tests/tab/readme.test.mjs; `bash` and `python`: by tests/fleet/run; `c`, `python` and `js`: by tests/capi/run;
            // `shell` and `sql`: by tests/postgres/run and tests/bucket/run.
            let known = [
                "console", "sh", "text", "json", "yaml", "toml", "rust", "markdown", "js", "bash", "python", "c",
                "shell", "sql",
            ];
            assert!(known.contains(&language.as_str()), "{document}:{line}: {language:?}");
        }
    }
}

/// `tests/capi/run` runs it.
#[test]
fn the_example_in_rust_is_one_of_the_library() {
    let text = text("host/docs/elsewhere.md");
    let example = std::fs::read_to_string(repository().join("host/hutch/examples/embed.rs")).unwrap();
    let shown: Vec<String> =
        blocks(&text).into_iter().filter(|(language, ..)| language == "rust").map(|block| block.2).collect();
    let [shown] = &shown[..] else { panic!("{shown:?}") };
    assert!(example.trim_end().ends_with(shown.trim_end()), "{shown}");
    assert!(shown.lines().count() <= 20);
}

#[test]
fn the_two_commands_are_those_of_the_ci() {
    let readme = text("README.md");
    let ci = std::fs::read_to_string(repository().join(".ci/run")).unwrap();
    let (main_job, tests) =
        ("cargo run --release -- run packages/todo add \"Write docs\"", "cargo test --release --workspace");
    assert!(readme.lines().any(|line| line == format!("$ {main_job}")), "README.md shows {main_job}");
    assert!(readme.lines().any(|line| line == tests), "README.md shows {tests}");
    let kept = format!("keep=$log step env HUTCH_TEST_ENDS=\"$ends\" {tests}");
    assert!(ci.lines().any(|line| line == kept), ".ci/run does {tests} and keeps what it says");
}

/// The name by which a heading is linked to: small letters, and no marks.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|letter| letter.is_alphanumeric() || *letter == '-').collect()
}

#[test]
fn links_lead_somewhere() {
    for document in DOCUMENTS {
        let path = repository().join(document);
        for target in text(document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let led = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(led.exists(), "{document} links to {file}");
            if !heading.is_empty() {
                let page = std::fs::read_to_string(&led).unwrap();
                let headings = page.lines().filter(|line| line.starts_with('#'));
                let found = headings.map(|line| anchor(line.trim_start_matches('#'))).any(|anchor| anchor == heading);
                assert!(found, "{document} links to {target}");
            }
        }
    }
}

#[test]
fn what_is_said_to_hold_a_promise_is_there() {
    let mut named = 0;
    for document in ["SECURITY.md", "host/README.md", "host/docs/decisions.md", "host/docs/figures.md"] {
        let text = text(document);
        let spans = text.split('`').skip(1).step_by(2).filter(|span| !span.contains([' ', '\n']));
        for path in spans.filter(|span| span.starts_with("tests/") || span.starts_with("host/")) {
            assert!(repository().join(path).exists(), "{document} names {path}");
            named += 1;
        }
    }
    assert!(named > 100, "{named}");
}

/// Holds a table of the page about limits to one made from the code.
fn assert_table(table: &str) {
    let page = "host/docs/limits.md";
    assert!(text(page).contains(table), "{page} holds another table than this:\n{table}");
}

fn amount(unit: Unit, value: u64) -> String {
    let in_units = |units: &[(&str, u64)]| {
        let fits = units.iter().find(|(_, factor)| value >= *factor && value.is_multiple_of(*factor));
        fits.map(|(name, factor)| format!("{}{name}", value / factor))
    };
    let text = match unit {
        Unit::Bytes => in_units(&[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]),
        Unit::Milliseconds => in_units(&[("min", 60_000), ("s", 1_000)]),
        Unit::Count => None,
    };
    text.unwrap_or_else(|| value.to_string())
}

#[test]
fn the_table_of_limits() {
    let mut table = "| limit | default | most a package gets | exit | counts |\n|---|---|---|---|---|\n".to_owned();
    for limit in Limit::ALL {
        let info = limit.info();
        let (default, most) = (amount(limit.unit(), info.default), amount(limit.unit(), info.ceiling));
        let (status, counts) = (info.code.exit_status(), info.counts);
        table.push_str(&format!("| `{}` | {default} | {most} | {status} | {counts} |\n", info.name));
    }
    assert_table(&table);
}

/// What arguments are refused for, by the tables that they are held to.
#[test]
fn the_table_of_refused_arguments() {
    let quoted = |texts: &[&str]| texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(" ");
    let tokens: Vec<String> = forms::TOKENS.iter().map(|token| format!("`{}…`", token.prefix)).collect();
    let endings: Vec<String> = forms::FILE_ENDINGS.iter().map(|ending| format!("`*{ending}`")).collect();
    let folders: Vec<String> = forms::FOLDERS.iter().map(|folder| format!("`{folder}/`")).collect();
    // In a table a bar is escaped, and what holds a backtick stands between two of them.
    let shell = forms::SHELL_SYNTAX.map(|syntax| match syntax {
        "`" => "`` ` ``".to_owned(),
        syntax => format!("`{}`", syntax.replace('|', "\\|")),
    });
    let rows = [
        (
            "credentials",
            "G2",
            format!(
                "{}, as long as their vendors make them and no words in a row; `Basic` and base64 of `name:password`, a private key in PEM, \
                 `scheme://name:password@host`",
                tokens.join(" ")
            ),
        ),
        (
            "secrets by name",
            "G2",
            format!(
                "a value behind a name that is one of these or ends in one behind `_`, `-` or with a capital: {}; or that ends in {} in any way; \
                 but for {}. No such value is a number of up to three digits, nor a path behind `{}`. \
                 As `NAME=…`, at any `=`; `--NAME …`; `\"NAME\": \"…\"`; `NAME: …`, where that is no word",
                quoted(&forms::SECRET_NAMES),
                quoted(&forms::SECRET_NAME_ENDINGS),
                quoted(&forms::PLACE_NAMES),
                forms::PWD
            ),
        ),
        (
            "files that hold secrets",
            "G3",
            format!(
                "{} {} `.env.*` {} {}, but for {}",
                endings.join(" "),
                quoted(&forms::FILES),
                folders.join(" "),
                quoted(&forms::PATHS),
                quoted(&forms::HARMLESS_FILES)
            ),
        ),
        ("shell syntax", "G8", shell.join(" ")),
        ("ways out of a folder", "S4", "`..` as a part of a path, also percent-encoded; control characters".to_owned()),
    ];
    let mut table = "| refused | rule | forms |\n|---|---|---|\n".to_owned();
    rows.iter().for_each(|(name, rule, forms)| table.push_str(&format!("| {name} | {rule} | {forms} |\n")));
    assert_table(&table);
}

#[test]
fn the_table_of_exit_statuses() {
    let mut by_status: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for code in ErrorCode::ALL {
        by_status.entry(code.exit_status()).or_default().push(format!("`{}`", code.text()));
    }
    let mut table = "| status | codes |\n|---|---|\n".to_owned();
    for (status, codes) in by_status {
        table.push_str(&format!("| {status} | {} |\n", codes.join(", ")));
    }
    assert_table(&table);
}

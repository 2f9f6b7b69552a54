//! The guard against tables of what must and must not be refused.

use super::*;
use crate::contract::{Command, Effect};
use proptest::prelude::*;

fn judged(policy: Guard, argument: &str) -> Option<&'static str> {
    check(&[argument.to_owned()], policy, None, None).err().map(|violation| violation.rule.id())
}

#[test]
fn secrets_are_refused_under_both_policies() {
    for argument in [
        "sk-abcdefghijklmnopqrstuvwxyz",
        "sk-proj-ab12cd34ef56gh78",
        "--token=ghp_0123456789abcdefghij",
        "use sk-1234567890abcdef please",
        "github_pat_11ABCDEFG0123456789_abc",
        "xoxb-123456789012-abc",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.x",
        "pk-0123456789abcdef",
        "-----BEGIN RSA PRIVATE KEY-----",
    ] {
        assert_eq!(judged(Guard::Strict, argument), Some("G2"), "{argument}");
        assert_eq!(judged(Guard::Text, argument), Some("G2"), "{argument}");
        assert_eq!(judged(Guard::Off, argument), None);
    }
    for argument in
        ["task-1234567890abcdef", "sk-learn-classification-tutorial", "sk-short", "eyJ", "AKIA", "Keyboard", "pk-1"]
    {
        assert_eq!(judged(Guard::Strict, argument), None, "{argument}");
    }
}

/// Beginnings of tokens one after the other are one run of characters, which is looked at once.
#[test]
fn a_long_argument_takes_no_longer_than_its_length() {
    for prefix in ["sk-", "sk-a-", "-sk_live_", "pk-pk-", "eyJ-"] {
        let long = prefix.repeat((1 << 20) / prefix.len());
        assert_eq!(judged(Guard::Text, &long), None, "{prefix}");
        assert_eq!(judged(Guard::Text, &format!("{long}abcdefghij0123456789")), Some("G2"), "{prefix}");
    }
    let apart = format!("{}sk-abcdefghij0123456789", "sk-.".repeat(1 << 18));
    assert_eq!(judged(Guard::Text, &apart), Some("G2"));
}

#[test]
fn every_row_of_the_tables_is_refused() {
    let secrets = (forms::TOKENS.iter().map(forms::Token::example))
        .chain(
            forms::SECRET_NAMES.iter().flat_map(|name| [format!("--{name}=x"), format!("x {}=y", name.to_uppercase())]),
        )
        .chain(
            forms::SECRET_NAME_ENDINGS
                .iter()
                .flat_map(|name| [format!("{name}=x"), format!("--db-{}=x", name.replace('_', "-"))]),
        )
        .chain(["postgres://user:pass@host/db", "see https://a:b@c", "-----BEGIN PRIVATE KEY-----"].map(str::to_owned));
    for secret in secrets {
        for policy in [Guard::Strict, Guard::Text] {
            assert_eq!(judged(policy, &secret), Some("G2"), "{secret}");
        }
    }
    let paths = (forms::FILE_ENDINGS.iter().map(|ending| format!("dir/x{ending}")))
        .chain(forms::FILES.iter().flat_map(|file| [format!("~/{file}"), format!("--file={file}")]))
        .chain(forms::FOLDERS.iter().flat_map(|folder| [format!("/home/me/{folder}/x"), format!("{folder}/x")]))
        .chain(forms::PATHS.iter().map(|path| path.replace('*', "self")))
        .chain([".env.local", "//etc//passwd", "C:\\Users\\me\\.ssh\\config"].map(str::to_owned));
    for path in paths {
        for policy in [Guard::Strict, Guard::Text] {
            assert_eq!(judged(policy, &path), Some("G3"), "{path}");
        }
    }
    for syntax in forms::SHELL_SYNTAX {
        assert_eq!(judged(Guard::Strict, &format!("a{syntax}b")), Some("G8"), "{syntax}");
        assert_eq!(judged(Guard::default(), &format!("a{syntax}b")), Some("G8"), "what holds without a word: {syntax}");
    }
}

#[test]
fn forms_within_words_are_refused_too() {
    for (argument, rule) in [
        ("dbpassword=x1", "G2"),
        ("--clientSecret=abc", "G2"),
        ("@id_rsa", "G3"),
        ("file=@.netrc", "G3"),
        ("@/etc/passwd", "G3"),
        ("@../b", "S4"),
        ("--f=@../x", "S4"),
    ] {
        assert_eq!(judged(Guard::Strict, argument), Some(rule), "{argument}");
    }
}

#[test]
fn what_only_looks_alike_passes() {
    for argument in [
        "token",
        "--token",
        "password",
        "next_page_token=abc",
        "--secret=true",
        "--password=",
        "passwords=x",
        "secretary=Ada",
        "https://host/a:b@c",
        "mailto:a@b",
        "npm_config",
        "/etc/passwd.txt",
        "/etc/hosts",
        "/proc/self/status",
        "basic questions",
    ] {
        assert_eq!(judged(Guard::Strict, argument), None, "{argument}");
    }
}

#[test]
fn a_secret_is_known_by_the_flag_before_it() {
    let contract = |boolean: bool| {
        let mut contract = described();
        contract.parameters[0].name = "token".to_owned();
        contract.parameters[0].value_type = if boolean { ValueType::Boolean } else { ValueType::String };
        contract
    };
    let judged = |words: &[&str], contract: Option<&Contract>| {
        let arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        check(&arguments, Guard::Text, contract, None).err().map(|violation| (violation.index, violation.rule.id()))
    };
    assert_eq!(judged(&["login", "--password", "hunter2"], None), Some((2, "G2")));
    assert_eq!(judged(&["--db-api-key", "x"], None), Some((1, "G2")));
    assert_eq!(judged(&["--token", "x"], Some(&contract(false))), Some((1, "G2")));
    assert_eq!(judged(&["--token", "x"], Some(&contract(true))), None, "a switch takes no value");
    assert_eq!(judged(&["--password", "-hunter2"], None), Some((1, "G2")));
    assert_eq!(judged(&["--password", "--other"], None), None);
    assert_eq!(judged(&["--password", "-v"], None), None);
    assert_eq!(judged(&["--ask-password", "bob"], None), None);
    assert_eq!(judged(&["--token", "12"], None), None, "a number");
    assert_eq!(judged(&["--pwd", "hunter2"], None), Some((1, "G2")));
    assert_eq!(judged(&["--pwd", "/home/me2"], None), None, "a folder");
    assert_eq!(judged(&["password", "hunter2"], None), None, "two bare words");
}

/// Were each word held against each parameter, this would take many minutes.
#[test]
fn many_words_of_many_parameters_are_judged_once() {
    const MANY: usize = 1 << 18;
    let mut contract = described();
    let flag = contract.parameters[0].clone();
    let named = |name: String, value_type| Parameter { name, value_type, ..flag.clone() };
    contract.parameters.extend((0..MANY).map(|at| named(format!("p{at}"), ValueType::String)));
    contract.parameters.push(named("token".to_owned(), ValueType::Boolean));
    let words = ["line;", "--token", "--p262143=a"].iter().cycle().take(3 * MANY);
    let mut arguments: Vec<String> = ["note", "add", "a"].iter().chain(words).map(|word| (*word).to_owned()).collect();
    let judged = |contract: &Contract, arguments: &[String]| {
        let found = check(arguments, Guard::Strict, Some(contract), Some("note add")).err();
        found.map(|found| (found.index, found.rule.id()))
    };
    assert_eq!(judged(&contract, &arguments), None);
    let last = arguments.len();
    arguments.push("--p262143=a;".to_owned());
    assert_eq!(judged(&contract, &arguments), Some((last, "G8")));
    // A flag of a secret that takes a value is a switch no more.
    contract.parameters.push(named("api-token".to_owned(), ValueType::String));
    arguments[3..5].clone_from_slice(&["--api-token".to_owned(), "x".to_owned()]);
    assert_eq!(judged(&contract, &arguments), Some((4, "G2")));
}

#[test]
fn a_violation_does_not_repeat_the_secret() {
    let secret = "ghp_0123456789abcdefghij";
    let violation = check(&["a".to_owned(), secret.to_owned()], Guard::Text, None, None).unwrap_err();
    assert_eq!(violation.to_string(), "argument 2 looks like a GitHub token (rule G2)");
    assert!(!format!("{violation:?}").contains(secret));
}

#[test]
fn paths_and_shell_syntax_depend_on_the_policy() {
    for (argument, strict, text) in [
        ("../x", Some("S4"), Some("S4")),
        ("a/../../etc/passwd", Some("S4"), Some("S4")),
        ("a\\..\\b", Some("S4"), Some("S4")),
        ("..", Some("S4"), Some("S4")),
        ("a/..", Some("S4"), Some("S4")),
        ("--out=../x", Some("S4"), Some("S4")),
        ("%2e%2e%2fx", Some("S4"), Some("S4")),
        ("..%2Fx", Some("S4"), Some("S4")),
        ("see ../docs for more", Some("S4"), None),
        ("wait...", None, None),
        ("a..b/c", None, None),
        ("1..3", None, None),
        ("server.pem", Some("G3"), Some("G3")),
        ("conf/.env", Some("G3"), Some("G3")),
        (".env.local", Some("G3"), Some("G3")),
        ("--key=/home/u/ID_RSA", Some("G3"), Some("G3")),
        ("~/.ssh/config", Some("G3"), Some("G3")),
        ("/etc/shadow", Some("G3"), Some("G3")),
        ("cat /etc/passwd", Some("G3"), None),
        ("'/etc/shadow-'", Some("G3"), Some("G3")),
        (".env.example", None, None),
        ("talk/presentation.key", None, None),
        (".env.production", Some("G3"), Some("G3")),
        ("id_rsa.pub", None, None),
        ("environment", None, None),
        ("the.environment", None, None),
        ("rotate server.key", Some("G3"), None),
        ("Buy milk & eggs", None, None),
        ("Buy milk && eggs", Some("G8"), None),
        ("a; b", Some("G8"), None),
        ("a | b", Some("G8"), None),
        ("$(id)", Some("G8"), None),
        ("`id`", Some("G8"), None),
        ("$5 > 4 €", None, None),
        ("a\u{1b}[2J", Some("S4"), Some("S4")),
        ("a\nb", Some("S4"), Some("S4")),
        ("a\0", Some("S4"), Some("S4")),
        ("\u{85}", Some("S4"), Some("S4")),
        ("日本 🎉", None, None),
        ("", None, None),
    ] {
        assert_eq!(judged(Guard::Strict, argument), strict, "strict {argument:?}");
        assert_eq!(judged(Guard::Text, argument), text, "text {argument:?}");
        assert_eq!(judged(Guard::Off, argument), None, "off {argument:?}");
    }
}

fn described() -> Contract {
    let parameter = |name: &str, position, free_text| Parameter {
        name: name.to_owned(),
        position,
        value_type: ValueType::String,
        required: false,
        repeated: position == Some(1),
        default: None,
        choices: Vec::new(),
        free_text,
        constraints: None,
        description: "x".to_owned(),
    };
    Contract {
        name: "x".to_owned(),
        version: "1.0.0".to_owned(),
        summary: "x".to_owned(),
        parameters: vec![parameter("config", None, false)],
        commands: vec![Command {
            name: "note add".to_owned(),
            description: "x".to_owned(),
            parameters: vec![
                parameter("id", Some(0), false),
                parameter("lines", Some(1), true),
                parameter("text", None, true),
                parameter("file", None, false),
            ],
            effect: Effect::Write,
            idempotent: false,
            confirmation_required: false,
            output_schema: serde_json::json!({}),
            errors: Vec::new(),
            examples: Vec::new(),
        }],
        errors: Vec::new(),
    }
}

#[test]
fn declared_prose_is_exempt_from_shell_rules_and_nothing_else_is() {
    let contract = described();
    let judged = |policy, words: &[&str]| {
        let arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        check(&arguments, policy, Some(&contract), Some("note add")).err().map(|v| (v.index, v.rule.id()))
    };
    for (words, strict, text) in [
        (&["note", "add", "a", "x; y"][..], None, None),
        (&["note", "add", "a", "x", "y | z"], None, None),
        (&["note", "add", "a;b", "x"], Some((2, "G8")), Some((2, "G8"))),
        (&["note", "add", "a", "--text", "x && y"], None, None),
        (&["note", "add", "a", "--text=x && y"], None, None),
        (&["note", "add", "a", "--file", "x && y"], Some((4, "G8")), Some((4, "G8"))),
        (&["note", "add", "a", "--file=x|y"], Some((3, "G8")), Some((3, "G8"))),
        (&["--config", "a`b`", "note", "add"], Some((1, "G8")), Some((1, "G8"))),
        (&["note", "add", "a", "--other", "x"], None, None),
        (&["note", "add", "a", "--other=x;y"], Some((3, "G8")), None),
        (&["note", "add", "a", "--", "--file=x|y"], None, None),
        (&["note", "add", "a", "--text", "server.key"], Some((4, "G3")), None),
        (&["note", "add", "a", "--file", "server.key"], Some((4, "G3")), Some((4, "G3"))),
        (&["note", "add", "a", "--text", "../x"], Some((4, "S4")), None),
        (&["note", "add", "a", "--text", "x\u{7}"], Some((4, "S4")), Some((4, "S4"))),
        (&["note", "add", "a", "--text", "ghp_0123456789abcdefghij"], Some((4, "G2")), Some((4, "G2"))),
    ] {
        assert_eq!(judged(Guard::Strict, words), strict, "strict {words:?}");
        assert_eq!(judged(Guard::Text, words), text, "text {words:?}");
    }
}

proptest! {
    #[test]
    fn strict_refuses_whatever_text_refuses(arguments in prop::collection::vec("[ -~\\x00-\\x1f./é]{0,12}", 0..4)) {
        let contract = described();
        for command in [None, Some("note add")] {
            if check(&arguments, Guard::Text, Some(&contract), command).is_err() {
                prop_assert!(check(&arguments, Guard::Strict, Some(&contract), command).is_err());
            }
            prop_assert_eq!(check(&arguments, Guard::Off, Some(&contract), command), Ok(()));
        }
    }

    #[test]
    fn no_control_character_passes(before in ".{0,8}", control in "[\\x00-\\x1f\\x7f]", after in ".{0,8}") {
        let argument = format!("{before}{control}{after}");
        for policy in [Guard::Strict, Guard::Text] {
            prop_assert!(check(std::slice::from_ref(&argument), policy, None, None).is_err());
        }
    }
}

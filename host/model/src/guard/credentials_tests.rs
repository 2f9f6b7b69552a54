//! What is a credential and what only looks alike, as tables; and that what was cut is gone.

use super::*;
use crate::guard::check;
use crate::manifest::Guard;
use crate::redact::Cleaning;
use proptest::prelude::*;
use serde_json::Value;

const PERSONAL: Cleaning = Cleaning { hidden: false, personal: true };

/// Each with what `--redact` leaves of it.
const FOUND: &[(&str, &str)] = &[
    ("key sk-abcdefghij0123456789x.", "key [redacted]."),
    ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789", "Authorization: Bearer [redacted]"),
    ("authorization: bearer ab12cd34ef56gh78.ij90+kl/mn==", "authorization: bearer [redacted]"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [redacted]"),
    ("AKIAIOSFODNN7EXAMPLE and more", "[redacted] and more"),
    ("hf_AbCdEfGhIjKlMnOpQrStUvWxYz12345678", "[redacted]"),
    ("pypi-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4", "[redacted]"),
    ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[redacted]"),
    ("DB_PASSWORD=hunter2hunter2", "DB_PASSWORD=[redacted]"),
    ("dbpassword=x1", "dbpassword=[redacted]"),
    ("--set=password=hunter2secret", "--set=password=[redacted]"),
    ("--env=GITHUB_TOKEN=abcdefgh", "--env=GITHUB_TOKEN=[redacted]"),
    ("GITHUB_TOKEN=abcdefghijklmnop", "GITHUB_TOKEN=[redacted]"),
    ("SECRET_KEY=x", "SECRET_KEY=[redacted]"),
    ("stripe-api-key=x y", "stripe-api-key=[redacted] y"),
    ("--clientSecret=abc", "--clientSecret=[redacted]"),
    ("spring.datasource.password=abc", "spring.datasource.password=[redacted]"),
    ("password==token=x", "password==token=[redacted]"),
    (r"A_TOKEN=[redacted]\nB_TOKEN=x", r"A_TOKEN=[redacted]\nB_TOKEN=[redacted]"),
    ("SG.x1x1x1x1x1x1x1x1.SG.y", "[redacted]"),
    ("token=x&page=2", "token=[redacted]&page=2"),
    ("https://x.example/?access_token=abc&x=1", "https://x.example/?access_token=[redacted]&x=1"),
    ("password='two words' x", "password='[redacted]' x"),
    (r#"password=\"two words\" x"#, r#"password=\"[redacted]\" x"#),
    ("password = hunter2", "password = [redacted]"),
    ("password: hunter2", "password: [redacted]"),
    ("password: \"hunter2\"", "password: \"[redacted]\""),
    ("password:hunter2", "password:[redacted]"),
    ("user: bob\npassword: hunter2\nhost: x", "user: bob\npassword: [redacted]\nhost: x"),
    (r#"{"log":"DB_PASSWORD=hunter2\nand more"}"#, r#"{"log":"DB_PASSWORD=[redacted]\nand more"}"#),
    ("use --password hunter2 there", "use --password [redacted] there"),
    (r#"{"password":"x"}"#, r#"{"password":"[redacted]"}"#),
    (r#"{"user":"bob", "apiKey" : "x y"}"#, r#"{"user":"bob", "apiKey" : "[redacted]"}"#),
    (r#"{"pin":1,"db_password":123456,"x":2}"#, r#"{"pin":1,"db_password":"[redacted]","x":2}"#),
    (r#"x {'password': 'hunter'}"#, r#"x {'password': '[redacted]'}"#),
    ("postgres://user:pass@host/db", "postgres://user:[redacted]@host/db"),
    ("postgres://user:p/w@host", "postgres://user:[redacted]@host"),
    ("postgres://user:pa=ss;w@host/db", "postgres://user:[redacted]@host/db"),
    ("redis://:pass@host", "redis://:[redacted]@host"),
    ("see https://a:b@c and ftp://d:e@f", "see https://a:[redacted]@c and ftp://d:[redacted]@f"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ", "[redacted]"),
    ("ghp_0123456789\u{200b}abcdefghijABCDEF", "[redacted]"),
    ("pass\u{200b}word=hunter", "pass\u{200b}word=[redacted]"),
    ("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", "[redacted]"),
    ("key xai-ab12cd34ef56gh78ij90kl12mn34op56qr78st90uv12wx34yz56AB12CD34EF56GH78IJ90KL12MN34.", "key [redacted]."),
    ("dapi0123456789abcdef0123456789abcdef-2", "[redacted]-2"),
    ("shpat_0123456789abcdef0123456789abcdef shpca_0123456789abcdef0123456789abcdef", "[redacted] [redacted]"),
    ("shppa_0123456789abcdef0123456789abcdef,shpss_0123456789ABCDEF0123456789ABCDEF", "[redacted],[redacted]"),
    ("dckr_pat_ab12cd34-ef56_gh78ij90kl12m", "[redacted]"),
    ("r8_ab12cd34ef56gh78ij90kl12mn34op56qr78s", "[redacted]"),
    ("lin_api_ab12cd34ef56gh78ij90kl12mn34op56qr78st90", "[redacted]"),
    ("ntn_12345678901ab12cd34ef56gh78ij90kl12mn34op56qr7", "[redacted]"),
    ("figd_ab12cd34_ef56gh78-ij90kl12mn34op56qr78st90", "[redacted]"),
    ("see https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX.", "see https://[redacted]."),
    (
        "AccountKey=ab12cd34ef56gh78ij90kl12mn34op56qr78st90+uv12wx34yz56AB12CD34/EF56GH78IJ90KL12MN34ab12==;End=x",
        "AccountKey=[redacted];End=x",
    ),
    ("SECRET_KEY_BASE=x", "SECRET_KEY_BASE=[redacted]"),
    ("PGPASSWORD=x PGPASS=y", "PGPASSWORD=[redacted] PGPASS=[redacted]"),
    ("pwd=hunter2", "pwd=[redacted]"),
    ("Server=db;Uid=sa;Pwd=hunter2", "Server=db;Uid=sa;Pwd=[redacted]"),
    ("MYSQL_PWD='two words' x", "MYSQL_PWD='[redacted]' x"),
    ("use --pwd hunter2 there", "use --pwd [redacted] there"),
    (r#"{"pwd":"hunter2","cwd":"/x"}"#, r#"{"pwd":"[redacted]","cwd":"/x"}"#),
    ("passcode=1234", "passcode=[redacted]"),
    ("door-passcode: hunter2", "door-passcode: [redacted]"),
    ("passphrase=x", "passphrase=[redacted]"),
    ("token=1234", "token=[redacted]"),
    ("password=/x1", "password=[redacted]"),
];

/// What only looks alike.
const HARMLESS: &[&str] = &[
    "Basic responsibilities of the board",
    "Basic internationalization guide",
    "Bearer internationalization-considerations",
    "ASIA-PACIFIC-REGION-2026 report",
    "ASIAPACIFICREGIONALS",
    "hf_transfer_v2_release_notes",
    "pypi-publish-workflow-v2",
    "sk-learn-classification-tutorial-2026",
    "npm_config_registry",
    "openapi_key=3",
    "--ask-password=yes",
    "--no-password=x",
    "--password=",
    "--secret=true",
    "token=[redacted]",
    "next_page_token=abc",
    "pageToken=abc",
    "max_tokens=4096",
    "passwords=x",
    "secretary=Ada",
    "password==x",
    "Password: how to choose one",
    "Secret: Santa",
    "The token: what it is",
    "what does --password do",
    "https://host/a:b@c",
    "http://localhost:3000/@vite/client",
    "https://example.org:8443/a@b",
    "mailto:a@b",
    "-----BEGIN CERTIFICATE-----",
    r#"{"token":null,"secret":true,"password":""}"#,
    r#"{"tokens":["a"],"secret":{"name":"x"},"page_token":"abc"}"#,
    r#"["password=","b"]"#,
    "task-1234567890abcdef",
    "ghcr.io/team/api-token:1.2.0-rc1",
    "Password: \"open sesame\" and other stories",
    "Buy token=1 bus ticket",
    "token=12, secret=3 and password=123",
    "--token 7 of 9",
    r#"{"token":"12","log":"token=5\nnext"}"#,
    "the api_key=404 joke",
    "pwd=/home/me",
    "PWD=/home/me/2026-report",
    "pwd=~/x1y2z3",
    "pwd=$HOME/src1",
    "pwd=./build-2",
    r"pwd=C:\Users\me2",
    "pwd: /home/me2",
    "--pwd /home/me2",
    r#"{"pwd":"/home/me1"}"#,
    "OLDPWD=/home/me",
    "PGPASSFILE=/home/me/x",
    "the passcode: ask Ann",
    "Passcode: how to choose one",
    "passcodes=2000",
    "the passphrase: four random words",
    "secret_key_base_length=6400",
    "xai-lab",
    "xai-explainability-methods-for-everyone-survey-of-the-year-2026",
    "gsk_notes",
    "gsk_annual_report_2026_and_the_year_before_that_one",
    "shpat_x",
    "shpat_0123456789abcdef",
    "shpss_settings_for_the_winter_sale_2026",
    "r8_c",
    "r8_release_notes_20260101_of_all_versions_since",
    "lin_api_reference",
    "lin_api_migration_guide_for_everyone_2026",
    "ntn_2026",
    "ntn_nations_of_the_north_in_the_years_1900_to_2000",
    "figd_export",
    "figd_design-tokens-of-the-new-website-2026",
    "dckr_pat_",
    "dckr_pat_rotation_how_to_2026_edition",
    "dapi-docs",
    "dapi0123456789abcdef0123456789abcdefg",
    "dapi0123456789abcdef0123456789abcdef0",
    "https://hooks.slack.com/services/T0/B0/x",
    "https://hooks.slack.com/services/how-to-set-up-your-first-incoming-webhook",
    "AccountKey=main",
    "AccountKey=<base64>",
];

#[test]
fn each_form_is_found_and_cut_and_nothing_is_left() {
    for (text, left) in FOUND {
        assert_eq!(PERSONAL.text(text), *left, "{text}");
        assert_eq!(credentials(left), [], "{left}");
        // A number behind a name is only one where JSON is read.
        if !text.contains(":123456") {
            assert_ne!(credentials(text), [], "{text}");
        }
    }
}

#[test]
fn what_only_looks_alike_stays() {
    for text in HARMLESS {
        assert_eq!(credentials(text), [], "{text}");
        assert_eq!(PERSONAL.text(text), *text);
        for policy in [Guard::Text, Guard::Strict] {
            assert_eq!(check(&[(*text).to_owned()], policy, None, None), Ok(()), "{text}");
        }
    }
}

#[test]
fn ordinary_titles_are_no_credentials() {
    let titles: Vec<&str> = include_str!("titles.txt").lines().filter(|line| !line.is_empty()).collect();
    assert!(titles.len() >= 200, "{}", titles.len());
    for title in titles {
        for policy in [Guard::Text, Guard::Strict] {
            assert_eq!(check(&[title.to_owned()], policy, None, None), Ok(()), "{title}");
        }
        assert_eq!(PERSONAL.text(title), title);
    }
}

/// Each row alone, and behind itself without end: no text takes longer than its length.
#[test]
fn a_long_text_takes_no_longer_than_its_length() {
    let rows = FOUND.iter().map(|(text, _)| *text).chain(HARMLESS.iter().copied());
    let parts = [
        "token:",
        "token=",
        "--token ",
        "://a:",
        "://a:b/",
        "a://",
        "-----BEGIN ",
        "\"token\":",
        "Basic ",
        "password=\"",
    ];
    for part in rows.chain(parts).chain(["-", "--", "=", ":", "'", "sk-", "_", "Bearer "]) {
        let long = part.repeat((1 << 16) / part.len());
        let found = credentials(&long);
        assert!(found.windows(2).all(|two| two[0].range.end <= two[1].range.start), "{part}");
    }
    // Looked through to its end from each of its names, such a text would take hours.
    for (part, count) in [
        ("token==", 0),
        ("token=\u{200b}=", 0),
        (r"API_TOKEN=[redacted]\n", 0),
        ("SG.x1x1x1x1x1x1x1x1.", 1),
        ("pwd=/", 0),
    ] {
        let long = part.repeat((1 << 22) / part.len());
        assert_eq!(credentials(&long).len(), count, "{part}");
        let behind = credentials(&format!("{long} DB_PASSWORD=hunter2"));
        let last = behind.last().map(|last| last.range.len());
        assert_eq!((behind.len(), last), (count + 1, Some("hunter2".len())), "{part}");
    }
}

/// Pieces of what is looked for, of JSON and of what parts them.
fn pieces() -> impl Strategy<Value = String> {
    let fixed = FOUND.iter().map(|(text, _)| *text).chain(HARMLESS.iter().copied()).chain([
        "password",
        "token",
        "api_key",
        "=",
        ":",
        "\"",
        "'",
        "`",
        "\\",
        "\\\"",
        " ",
        "\n",
        "\\n",
        "\t",
        "--",
        "://",
        "@",
        "/",
        "[redacted]",
        "x1x1x1",
        "hunter2",
        "sk-",
        "ghp_",
        "-",
        "_",
        ".",
        ",",
        "{",
        "}",
        "[",
        "]",
        "&",
        "\u{200b}",
        "\r",
        "\u{fffd}",
        "ada@example.org",
        "4111 1111 1111 1111",
        "\\u0074oken=",
        "true",
        "ünï",
        "Bearer ",
        "Basic ",
        "dXNlcjpwYXNz",
        "-----BEGIN PRIVATE KEY-----",
        "oken",
        "pwd",
        "/home/me",
        "12",
        "dapi",
        "0123456789abcdef",
    ]);
    let kinds = TOKENS.iter().flat_map(|token| [token.prefix.to_owned(), token.example()]);
    let fixed: Vec<String> = fixed.map(str::to_owned).chain(kinds).collect();
    prop::collection::vec(prop_oneof![4 => prop::sample::select(fixed), 1 => ".{0,6}"], 0..12)
        .prop_map(|parts| parts.concat())
}

/// JSON with such texts as names and values.
fn documents() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "password",
        "token",
        "pwd",
        "my apiKey",
        "a",
        "x@a.org",
        "y@a.org",
        "\token",
        "token\\",
        "token'",
    ]);
    let name = prop_oneof![names.prop_map(str::to_owned), pieces()];
    let numbers = prop::sample::select(vec![0_u64, 7, 4_111_111_111_111_111, 123_456]).prop_map(Value::from);
    let leaf = prop_oneof![pieces().prop_map(Value::from), numbers, Just(Value::Null), Just(Value::from(true))];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// The law that both stand for: what was redacted, the guard takes.
    #[test]
    fn redaction_leaves_nothing_that_the_guard_refuses(text in pieces(), hidden in any::<bool>()) {
        let cleaning = Cleaning { hidden, personal: true };
        let clean = cleaning.text(&text);
        prop_assert_eq!(credentials(&clean), [], "{:?} of {:?}", clean, text);
        prop_assert_eq!(cleaning.text(&clean), &*clean, "twice, of {:?}", text);
    }

    #[test]
    fn redaction_of_json_is_json_of_the_same_shape(value in documents(), hidden in any::<bool>(), pretty in any::<bool>()) {
        let cleaning = Cleaning { hidden, personal: true };
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let clean = cleaning.text(&text);
        prop_assert_eq!(credentials(&clean), [], "{} of {}", clean, text);
        let read: Value = serde_json::from_str(&clean).map_err(|error| TestCaseError::fail(format!("{error}: {clean} of {text}")))?;
        prop_assert_eq!(count(&read), count(&value), "{} of {}", clean, text);
        let mut cleaned = value.clone();
        cleaning.value(&mut cleaned);
        prop_assert_eq!(&read, &cleaned, "of {}", text);
        prop_assert_eq!(cleaning.text(&clean), &*clean);
    }

    #[test]
    fn a_credential_is_within_the_text_and_apart_from_others(text in pieces()) {
        let found = credentials(&text);
        for Credential { range, .. } in &found {
            prop_assert!(text.get(range.clone()).is_some_and(|found| !found.is_empty()));
        }
        prop_assert!(found.windows(2).all(|two| two[0].range.end <= two[1].range.start));
    }
}

//! Rules beside packages, and rules beside the rules before them.

use super::*;

fn policy(rules: &[(&str, Level, &[&str])]) -> Policy {
    let keys = [("acme", "PEM A"), ("bolt", "PEM B")].map(|(name, pem)| (name.to_owned(), pem.to_owned()));
    let rules = rules.iter().map(|(pattern, require, signers)| Rule {
        pattern: (*pattern).to_owned(),
        require: *require,
        signers: signers.iter().map(|name| (*name).to_owned()).collect(),
    });
    Policy { keys: keys.into(), rules: rules.collect(), ..Policy::default() }
}

fn subject<'s>(source: &'s str, signer: Option<&'s str>) -> Subject<'s> {
    Subject { source, is_installed: true, signer, attester: None }
}

#[test]
fn the_longest_rule_counts_and_names_whose_signature_does() {
    let policy = policy(&[
        ("*", Level::Unsigned, &[]),
        ("oci://ghcr.io/*", Level::Signed, &[]),
        ("oci://ghcr.io/acme/*", Level::Trusted, &["acme"]),
        ("oci://ghcr.io/acme/old", Level::Local, &[]),
    ]);
    for (source, signer, level, required, allowed) in [
        ("oci://quay.io/x", None, Level::Unsigned, Level::Unsigned, true),
        ("oci://ghcr.io/x/y", None, Level::Unsigned, Level::Signed, false),
        ("oci://ghcr.io/x/y", Some("PEM Z"), Level::Signed, Level::Signed, true),
        ("oci://ghcr.io/acme/todo", Some("PEM A"), Level::Trusted, Level::Trusted, true),
        // Known, but not here.
        ("oci://ghcr.io/acme/todo", Some("PEM B"), Level::Signed, Level::Trusted, false),
        ("oci://ghcr.io/acme/old", None, Level::Unsigned, Level::Local, true),
        // The rule ends where the name does.
        ("oci://ghcr.io/acme/older", None, Level::Unsigned, Level::Trusted, false),
        ("oci://ghcr.io.evil/acme/todo", None, Level::Unsigned, Level::Unsigned, true),
    ] {
        let judged = policy.judge(subject(source, signer));
        assert_eq!(
            (judged.level, judged.required, judged.is_allowed()),
            (level, required, allowed),
            "{source} {signer:?}"
        );
    }
    let whose = Some("PEM A");
    let here = policy.judge(Subject { source: "/tmp/todo", is_installed: false, signer: whose, attester: whose });
    assert_eq!((here.level, here.is_allowed()), (Level::Local, false), "what lies about can be changed by anybody");
    assert_eq!(policy.keys_for("oci://ghcr.io/acme/todo").collect::<Vec<_>>(), [("acme", "PEM A")]);
    assert_eq!(policy.keys_for("oci://quay.io/x").count(), 2);
}

#[test]
fn without_a_document_everything_may_run() {
    let judged = Policy::default();
    let judged = judged.judge(Subject { source: "/tmp/todo", is_installed: false, signer: None, attester: None });
    assert!(judged.is_allowed() && judged.rule.is_none());
}

#[test]
fn a_document_comes_back_and_a_wrong_one_is_refused() {
    let whole = policy(&[("oci://b/*", Level::Trusted, &["bolt"]), ("*", Level::Unsigned, &[])]);
    let text = whole.text();
    let again = Policy::parse(&text).unwrap();
    assert_eq!(again.text(), text);
    assert!(text.find("\"*\"").unwrap() < text.find("oci://b").unwrap());
    for (wrong, said) in [
        ("{}", "version"),
        (r#"{"version":2}"#, "expected 1, found 2"),
        (r#"{"version":1,"rule":[]}"#, "unknown field"),
        (r#"{"version":1,"rules":[{"match":"*","require":"sigend"}]}"#, "unknown variant"),
        (r#"{"version":1,"rules":[{"match":"*","require":"signed","signer":["a"]}]}"#, "unknown field"),
        (r#"{"version":1,"rules":[{"match":"*","require":"trusted","signers":["a"]}]}"#, "names the key \"a\""),
        (r#"{"version":1,"rules":[{"match":"*","require":"local"},{"match":"*","require":"signed"}]}"#, "two rules"),
        (r#"{"version":1,"rules":[{"match":"oci://ghcr.io/acme*","require":"signed"}]}"#, "up to a /"),
        (r#"{"version":1,"rules":[{"match":"oci://*/acme","require":"signed"}]}"#, "up to a /"),
        (r#"{"version":1,"rules":[{"match":"","require":"signed"}]}"#, "up to a /"),
        (r#"{"version":1,"rules":[{"match":"oci://ghcr.io/acme/todo:1.0","require":"signed"}]}"#, "one tag"),
        (r#"{"version":1,"rules":[{"match":"oci://localhost:5000/todo@sha256:00","require":"signed"}]}"#, "one tag"),
        (r#"{"version":1,"rules":[{"match":"oci-layout:/srv/todo:1.0","require":"signed"}]}"#, "one tag"),
        (r#"{"version":1,"keys":{"acme":"A","acme":"B"}}"#, "two keys are called \"acme\""),
    ] {
        let error = Policy::parse(wrong).unwrap_err();
        assert!(error.contains(said), "{wrong}: {error}");
    }
}

#[test]
fn an_identity_is_named_by_itself_and_by_a_pattern() {
    let tag = "identity https://i https://h/acme/todo/release.yml@refs/tags/v1";
    let tags = "identity https://i https://h/acme/todo/release.yml@refs/tags/*";
    for (named, signer, is_meant) in [
        (tag, tag, true),
        (tags, tag, true),
        (tags, tags, true),
        ("identity https://i https://h/acme/*", tags, true),
        (tag, tags, false),
        ("identity https://i https://h/acme/to/*", tag, false),
        ("identity https://other https://h/acme/*", tag, false),
        // What is no identity is no pattern.
        ("PEM*", "PEM A", false),
        ("*", tag, false),
    ] {
        assert_eq!(covers(named, signer), is_meant, "{named} {signer}");
    }
    let mut policy = policy(&[("*", Level::Trusted, &["release"])]);
    policy.keys.insert("release".to_owned(), tags.to_owned());
    assert_eq!(policy.judge(subject("oci://h/t", Some(tag))).signer, Some("release"));
    assert!(!policy.judge(subject("oci://h/t", Some("identity https://i https://h/bolt/x"))).is_allowed());
}

#[test]
fn what_asks_for_less_is_looser() {
    let strict = policy(&[("*", Level::Signed, &[]), ("oci://a/*", Level::Trusted, &["acme"])]);
    assert!(!strict.is_looser_than(&strict) && !strict.is_looser_than(&policy(&[])));
    for looser in [
        policy(&[]),
        policy(&[("*", Level::Signed, &[])]),
        policy(&[("*", Level::Unsigned, &[]), ("oci://a/*", Level::Trusted, &["acme"])]),
        policy(&[("*", Level::Signed, &[]), ("oci://a/*", Level::Signed, &[])]),
        // Somebody else counts as well.
        policy(&[("*", Level::Signed, &[]), ("oci://a/*", Level::Trusted, &["acme", "bolt"])]),
        policy(&[("*", Level::Signed, &[]), ("oci://a/*", Level::Trusted, &[])]),
        // An exception.
        policy(&[
            ("*", Level::Signed, &[]),
            ("oci://a/*", Level::Trusted, &["acme"]),
            ("oci://a/b/*", Level::Signed, &[]),
        ]),
        policy(&[("*", Level::Signed, &[]), ("oci://a/*", Level::Trusted, &["acme"]), ("/tmp/x", Level::Local, &[])]),
    ] {
        assert!(looser.is_looser_than(&strict), "{looser:?}");
    }
    let stricter = policy(&[("*", Level::Trusted, &["acme"]), ("oci://a/*", Level::Trusted, &["acme"])]);
    assert!(!stricter.is_looser_than(&strict));
    // Another key under a name that counts.
    let mut other = strict.clone();
    other.keys.insert("acme".to_owned(), "PEM C".to_owned());
    assert!(other.is_looser_than(&strict));
}

#[test]
fn a_rule_about_an_image_layout_names_its_folder_from_the_root() {
    for (pattern, is_right) in [
        ("oci-layout:shop", false),
        ("oci-layout:./shop/*", false),
        ("oci-layout:/shop", true),
        ("oci-layout:/shop/*", true),
        ("store:todo", true),
        ("store:*", true),
        ("store:", false),
        ("store:to*", false),
        ("store:To do", false),
        ("store:/todo", false),
        ("store:todo/*", false),
        ("release:todo", true),
        ("release:*", true),
        ("release:to*", false),
        ("release:", false),
    ] {
        assert_eq!(check_pattern(pattern).is_ok(), is_right, "{pattern}");
    }
}

#[test]
fn the_rule_that_names_a_source_counts_before_one_about_its_folder() {
    for rules in
        [[("/d/t", Level::Trusted), ("/d/*", Level::Local)], [("/d/*", Level::Local), ("/d/t", Level::Trusted)]]
    {
        let policy = policy(&rules.map(|(pattern, require)| (pattern, require, &[][..])));
        assert_eq!(policy.rule("/d/t").map(|rule| rule.require), Some(Level::Trusted));
        assert_eq!(policy.rule("/d/u").map(|rule| rule.require), Some(Level::Local));
    }
}

#[test]
fn a_rule_that_can_mean_nothing_is_refused() {
    for pattern in ["todo", "./todo", "ghcr.io/acme/*", "OCI://GHCR.IO/acme/*", "oci://GHCR.io/acme/*", "oci://h/acme/"]
    {
        assert!(check_pattern(pattern).is_err(), "{pattern}");
    }
    for pattern in ["*", "/srv/todo", "/srv/*", "oci://ghcr.io/*", "oci://ghcr.io/acme/todo"] {
        assert!(check_pattern(pattern).is_ok(), "{pattern}");
    }
    let text = r#"{"version":1,"keys":{},"rules":[{"match":"*","require":"signed","signers":["acme"]}]}"#;
    assert!(Policy::parse(text).is_err());
}

#[test]
fn how_it_was_built_counts_if_a_key_that_counts_says_it_of_what_such_a_key_signed() {
    let whole = policy(&[("*", Level::Attested, &["acme"])]);
    for (signer, attester, level) in [
        (Some("PEM A"), Some("PEM A"), Level::Attested),
        (Some("PEM A"), Some("PEM B"), Level::Trusted),
        (Some("PEM A"), None, Level::Trusted),
        (Some("PEM B"), Some("PEM A"), Level::Signed),
        (None, Some("PEM A"), Level::Unsigned),
    ] {
        let judged = whole.judge(Subject { source: "oci://a/b", is_installed: true, signer, attester });
        assert_eq!((judged.level, judged.is_allowed()), (level, level == Level::Attested), "{signer:?} {attester:?}");
    }
    assert!(policy(&[("*", Level::Trusted, &["acme"])]).is_looser_than(&whole));
    assert!(policy(&[("*", Level::Attested, &["acme", "bolt"])]).is_looser_than(&whole));
    assert!(!whole.is_looser_than(&policy(&[("*", Level::Trusted, &["acme"])])));
    assert_eq!(Policy::parse(&whole.text()).unwrap(), whole);
    let names = Level::ALL.map(Level::text);
    assert_eq!(names.map(|name| serde_json::from_str::<Level>(&format!("{name:?}")).unwrap()), Level::ALL);
}

//! Values beside their constraints, and constraints that make no sense.

use super::*;
use ValueType::{Date, DateOrInstant, Instant, Integer, Number, String as Text};
use proptest::prelude::*;

fn range(least: &str, most: &str) -> Constraints {
    let bound = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Constraints { minimum: bound(least), maximum: bound(most), ..Constraints::default() }
}

fn lengths(least: Option<u32>, most: Option<u32>) -> Constraints {
    Constraints { min_length: least, max_length: most, ..Constraints::default() }
}

fn pattern(text: &str) -> Constraints {
    Constraints { pattern: Some(text.to_owned()), ..Constraints::default() }
}

#[test]
fn values_keep_their_constraints_or_break_one() {
    let kinds = |constraints: &Constraints, value_type, values: &[&str]| {
        values
            .iter()
            .map(|value| constraints.broken(value, value_type, &mut Compiled::default()).map(|(kind, _)| kind))
            .collect::<Vec<_>>()
    };
    for (constraints, value_type, good, bad, kind) in [
        (range("1", "200"), Integer, &["1", "200", "42"][..], &["0", "-3", "201"][..], Broken::Range),
        (
            range("-9223372036854775808", "9223372036854775806"),
            Integer,
            &["-1"],
            &["9223372036854775807"],
            Broken::Range,
        ),
        (range("0.5", ""), Number, &["0.5", "5e-1", "1e3"], &["0.49", "-1"], Broken::Range),
        (range("", "2026-04-05"), Date, &["2026-04-05", "0001-01-01"], &["2026-04-06"], Broken::Range),
        // The same moment in another place of the world.
        (
            range("2026-04-05T12:00:00Z", ""),
            Instant,
            &["2026-04-05T14:00:00+02:00"],
            &["2026-04-05T13:59:59+02:00"],
            Broken::Range,
        ),
        (
            range("2026-04-05", ""),
            DateOrInstant,
            &["2026-04-05", "2026-04-05T00:00:00Z"],
            &["2026-04-04T23:59:59Z"],
            Broken::Range,
        ),
        (lengths(Some(1), Some(3)), Text, &["a", "äöü", "💧💧💧"], &["", "abcd"], Broken::Length),
        (pattern("^td_[0-9]{4}$"), Text, &["td_0001"], &["td_1", "xtd_0001", "td_0001\n"], Broken::Pattern),
        (pattern("a"), Text, &["cat"], &["dog"], Broken::Pattern),
        (pattern(r"^\d+$"), Text, &["12"], &["\u{664}\u{665}"], Broken::Pattern),
        (pattern(r"^\u00e9\cA$"), Text, &["\u{e9}\u{1}"], &["e"], Broken::Pattern),
    ] {
        assert_eq!(constraints.flaws(value_type), [], "{constraints:?}");
        assert_eq!(kinds(&constraints, value_type, good), vec![None; good.len()], "{constraints:?}");
        assert_eq!(kinds(&constraints, value_type, bad), vec![Some(kind); bad.len()], "{constraints:?}");
    }
}

#[test]
fn what_is_broken_is_said_with_what_was_expected() {
    let said = |constraints: &Constraints, value, value_type| {
        constraints.broken(value, value_type, &mut Compiled::default()).unwrap().1
    };
    assert_eq!(said(&range("1", "200"), "-3", Integer), "expected from 1 to 200, found \"-3\"");
    assert_eq!(said(&range("1", ""), "0", Integer), "expected at least 1, found \"0\"");
    assert_eq!(said(&range("", "9"), "10", Integer), "expected at most 9, found \"10\"");
    assert_eq!(said(&lengths(None, Some(2)), "abc", Text), "expected at most 2 characters, found 3");
    assert_eq!(said(&pattern("^a+$"), "b", Text), "expected what matches \"^a+$\", found \"b\"");
}

#[test]
fn constraints_that_make_no_sense_are_flaws() {
    for (constraints, value_type, field) in [
        (Constraints::default(), Text, ""),
        (range("1", ""), Text, "minimum"),
        (range("", "x"), Integer, "maximum"),
        (range("5", "4"), Integer, "maximum"),
        (lengths(Some(3), Some(2)), Text, "maxLength"),
        (lengths(Some(3), None), Integer, "minLength"),
        (pattern("a"), Integer, "pattern"),
        (pattern("("), Text, "pattern"),
        // Known to Rust alone, and to ECMA-262 alone.
        (pattern("(?x) a b"), Text, "pattern"),
        (pattern("^(?=a)b$"), Text, "pattern"),
        // Small to write, large to hold.
        (pattern("((a{100}){100}){100}"), Text, "pattern"),
        (pattern(&"a".repeat(1001)), Text, "pattern"),
    ] {
        let flaws = constraints.flaws(value_type);
        assert_eq!(flaws.iter().map(|flaw| flaw.0).collect::<Vec<_>>(), [field], "{constraints:?}: {flaws:?}");
        assert!(flaws.iter().all(|flaw| !flaw.1.contains('\n') && !flaw.1.is_empty()), "{flaws:?}");
    }
}

#[test]
fn constraints_come_back_from_both_forms() {
    let whole = Constraints { max_length: Some(7), ..range("1", "2") };
    let json = serde_json::to_value(&whole).unwrap();
    assert_eq!(json, serde_json::json!({"minimum": "1", "maximum": "2", "maxLength": 7}));
    let kept: Constraints = postcard::from_bytes(&postcard::to_allocvec(&whole).unwrap()).unwrap();
    assert_eq!(kept, whole);
}

#[test]
fn the_patterns_of_a_description_are_bounded_and_compiled_once() {
    let parameter = |at: usize| {
        serde_json::json!({"name": format!("p{at}"), "position": null, "valueType": "string", "required": false, "repeated": true,
            "default": null, "choices": [], "freeText": false, "constraints": {"pattern": "^(a{50}){100}$"}, "description": "d"})
    };
    let description = |count: usize| {
        let parameters: Vec<_> = (0..count).map(parameter).collect();
        serde_json::json!({"schema": "hutch/commands@0.1", "name": "demo", "version": "1.0.0", "summary": "s",
            "parameters": [], "errors": [], "commands": [{"name": "show", "description": "d", "parameters": parameters,
            "effect": "read", "idempotent": true, "confirmationRequired": false, "outputSchema": {}, "errors": [], "examples": []}]})
        .to_string()
    };
    let (read, diagnostics) = crate::contract::parse(&description(PATTERNS_MAX), "commands.json");
    assert!(read.is_some(), "{diagnostics:?}");
    let (too_many, diagnostics) = crate::contract::parse(&description(PATTERNS_MAX + 1), "commands.json");
    assert!(too_many.is_none() && diagnostics.len() == 1, "{diagnostics:?}");
    assert!(diagnostics[0].message.contains("one pattern more"), "{diagnostics:?}");

    let mut compiled = Compiled::default();
    let one = pattern("^b+$");
    assert!(one.broken("b", Text, &mut compiled).is_none() && one.broken("a", Text, &mut compiled).is_some());
    // What is compiled is what the next value is held to, and not the pattern once more.
    assert!(pattern("^a+$").broken("b", Text, &mut compiled).is_none());
}

/// Holds a pattern to its promise: whatever text it is, it is judged.
fn judged(text: &str) {
    let constraints = pattern(text);
    if constraints.flaws(Text).is_empty() {
        let mut compiled = Compiled::default();
        for value in ["", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "\u{10ffff}\n\r\u{2028}"] {
            let _either = constraints.broken(value, Text, &mut compiled);
        }
    }
}

#[test]
fn patterns_that_are_made_to_take_long_are_judged() {
    for (begin, end) in
        [("(", ")"), ("(?:", ")"), ("[", "]"), ("(a|", ")*"), ("(", "){9}"), ("(?=", ")"), ("[^\\d-", "]")]
    {
        for depth in [1, 30, 120, 1000 / (begin.len() + end.len())] {
            judged(&(begin.repeat(depth) + "a" + &end.repeat(depth)));
        }
    }
    for part in ["\\p{L}", "[\\w-z]", "(a*)*", "a{1000}", "\\u{1F600}", "\\1", "(?<n>a)", "[\\s\\S]*?", "\\cA", "a??"] {
        judged(&part.repeat(1000 / part.len()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_pattern_is_judged(
        text in "[\\[\\](){}?*+|^$.,:=!<>\\-\\\\&~#/a-dpuxkswb0-9LNé\u{1F600} ]{0,60}",
        parts in prop::collection::vec(
            prop::sample::select(vec!["(?:", "(?<a>", "(?i:", "(?<=", ")", "[^", "[", "]", "{2,", "}", "\\p{", "\\u{", "\\", "a-", "|", "*", "+?", "\\B", "&&", "--"]),
            0..40,
        ),
    ) {
        judged(&text);
        judged(&(text + &parts.concat()));
    }
}

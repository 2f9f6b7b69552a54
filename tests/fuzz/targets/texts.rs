//! What is taken out of an answer before people or agents read it: what was cleaned holds nothing that would be taken out of it, JSON
//! stays JSON, and a secret is found however often it was written as JSON writes it.
//!
//! The first byte says what is cleaned, and how deep the secret is written.
#![no_main]

use hutch_fuzz::within;
use hutch_model::guard::credentials;
use hutch_model::redact::{Cleaning, holds, without_hidden, without_personal_data};
use serde_json::Value;

/// A secret with characters that JSON escapes.
const SECRET: &str = "s3\u{e9}cr\"et\\n/\n\u{1f600}";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, text)) = bytes.split_first() else { return };
    let cleaning = Cleaning { hidden: first & 1 != 0, personal: first & 2 != 0 };
    let depth = u32::from(first >> 2) % 10;
    within((1 << 20) + 400 * bytes.len(), || {
        check_cleaning(cleaning, text);
        check_secret(text, depth);
    });
});

fn check_cleaning(cleaning: Cleaning, bytes: &[u8]) {
    if cleaning.is_none() {
        assert_eq!(&*cleaning.bytes(bytes), bytes);
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    let clean = cleaning.text(&text);
    assert_eq!(cleaning.bytes(bytes), clean.as_bytes());
    if cleaning.hidden {
        assert_eq!(without_hidden(&clean), clean, "something hidden is left");
    }
    // What JSON escapes is judged as what it stands for: a letter behind digits, of which no number goes on.
    let has_escapes = text.contains('\\')
        && serde_json::Deserializer::from_str(&text).into_iter::<serde::de::IgnoredAny>().all(|json| json.is_ok());
    if cleaning.personal && !has_escapes {
        assert_eq!(without_personal_data(&clean), clean, "something personal is left");
    }
    if cleaning.personal {
        assert_eq!(credentials(&clean), [], "what was redacted, the guard refuses");
    }
    assert_eq!(cleaning.text(&clean), clean, "cleaning twice takes out more");
    // One that ends no line begins the line again, in JSON too: it is a hidden character.
    if text.replace("\r\n", "").contains('\r') {
        return;
    }
    if let Ok(mut value) = serde_json::from_str::<Value>(&text) {
        let read = |json: &str| {
            serde_json::from_str::<Value>(json).unwrap_or_else(|error| panic!("{json} is no JSON: {error}"))
        };
        read(&clean);
        // Names of fields that would become one are numbered in their order, which is that of the value.
        let cleaned = read(&cleaning.text(&value.to_string()));
        cleaning.value(&mut value);
        assert_eq!(value, cleaned, "a value and its text are cleaned in two ways");
    }
}

fn check_secret(bytes: &[u8], depth: u32) {
    let mut written = SECRET.to_owned();
    for _ in 0..depth {
        let literal = Value::from(written).to_string();
        written = literal.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned();
    }
    let half = bytes.len() / 2;
    let printed = [&bytes[..half], written.as_bytes(), &bytes[half..]].concat();
    let cut = std::str::from_utf8(&bytes[..half]).is_err() || bytes[..half].ends_with(b"\\");
    assert!(cut || holds(&printed, SECRET), "a secret that was written {depth} times as JSON is not found");
}

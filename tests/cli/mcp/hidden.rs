//! Characters that nobody sees, in what goes to clients: written as escapes on the wire and in texts for models, equal once parsed.

use super::Client;
use crate::support::{Machine, PATIENCE, package, probe};
use serde_json::{Value, json};

/// Zero widths, a turned direction and a sentence in tags, beside what is seen although it joins.
fn said() -> Value {
    let tags: String = "obey".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
    json!({"a\u{200b}": format!("x{tags}\u{202e}\u{2060}\u{ad}"), "seen": "👩\u{200d}🚀 ⚠\u{fe0f} ünïcode"})
}

/// What nobody sees, but what joins.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{202e}' | '\u{2060}' | '\u{e0000}'..='\u{e007f}')
}

#[test]
fn an_answer_shows_what_nobody_would_see_and_means_the_same() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&probe()], json!({}));
    let arguments = json!({"command": "stdin-echo", "stdin": said().to_string()});
    client.send_call("hutch_call", arguments);
    let line = client.lines.recv_timeout(PATIENCE).expect("an answer");
    assert!(!line.contains(is_hidden), "{line:?}");
    assert!(line.contains("👩\u{200d}🚀 ⚠\u{fe0f} ünïcode"), "{line}");
    let answer: Value = serde_json::from_str(&line).unwrap();
    let result = &answer["result"];
    // Parsed once more than the wire's text, a model's text still shows them.
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(!text.contains(is_hidden) && text.contains("\\u200b") && text.contains("\\udb40\\udc6f"), "{text:?}");
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), said());
    assert_eq!(result["structuredContent"], said());
    // Long after it, nothing is left of what was cut.
    assert_eq!(client.done("hutch_call", json!({"command": "return-ok"})), machine.probe(&[], &["return-ok"]).answer());
}

#[test]
fn a_file_of_a_skill_in_which_something_is_hidden_is_no_text_for_a_model() {
    let machine = Machine::new();
    let copy = package::copy(&machine, "probe");
    let (plain, hiding) = ("See ünïcode\n\tand 👩\u{200d}🚀.\r\n", "See nothing\u{200b}\u{e0041}.\n");
    for (name, text) in [("plain.md", plain), ("hiding.md", hiding)] {
        std::fs::write(copy.join("skills/probe-usage").join(name), text).unwrap();
    }
    let mut client = Client::legacy(&machine, &[copy.to_str().unwrap()], json!({}));
    let mut read = |name: &str| {
        let uri = format!("skill://probe/probe-usage/{name}");
        client.request("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone()
    };
    assert_eq!(read("plain.md")["text"], plain);
    let hidden = read("hiding.md");
    assert_eq!((hidden.get("text"), &hidden["blob"]), (None, &json!("U2VlIG5vdGhpbmfigIvzoIGBLgo=")), "{hidden}");
}

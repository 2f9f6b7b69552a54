//! The moving picture at the top of the README: what a person sees who makes six calls on a terminal of 80 columns, as an animated SVG of
//! text. `HUTCH_BLESS=1` writes it where it differs, and fails.

use crate::pictures::{ROWS, copy, still};
use crate::support::terminal::Terminal;
use crate::support::{Machine, repository};
use std::fmt::Write;

const COLUMNS: usize = 80;
/// Of one character, and of one line, in pixels.
const WIDTH: f64 = 8.0;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 16.0;
/// How long one call is shown, and how long its line stands alone before.
const SECONDS: f64 = 5.0;
const TYPED: f64 = 0.8;

/// A part of a line: how it is emphasised, and its text.
type Part = (&'static str, String);

/// What a terminal of this width makes of a text: its lines, broken where they reach the end.
fn drawn(seen: &str) -> Vec<Vec<Part>> {
    let mut lines = Vec::new();
    for line in seen.lines() {
        let (mut parts, mut class, mut column): (Vec<Part>, &str, usize) = (Vec::new(), "", 0);
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            if letter == '\u{1b}' {
                let code: String = letters.by_ref().skip(1).take_while(|letter| *letter != 'm').collect();
                let known = [("0", ""), ("1", "b"), ("2", "d"), ("31", "r"), ("32", "g"), ("33", "y")];
                class = known.iter().find(|(known, _)| *known == code).unwrap_or_else(|| panic!("{code}")).1;
                continue;
            }
            if column == COLUMNS {
                lines.push(std::mem::take(&mut parts));
                column = 0;
            }
            column += console::measure_text_width(letter.encode_utf8(&mut [0; 4]));
            match parts.last_mut() {
                Some((last, text)) if *last == class => text.push(letter),
                _ => parts.push((class, letter.to_string())),
            }
        }
        lines.push(parts);
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The picture of what was typed and seen. It moves by its style alone, and stands still for whoever wants that.
fn picture(calls: &[(String, Vec<Vec<Part>>)]) -> String {
    let rows = calls.iter().map(|(_, lines)| lines.len() + 1).max().unwrap_or_default();
    let size = |count: usize, of: f64| 2.0 * MARGIN + of * count as f64;
    let (width, height) = (size(COLUMNS, WIDTH), size(rows, HEIGHT));
    let (all, part) = (SECONDS * calls.len() as f64, |seconds: f64| 100.0 * seconds / (SECONDS * calls.len() as f64));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<style>\n\
         text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d0d7de;white-space:pre}}\n\
         .b{{font-weight:bold;fill:#fff}}.d{{fill:#8b949e}}.r{{fill:#ff7b72}}.g{{fill:#7ee787}}.y{{fill:#e3b341}}\n\
         .s,.o{{opacity:0;animation:s {all}s step-end infinite}}.o{{animation-name:o}}\n\
         @keyframes s{{0%{{opacity:1}}{:.3}%,to{{opacity:0}}}}\n@keyframes o{{0%{{opacity:0}}{:.3}%{{opacity:1}}{:.3}%,to{{opacity:0}}}}\n",
        escaped(&calls.iter().map(|(call, _)| call.as_str()).collect::<Vec<_>>().join("; ")),
        part(SECONDS),
        part(TYPED),
        part(SECONDS),
    );
    for at in 1..calls.len() {
        let _ = writeln!(text, ".t{at},.t{at} .o{{animation-delay:{}s}}", SECONDS * at as f64);
    }
    text.push_str("@media(prefers-reduced-motion:reduce){.s,.o{animation:none}.t0,.t0 .o{opacity:1}}\n</style>\n");
    let _ = writeln!(text, "<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>");
    let row = |at: usize| MARGIN + HEIGHT * at as f64 + HEIGHT * 0.75;
    for (at, (call, lines)) in calls.iter().enumerate() {
        let _ = writeln!(text, "<g class=\"s t{at}\">");
        let typed = format!("<tspan class=\"g\">$</tspan> {}", escaped(call));
        let _ = writeln!(text, "<text x=\"{MARGIN}\" y=\"{}\">{typed}</text>\n<g class=\"o\">", row(0));
        for (line, parts) in lines.iter().enumerate().filter(|(_, parts)| !parts.is_empty()) {
            let _ = write!(text, "<text x=\"{MARGIN}\" y=\"{}\">", row(line + 1));
            let mut column = 0;
            for (class, part) in parts {
                // Each part has its place, whatever font the reader has.
                let x = MARGIN + WIDTH * column as f64;
                let length = console::measure_text_width(part);
                let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
                let fitted = WIDTH * length as f64;
                let _ = write!(text, "<tspan x=\"{x}\" textLength=\"{fitted}\"{class}>{}</tspan>", escaped(part));
                column += length;
            }
            text.push_str("</text>\n");
        }
        text.push_str("</g>\n</g>\n");
    }
    text + "</svg>\n"
}

#[test]
fn the_readme_shows_what_a_person_sees() {
    let machine = Machine::new();
    copy(&repository().join("packages/todo"), &machine.path("apps/todo"));
    machine.run(["install", "apps/todo"]).result("install");
    // Compiled by now, as by whoever has used it before.
    machine.run(["run", "todo", "add", "Write docs"]).answer();
    let calls: [(&[&str], i32); 6] = [
        (&["find", "buy milk"], 0),
        (&["plan", "todo", "add", "Buy milk"], 0),
        (&["apply", "todo", "last"], 0),
        (&["run", "todo", "remove", "td_0001", "--confirm"], 30),
        (&["verify", "--all", "todo"], 0),
        (&["undo", "todo"], 0),
    ];
    let mut seen = Vec::new();
    for (words, expected) in calls {
        let mut command = machine.hutch(words);
        command.env("TERM", "xterm-256color").env("HUTCH_FORMAT", "human");
        let (status, text) = Terminal::of(ROWS, COLUMNS as u16).run(&mut command);
        assert_eq!(status, expected, "{words:?}: {text}");
        let quoted =
            words.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() });
        let call = format!("hutch {}", quoted.collect::<Vec<_>>().join(" "));
        seen.push((call, drawn(&still(&text))));
    }
    let picture = picture(&seen);
    assert!(picture.len() < 24 << 10, "{} bytes", picture.len());
    let path = repository().join("tests/cli/tour.svg");
    let is_same = std::fs::read_to_string(&path).unwrap_or_default() == picture;
    if !is_same && std::env::var_os("HUTCH_BLESS").is_some() {
        std::fs::write(&path, &picture).unwrap();
    }
    assert!(is_same, "tests/cli/tour.svg shows something else than\n{picture}");
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(readme.contains("](tests/cli/tour.svg)"), "the README shows it");
    let release = std::fs::read_to_string(repository().join(".ci/release")).unwrap();
    assert!(release.contains("tests/cli/tour.svg"), "a release has what its README shows");
}

#[test]
fn a_line_is_broken_where_the_terminal_ends_and_nothing_in_it_is_markup() {
    let lines = drawn(&format!("\u{1b}[31mab\u{1b}[0m{}\n<&>", "x".repeat(79)));
    assert_eq!(lines.len(), 3);
    assert_eq!((lines[0][0].clone(), lines[1][0].clone()), (("r", "ab".to_owned()), ("", "x".to_owned())));
    let picture = picture(&[("a <b>".to_owned(), lines)]);
    assert!(picture.contains("a &lt;b&gt;") && picture.contains(">&lt;&amp;&gt;</tspan>"), "{picture}");
}

//! Inputs made to be expensive. Work is counted, not timed: the bytes that reading allocates, in total and at once, are held
//! to a multiple of the input's size. Expansion of aliases, copying per level or per line, and unbounded lists of problems
//! all show here.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(unsafe_code, reason = "a global allocator, which counts, cannot be written without it")]

use hutch_model::names::SkillName;
use hutch_model::{contract, manifest, skill};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static TOTAL: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TOTAL.fetch_add(layout.size(), Relaxed);
        CALLS.fetch_add(1, Relaxed);
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `at` came from `System.alloc` above with the same `layout`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FRONT: &str = "name: x\ndescription: d\nversion: 1.0.0\nslug: x\nentry: {command: wasm:a.wasm}\nskills: []\n";

fn front(text: &str) -> String {
    format!("---\n{text}\n---\nbody\n")
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// Nested aliases, 9^levels when expanded.
fn alias_bomb(levels: usize) -> String {
    let level =
        |at: usize| format!("k{at}: &a{at} [{}]\n", ["*a"; 9].map(|a| format!("{a}{}", at.wrapping_sub(1))).join(", "));
    "k0: &a0 [lol, lol]\n".to_owned() + &lines(levels, |at| level(at + 1))
}

fn manifests() -> Vec<(&'static str, String)> {
    vec![
        ("alias bomb", front(&alias_bomb(40))),
        ("many anchors", front(&lines(3_000, |at| format!("k{at}: &a{at} v\n")))),
        ("flow depth", front(&format!("x: {}", "[".repeat(60_000)))),
        ("closed flow depth", front(&format!("x: {}{}\n", "[".repeat(30_000), "]".repeat(30_000)))),
        ("map depth", front(&format!("x: {}", "{a: ".repeat(15_000)))),
        ("block depth", front(&lines(340, |at| format!("{}a:\n", " ".repeat(at))))),
        ("list depth", front(&format!("x: {}\n", "- ".repeat(20_000)))),
        ("duplicate keys", front(&"a: 1\n".repeat(2_000))),
        (
            "unknown keys like a known one",
            front(&format!("{FRONT}commands: [a]\n{}", lines(1_900, |at| format!("confirmatixn{at:04}red: 1\n")))),
        ),
        (
            "unknown keys in hutch",
            front(&format!(
                "{FRONT}commands: [a]\nmetadata:\n  hutch:\n{}",
                lines(1_900, |at| format!("    stat{at}: 1\n"))
            )),
        ),
        ("items that are wrong", front(&format!("{FRONT}commands: [{}]\n", "-, ".repeat(3_900)))),
        ("items on one line", front(&format!("{FRONT}commands: [{}]\n", lines(3_900, |at| format!("c{at}, "))))),
        (
            "paths that overlap",
            front(&format!(
                "{FRONT}commands: [a]\nmetadata: {{hutch: {{state: [{}]}}}}\n",
                lines(1_500, |at| format!("d{at}, "))
            )),
        ),
        (
            "as many paths as there may be",
            front(&format!(
                "{FRONT}commands: [a]\nmetadata: {{hutch: {{state: [{}], resources: [{}], mounts: [{}]}}}}\n",
                lines(128, |at| format!("dÄ{at}, ")),
                lines(128, |at| format!("dä{at}x, ")),
                lines(128, |at| format!("dä{at}y, "))
            )),
        ),
        (
            "as many confirmations as there may be",
            front(&format!(
                "{FRONT}commands: [{}]\nconfirmationRequired: [{}]\n",
                lines(128, |at| format!("{at:03}{}, ", "remove".repeat(7))),
                lines(128, |at| format!("{at:03}{}, ", "removx".repeat(7)))
            )),
        ),
        (
            "confirmations unknown",
            front(&format!(
                "{FRONT}commands: [{}]\nconfirmationRequired: [{}]\n",
                lines(1_900, |at| format!("remove{at}, "),),
                lines(1_900, |at| format!("removx{at}, "))
            )),
        ),
        ("keys that are lists", front(&"? [a]\n: b\n".repeat(1_000))),
        ("one long line", front(&format!("name: {}\n", "x".repeat(65_000)))),
        ("one long quoted line", front(&format!("name: \"{}\"\n", "\\u00e9".repeat(10_000)))),
        ("folded lines", front(&format!("name: >\n{}", "  a\n\n".repeat(10_000)))),
        ("comments", front(&"# c\n".repeat(16_000))),
        ("blank lines", front(&"\n".repeat(65_000))),
        ("documents", front(&"...\n".repeat(16_000))),
        ("directives", front(&"%A b\n".repeat(12_000))),
        ("tags", front(&"!a \n".repeat(16_000))),
        ("question marks", front(&"? ".repeat(30_000))),
        ("colons", front(&": ".repeat(30_000))),
        ("quotes", front(&"\"\" ".repeat(20_000))),
        ("front matter too large", front(&"a: 1\n".repeat(100_000))),
        ("never closed", format!("---\n{}", "a\n".repeat(500_000))),
        ("control characters", "\u{1}".repeat(1_000_000)),
        ("carriage returns", "\r".repeat(1_000_000)),
        ("carriage returns and line feeds", "\r\n".repeat(500_000)),
        ("fences", "---\n".repeat(250_000)),
        ("more than the most", "x".repeat(3_000_000)),
    ]
}

fn contracts() -> Vec<(&'static str, String)> {
    let document = |key: &str, value: &str| format!("{{\"schema\": \"hutch/commands@0.1\", \"{key}\": {value}}}");
    vec![
        ("depth", document("x", &format!("{}{}", "[".repeat(100), "]".repeat(100)))),
        ("depth beyond the parser", "[".repeat(1_000_000)),
        (
            "depth just allowed, wide",
            document("x", &format!("{}{}{}", "[".repeat(28), vec!["[]"; 60_000].join(","), "]".repeat(28))),
        ),
        ("values", document("commands", &format!("[{}]", vec!["1"; 60_000].join(",")))),
        ("values on one line", document("x", &format!("[{}]", vec!["1"; 500_000].join(",")))),
        ("members", document("x", &format!("{{{}}}", lines(30_000, |at| format!("\"k{at}\":1,")) + "\"z\":1"))),
        ("same member", document("x", &format!("{{{}}}", vec!["\"k\":1"; 30_000].join(",")))),
        (
            "unknown members",
            format!(
                "{{\"schema\":\"hutch/commands@0.1\",{}}}",
                lines(20_000, |at| format!("\"namf{at}\":1,")) + "\"z\":1"
            ),
        ),
        ("commands", document("commands", &format!("[{}]", vec!["{}"; 30_000].join(",")))),
        (
            "errors that commands name",
            format!(
                "{{\"schema\":\"hutch/commands@0.1\",\"name\":\"x\",\"version\":\"1.0.0\",\"summary\":\"s\",\"parameters\":[],\"commands\":[{{\
             \"name\":\"a\",\"description\":\"d\",\"parameters\":[],\"effect\":\"read\",\"idempotent\":true,\"confirmationRequired\":false,\
             \"outputSchema\":{{}},\"errors\":[{}\"Z\"],\"examples\":[]}}],\"errors\":[{}{{\"code\":\"Z\",\"exitStatus\":1,\
             \"description\":\"d\",\"fix\":\"f\"}}]}}",
                lines(6_000, |at| format!("\"E_{at}\",")),
                lines(6_000, |at| format!(
                    "{{\"code\":\"E_{at}\",\"exitStatus\":1,\"description\":\"d\",\"fix\":\"f\"}},"
                )),
            ),
        ),
        (
            "parameters that say little",
            format!(
                "{{\"schema\":\"hutch/commands@0.1\",\"name\":\"x\",\"version\":\"1.0.0\",\"summary\":\"s\",\"commands\":[{{\"name\":\"a\",\
             \"description\":\"d\",\"effect\":\"read\",\"parameters\":[{}{{\"name\":\"z\",\"description\":\"d\"}}]}}]}}",
                lines(10_000, |at| format!("{{\"name\":\"p{at}\",\"description\":\"d\"}},")),
            ),
        ),
        ("one string", document("name", &format!("\"{}\"", "\\n".repeat(400_000)))),
        ("one number", document("name", &"9".repeat(900_000))),
        ("more than the most", "1".repeat(3_000_000)),
    ]
}

/// Reads once and returns the allocations: bytes in total, their number, the most at once.
fn counted(read: impl FnOnce() -> usize) -> (usize, usize, usize) {
    let (total, calls, live) = (TOTAL.load(Relaxed), CALLS.load(Relaxed), LIVE.load(Relaxed));
    PEAK.store(live, Relaxed);
    let problems = read();
    assert!(problems <= 402, "{problems} problems");
    (TOTAL.load(Relaxed) - total, CALLS.load(Relaxed) - calls, PEAK.load(Relaxed) - live)
}

// One test: the counters are the process's.
#[test]
fn work_is_bounded_by_the_size_of_the_input() {
    // About twice the worst case seen; an expansion, or a copy of the text for each value, is a thousand times as much.
    const PER_BYTE: usize = 200;
    const FIXED: usize = 4 << 20;
    for (name, text) in manifests() {
        let folder = SkillName::parse("x").unwrap();
        let work =
            counted(|| manifest::parse(&text, "APP.md").1.len() + skill::parse(&text, "SKILL.md", &folder).1.len());
        assert_bounded(name, &text, work, PER_BYTE, FIXED);
    }
    for (name, text) in contracts() {
        let work = counted(|| contract::parse(&text, "commands.json").1.len());
        assert_bounded(name, &text, work, PER_BYTE, FIXED);
    }
}

fn assert_bounded(name: &str, text: &str, (total, calls, peak): (usize, usize, usize), per_byte: usize, fixed: usize) {
    let bound = fixed + per_byte * text.len();
    assert!(
        total <= bound,
        "{name}: {total} bytes allocated in {calls} calls for {} bytes, {bound} allowed",
        text.len()
    );
    assert!(peak <= 64 << 20, "{name}: {peak} bytes at once");
    assert!(calls <= 1_000_000, "{name}: {calls} allocations");
}

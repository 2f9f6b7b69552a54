//! What the probe says about itself: one command per behaviour. Data only; the behaviours are in the binary.
//!
//! Unless a command says otherwise it prints one JSON document about what it observed,
//! `{"ok":true,"command":"…",…}`, and exits 0. A file operation that fails exits 1 with `IO_ERROR` and the name of the
//! WASI error code in `error.errno`. Commands that try many things report each result and exit 0.

use hutch_guest::contract::{Command, Description, Effect, Example, FailureCode, Parameter, Schema, ValueType};
use hutch_guest::failure::{INVALID_VALUE, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, UNKNOWN_COMMAND, UNKNOWN_FLAG};

/// A file operation failed.
pub const IO_ERROR: FailureCode = FailureCode {
    code: "IO_ERROR",
    exit_status: 1,
    description: "a file operation failed; error.errno is the WASI error code",
    fix: "none: the failure is what the probe is for",
};
/// What `json-and-exit` prints.
pub const ASKED_FOR: FailureCode = FailureCode {
    code: "ASKED_FOR",
    exit_status: 1,
    description: "the caller asked for a failure, with a status of its choice",
    fix: "none: the failure is what the probe is for",
};

const USAGE: &[FailureCode] = &[UNKNOWN_FLAG, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, INVALID_VALUE];
const FILES: &[FailureCode] = &[UNKNOWN_FLAG, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, INVALID_VALUE, IO_ERROR];

const PATH: Parameter = path(0, "path", "a path such as state/a.txt");
const COUNT: Parameter = Parameter {
    default: Some("0"),
    ..Parameter::option("count", ValueType::Integer, "how many times; 0 goes on for ever")
};
const DIRECTORY: Parameter =
    Parameter { default: Some("state"), ..Parameter::option("directory", ValueType::Path, "the directory to work in") };

/// The probe.
pub static PROBE: Description = Description {
    name: "probe",
    version: env!("CARGO_PKG_VERSION"),
    summary: "Behaves well and badly on demand, one command per behaviour",
    parameters: &[Parameter::flag("help", "describe the probe and do nothing else")],
    commands: &[
        // How a program ends.
        probe(
            "exit",
            "ends with a status through exit-with-code; prints a document only if it is 0",
            &[byte(0, "status")],
        ),
        probe(
            "exit-result",
            "ends through exit with ok or err, which has no number",
            &[choice("result", &["ok", "err"])],
        ),
        probe("return-ok", "returns success from main", &[]),
        probe("return-err", "returns failure from main, without a document", &[]),
        probe("trap", "executes unreachable", &[]),
        probe("panic", "panics, with a message on stderr", &[]),
        probe(
            "stderr-then-panic",
            "writes that many bytes to stderr, between a first line and what a panic writes",
            &[number(0, "bytes")],
        ),
        probe("json-and-exit", "prints a JSON failure, then ends with a status", &[byte(0, "status")]),
        probe("not-json", "prints prose and succeeds", &[]),
        probe("two-json", "prints two JSON documents and succeeds", &[]),
        probe("empty", "prints nothing and succeeds", &[]),
        // What a program uses up.
        probe("spin", "computes for ever, without a call", &[]),
        probe(
            "recurse",
            "calls itself without end: until the engine's stack is full, or until the stack in memory is",
            &[Parameter {
                default: Some("calls"),
                ..Parameter { position: None, required: false, ..choice("stack", &["calls", "memory"]) }
            }],
        ),
        probe(
            "grow-memory",
            "grows memory by that many bytes or until growth is refused, and reports",
            &[optional(number(0, "bytes"))],
        ),
        probe("grow-and-touch", "as grow-memory, and writes to every new page", &[optional(number(0, "bytes"))]),
        probe(
            "grow-table",
            "grows a table by that many elements or until growth is refused, and reports",
            &[optional(number(0, "elements"))],
        ),
        probe(
            "stdout",
            "prints a JSON string of exactly that many bytes, quotes included, at least 2",
            &[number(0, "bytes")],
        ),
        probe("stderr", "writes that many bytes to stderr", &[number(0, "bytes")]),
        probe("hostcall-spin", "calls a cheap host function over and over", &[COUNT]),
        probe(
            "big-host-calls",
            "makes expensive host calls over and over: random bytes, or reads or writes of a file in the directory",
            &[
                choice("kind", &["random", "read", "write"]),
                Parameter {
                    default: Some("1048576"),
                    ..Parameter::option("bytes", ValueType::Integer, "size of each")
                },
                COUNT,
                DIRECTORY,
            ],
        ),
        writes(
            "open-handles",
            "opens a file that many times at once, and reports how far it came",
            &[number(0, "handles"), DIRECTORY],
            Effect::Write,
        ),
        // Files.
        writes(
            "write-file",
            "writes a file of that many bytes, abc…xyzabc…",
            &[PATH, number(1, "bytes")],
            Effect::Write,
        ),
        writes("write-text", "writes a text to a file", &[PATH, text(1, "text")], Effect::Write),
        writes("append-text", "appends a text to a file", &[PATH, text(1, "text")], Effect::Write),
        writes(
            "write-at",
            "writes a text at an offset into a file that exists",
            &[PATH, number(1, "offset"), text(2, "text")],
            Effect::Write,
        ),
        writes("truncate", "gives a file another size", &[PATH, number(1, "bytes")], Effect::Write),
        writes(
            "write-files",
            "writes that many files of one byte each, and reports how far it came",
            &[number(0, "files"), DIRECTORY],
            Effect::Write,
        ),
        writes(
            "write-chunked",
            "writes a file in chunks, one call each",
            &[PATH, number(1, "bytes"), number(2, "chunk")],
            Effect::Write,
        ),
        writes("read-file", "reads a file: its length, digest and text", &[PATH], Effect::Read),
        writes("list-dir", "lists a directory, in the order the host gives", &[PATH], Effect::Read),
        writes("tree", "lists a directory and all below it", &[PATH], Effect::Read),
        writes("stat", "says what the host says about a file, through std and through WASI", &[PATH], Effect::Read),
        writes("make-dir", "makes a directory", &[PATH], Effect::Write),
        writes(
            "remove",
            "removes a file, or an empty directory, or with --all whatever is there",
            &[PATH, Parameter::flag("all", "with all below it")],
            Effect::Delete,
        ),
        writes(
            "rename",
            "renames a file or directory",
            &[path(0, "from", "the old path"), path(1, "to", "the new path")],
            Effect::Write,
        ),
        writes(
            "link",
            "makes a hard link",
            &[path(0, "from", "the file"), path(1, "to", "the new link")],
            Effect::Write,
        ),
        writes(
            "symlink",
            "makes a symbolic link",
            &[path(0, "target", "what the link holds"), PATH_AT_1],
            Effect::Write,
        ),
        writes("read-link", "reads what a symbolic link holds", &[PATH], Effect::Read),
        writes(
            "deep-dirs",
            "makes directories inside one another, and reports how far it came",
            &[number(0, "levels"), DIRECTORY],
            Effect::Write,
        ),
        writes(
            "long-name",
            "makes a file with a name of that many bytes, and reports whether it could",
            &[number(0, "bytes"), DIRECTORY],
            Effect::Write,
        ),
        writes("write-then-trap", "writes a file, then traps", &[PATH], Effect::Write),
        writes(
            "write-then-exit",
            "writes a file, prints a document about it, then ends with a status",
            &[PATH, byte(1, "status")],
            Effect::Write,
        ),
        writes("write-then-spin", "writes a file, then computes for ever", &[PATH], Effect::Write),
        // What is not there for a guest.
        probe("read-outside", "tries to read beyond what it was given, and reports each try", &[]),
        writes(
            "follow-links",
            "makes links that point out of the directory, tries to read through them and to open for writing what is behind them (writing nothing), removes them, and reports each try",
            &[DIRECTORY],
            Effect::Write,
        ),
        probe("socket", "tries TCP, UDP and name lookup, and reports each try", &[]),
        // What comes from outside.
        probe("sleep", "sleeps, and reports both clocks before and after", &[number(0, "milliseconds")]),
        probe(
            "poll",
            "waits for several timers at once, until all have fired, and reports in which order",
            &[Parameter { repeated: true, ..number(0, "milliseconds") }],
        ),
        probe("clock", "reads the clocks several times", &[]),
        probe("random", "draws that many bytes from each source of randomness", &[number(0, "bytes")]),
        probe("env", "shows the environment", &[]),
        probe(
            "args",
            "shows the arguments after the word args, whatever they are",
            &[optional(Parameter { repeated: true, ..text(0, "arguments") })],
        ),
        probe("argv0", "shows the program's name", &[]),
        probe("stdin", "reads stdin to its end: length, digest and text", &[]),
        probe("stdin-echo", "copies stdin to stdout, byte for byte, and prints nothing else", &[]),
        probe("float-nan", "makes NaNs in several ways and shows their bits", &[]),
    ],
    errors: &[UNKNOWN_COMMAND, UNKNOWN_FLAG, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, INVALID_VALUE, IO_ERROR, ASKED_FOR],
};

const PATH_AT_1: Parameter = path(1, "path", "a path such as state/a.txt");

/// A command that leaves files alone.
const fn probe(name: &'static str, description: &'static str, parameters: &'static [Parameter]) -> Command {
    Command {
        name,
        description,
        parameters,
        effect: Effect::Read,
        idempotent: true,
        confirmation_required: false,
        output_schema: Schema::Text("{}"),
        errors: USAGE,
        examples: NO_EXAMPLES,
    }
}

const NO_EXAMPLES: &[Example] = &[];

/// A command that works on files.
const fn writes(
    name: &'static str,
    description: &'static str,
    parameters: &'static [Parameter],
    effect: Effect,
) -> Command {
    Command {
        effect,
        idempotent: matches!(effect, Effect::Read),
        output_schema: Schema::Text(r#"{"type":"object","required":["ok","command"]}"#),
        errors: FILES,
        ..probe(name, description, parameters)
    }
}

const fn number(position: u32, name: &'static str) -> Parameter {
    Parameter::positional(position, name, ValueType::Integer, "a number from 0 to 2^63-1")
}

const fn byte(position: u32, name: &'static str) -> Parameter {
    Parameter::positional(position, name, ValueType::Integer, "a number from 0 to 255")
}

const fn text(position: u32, name: &'static str) -> Parameter {
    Parameter { free_text: true, ..Parameter::positional(position, name, ValueType::String, "any text") }
}

const fn path(position: u32, name: &'static str, description: &'static str) -> Parameter {
    Parameter::positional(position, name, ValueType::Path, description)
}

const fn choice(name: &'static str, choices: &'static [&'static str]) -> Parameter {
    Parameter { choices, ..Parameter::positional(0, name, ValueType::String, "one of the choices") }
}

const fn optional(parameter: Parameter) -> Parameter {
    Parameter { required: false, ..parameter }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_package_holds_this_description() {
        let file = Path::new("../packages/probe/schemas/commands.json");
        let packaged = std::fs::read_to_string(file).unwrap();
        let generated = PROBE.to_json().unwrap();
        assert_eq!(
            packaged, generated,
            "renew it: cargo run -p guest-probe --bin probe > tests/packages/probe/schemas/commands.json"
        );
    }

    #[test]
    fn every_command_is_named_once_and_in_the_manifest() {
        let manifest = Path::new("../packages/probe/APP.md");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        for (index, command) in PROBE.commands.iter().enumerate() {
            assert!(PROBE.commands.iter().skip(index + 1).all(|other| other.name != command.name), "{}", command.name);
            assert!(manifest.contains(&format!("\n  - {}\n", command.name)), "APP.md lists {}", command.name);
        }
    }
}

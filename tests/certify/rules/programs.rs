//! Programs that everybody knows, by what they answered when they were asked: the verdicts are ones that a person agrees with. Only
//! `--help`, `--version` and a flag that there is not are tried on a program that does not describe its commands.

use hutch_certify::certify;
use hutch_certify::rule::Status;
use hutch_certify::target::{Facts, Observation, Options, Target, TargetError};
use hutch_model::digest::Digest;
use std::collections::BTreeSet;

struct Program {
    facts: Facts,
    /// The first line of `--help`, the first line of `--version`, and what is said of an unknown flag, with the exit status.
    help: &'static str,
    version: &'static str,
    unknown: (&'static str, u8),
}

impl Target for Program {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn invoke(&mut self, args: &[String], _: &Options) -> Result<Observation, TargetError> {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let (stdout, stderr, status) = match words.as_slice() {
            ["--help"] => (self.help, "", 0),
            ["--version"] => (self.version, "", 0),
            [flag] if flag.starts_with("--") => ("", self.unknown.0, self.unknown.1),
            _ => panic!("{words:?} may change something"),
        };
        let line = |text: &str| if text.is_empty() { Vec::new() } else { format!("{text}\n").into_bytes() };
        Ok(Observation { stdout: line(stdout), stderr: line(stderr), status: Some(status), ..Observation::default() })
    }

    fn program(&mut self) -> Result<Option<Digest>, TargetError> {
        Ok(None)
    }
}

fn verdicts(mut program: Program, status: Status) -> BTreeSet<&'static str> {
    program.facts.sandboxed = false;
    program.facts.may_change = false;
    let report = certify(&mut program).expect("it can be called");
    assert_eq!(report.level, None);
    report.rules.iter().filter(|it| it.status == status).map(|it| it.rule.id).collect()
}

fn git() -> Program {
    Program {
        facts: Facts::sandboxed("git"),
        help: "usage: git [-v | --version] [-h | --help] [-C <path>] [-c <name>=<value>]",
        version: "git version 2.47.3",
        unknown: ("unknown option: --no-such-flag", 129),
    }
}

fn ls() -> Program {
    Program {
        facts: Facts::sandboxed("ls"),
        help: "Usage: ls [OPTION]... [FILE]...",
        version: "ls (GNU coreutils) 9.1",
        unknown: ("ls: unrecognized option '--no-such-flag'\nTry 'ls --help' for more information.", 2),
    }
}

fn jq() -> Program {
    Program {
        facts: Facts::sandboxed("jq"),
        help: "jq - commandline JSON processor [version 1.6]",
        version: "jq-1.6",
        unknown: ("jq: Unknown option --no-such-flag", 2),
    }
}

fn python() -> Program {
    Program {
        facts: Facts::sandboxed("python3"),
        help: "usage: python3 [option] ... [-c cmd | -m mod | file | -] [arg] ...",
        version: "Python 3.11.7",
        unknown: ("unknown option --no-such-flag", 2),
    }
}

fn curl() -> Program {
    Program {
        facts: Facts::sandboxed("curl"),
        help: "Usage: curl [options...] <url>",
        version: "curl 8.5.0 (x86_64-pc-linux-gnu) libcurl/8.5.0 OpenSSL/3.0.13 zlib/1.3 OpenLDAP/2.5.13",
        unknown: ("curl: option --no-such-flag: is unknown\ncurl: try 'curl --help' for more information", 2),
    }
}

fn sqlite() -> Program {
    Program {
        facts: Facts::sandboxed("sqlite3"),
        help: "Usage: sqlite3 [OPTIONS] [FILENAME [SQL]]",
        version: "3.45.1 2024-01-30 16:01:20 e876e51a0ed5c5b3126f52e532044363a014bc594cfefa87ffb5b82257cc467a (64-bit)",
        unknown: ("sqlite3: Error: unknown option: --no-such-flag\nUse -help for a list of options.", 1),
    }
}

#[test]
fn what_well_known_programs_keep() {
    // Failures for people, on standard error, at once, and never with 0; whoever says 2 of a wrong flag keeps X3 and G1; a semantic
    // version is one of three numbers.
    let always = ["E2", "E5", "E7", "X9"];
    for (program, more) in [
        (git(), &["N6"][..]),
        (ls(), &["X3", "G1"]),
        (jq(), &["X3", "G1"]),
        (python(), &["X3", "G1", "N6"]),
        (curl(), &["X3", "G1", "N6"]),
        (sqlite(), &["N6"]),
    ] {
        let expected: BTreeSet<&str> = always.into_iter().chain(more.iter().copied()).collect();
        let name = program.facts.name.clone();
        assert_eq!(verdicts(program, Status::Pass), expected, "{name}");
    }
}

#[test]
fn what_well_known_programs_break() {
    // None describes itself to programs, and none has a code in its failures.
    let always = ["D1", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D10", "D11", "D14", "E1", "E3", "E4", "E6"];
    for (program, more) in [
        (git(), &["X3", "G1"][..]),
        (ls(), &["N6"]),
        (jq(), &["N6"]),
        (python(), &[]),
        (curl(), &[]),
        (sqlite(), &["X3", "G1"]),
    ] {
        let expected: BTreeSet<&str> = always.into_iter().chain(more.iter().copied()).collect();
        let name = program.facts.name.clone();
        assert_eq!(verdicts(program, Status::Fail), expected, "{name}");
    }
}

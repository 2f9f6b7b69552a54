//! Rules that the application contract overrides: each is not applicable where an application keeps what takes the rule's place,
//! and broken where it does not.

use crate::flaws::{self, document, drop_key};
use crate::scripted::{Flaw, NONE, ScriptedTarget};
use hutch_certify::certify;
use hutch_certify::judge::feedback::Subject;
use hutch_certify::rule::Status;
use hutch_certify::target::{Facts, Observation, Options, Target, TargetError};
use hutch_model::digest::Digest;
use serde_json::{Value, json};
use std::collections::BTreeSet;

struct Case {
    rules: &'static [&'static str],
    /// What they then are.
    instead: Status,
    /// Breaks the rules, and keeps what takes their place.
    held: Flaw,
    /// Breaks that too.
    broken: Flaw,
}

fn without_parameter(help: &mut Value, name: &str) {
    help["parameters"].as_array_mut().expect("there are parameters").retain(|it| it["name"] != name);
}

fn without_commands(help: &mut Value, word: &str) {
    let commands = help["commands"].as_array_mut().expect("there are commands");
    commands.retain(|it| it["name"].as_str().and_then(|name| name.split(' ').next()) != Some(word));
}

const CASES: &[Case] = &[
    Case {
        rules: &["E1", "E2"],
        instead: Status::NotApplicable,
        held: Flaw {
            reply: Some(|_, reply, _| {
                if let Ok(mut error) = serde_json::from_str::<Value>(&reply.stderr) {
                    drop_key(&mut error, "error");
                    reply.stdout = format!("{}\n", json!({"ok": false, "error": error}));
                    reply.stderr.clear();
                }
            }),
            ..NONE
        },
        broken: Flaw {
            reply: Some(|_, reply, _| {
                if !reply.stderr.is_empty() {
                    reply.stderr = "it failed\n".to_owned();
                    reply.stdout = reply.stderr.clone();
                }
            }),
            ..NONE
        },
    },
    Case {
        rules: &["R1", "R2", "R3"],
        instead: Status::ByHost,
        held: Flaw {
            reply: Some(|call, reply, _| {
                if call.is("stats") {
                    document(reply, |answer| ["rules", "skills", "issue"].iter().for_each(|key| drop_key(answer, key)));
                }
            }),
            ..NONE
        },
        broken: Flaw {
            reply: Some(|call, reply, _| {
                if call.is("stats") {
                    reply.stdout = "notes: 2\n".to_owned();
                } else if call.calls("list") {
                    document(reply, |answer| {
                        ["rules", "skills", "issue"].iter().for_each(|key| drop_key(answer, key));
                    });
                }
            }),
            ..NONE
        },
    },
    Case {
        rules: &["N4"],
        instead: Status::NotApplicable,
        held: Flaw { help: Some(|help| without_parameter(help, "--yes")), ..NONE },
        broken: Flaw { help: Some(|help| without_parameter(help, "--brief")), ..NONE },
    },
    Case {
        rules: &["O9"],
        instead: Status::NotApplicable,
        held: Flaw {
            reply: Some(|call, reply, _| {
                if call.calls("list") && call.has("--ndjson") {
                    reply.stdout.push_str("and so on\n");
                }
            }),
            ..NONE
        },
        broken: Flaw {
            reply: Some(|call, reply, _| {
                if call.calls("list") && call.has("--ndjson") {
                    reply.stdout.push_str("and so on\n");
                } else if call.calls("list") {
                    document(reply, |answer| drop_key(answer, "has_more"));
                }
            }),
            ..NONE
        },
    },
    Case {
        rules: &["S8"],
        instead: Status::ByHost,
        held: Flaw { help: Some(|help| without_parameter(help, "--sanitize")), ..NONE },
        broken: Flaw {
            help: Some(|help| without_parameter(help, "--sanitize")),
            // Whatever it prints, the host cleans it: what is left to break is to answer at all.
            reply: Some(|call, reply, _| {
                if call.args.iter().any(|word| word.contains('\u{202e}')) {
                    (reply.status, reply.stdout, reply.stderr) = (1, String::new(), String::new());
                }
            }),
            ..NONE
        },
    },
    Case {
        rules: &["G5"],
        instead: Status::ByHost,
        held: Flaw { help: Some(|help| without_parameter(help, "--redact")), ..NONE },
        broken: Flaw {
            help: Some(|help| without_parameter(help, "--redact")),
            // One word with the address, so that it goes when that goes.
            reply: Some(|_, reply, _| {
                reply.stdout = reply.stdout.replace("probe-of-redaction ", "probe-of-redaction.")
            }),
            ..NONE
        },
    },
    Case {
        rules: &["D14", "D18"],
        instead: Status::NotApplicable,
        held: Flaw {
            files: Some(|files| {
                files.retain(|path, _| !path.starts_with("agent/skills/"));
                let skill = "---\nname: usage\ndescription: How to use it\n---\nUse it.\n";
                files.insert("skills/usage/SKILL.md".to_owned(), skill.to_owned());
            }),
            ..NONE
        },
        broken: Flaw {
            files: Some(|files| {
                files.retain(|path, _| !path.starts_with("agent/skills/"));
                files.insert("skills/usage/SKILL.md".to_owned(), "---\nname: usage\n---\nUse it.\n".to_owned());
            }),
            ..NONE
        },
    },
    Case {
        rules: &["M2"],
        instead: Status::ByHost,
        held: Flaw { help: Some(|help| without_commands(help, "mcp")), ..NONE },
        broken: Flaw {
            help: Some(|help| {
                without_commands(help, "mcp");
                // A command of which the contract says nothing, so that no tool is made of it.
                help["commands"][0]["x-no-tool"] = json!(true);
            }),
            ..NONE
        },
    },
    Case {
        rules: &["F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8"],
        instead: Status::ByHost,
        held: Flaw {
            help: Some(|help| {
                without_commands(help, "issue");
                help["issue"] = json!("tell the host: hutch issue create --type bug --message TEXT");
            }),
            ..NONE
        },
        broken: Flaw { help: Some(|help| without_commands(help, "issue")), ..NONE },
    },
];

#[test]
fn what_takes_a_rules_place_can_be_kept_and_broken() {
    let mut wrong = String::new();
    for case in CASES {
        for (flaw, wanted) in [(case.held, case.instead), (case.broken, Status::Fail)] {
            let report = certify(&mut ScriptedTarget::hosted(flaw)).expect("a scripted target can always be called");
            for it in report.rules.iter().filter(|it| case.rules.contains(&it.rule.id)) {
                let said = it.reason.as_deref().is_some_and(|reason| reason.starts_with("decision \""));
                if it.status != wanted || said != (wanted == case.instead) {
                    wrong += &format!("{}: {wanted:?} expected, {it:?}\n", it.rule.id);
                }
            }
            let overridden: BTreeSet<&str> = report.overridden.iter().copied().collect();
            let wanted_overridden = wanted == case.instead;
            if case.rules.iter().any(|rule| overridden.contains(rule) != wanted_overridden) {
                wrong += &format!("{:?}: overridden are {overridden:?}\n", case.rules);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn what_takes_a_rules_place_is_a_decision_that_is_written_down() {
    let decisions = std::fs::read_to_string("../docs/decisions.md").expect("the page about decisions");
    let mut cited = BTreeSet::new();
    for case in CASES {
        let report = certify(&mut ScriptedTarget::hosted(case.held)).expect("a scripted target can always be called");
        for it in report.rules.iter().filter(|it| case.rules.contains(&it.rule.id)) {
            let reason = it.reason.as_deref().unwrap_or_default();
            let rows = reason.split('"').nth(1).expect("the name of a decision").split("; ");
            for row in rows {
                assert!(
                    decisions.contains(&format!("\n  | {row} | ")),
                    "{} cites {row:?}, which is nowhere",
                    it.rule.id
                );
                cited.insert(row.to_owned());
            }
        }
    }
    let rows = decisions.split("\n  | decision |").nth(1).expect("the table of decisions");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with("  |")).count();
    assert_eq!(cited.len(), rows, "a decision that nothing cites");
}

#[test]
fn every_rule_that_is_overridden_has_a_case() {
    let cases: BTreeSet<&str> = CASES.iter().flat_map(|case| case.rules).copied().collect();
    let overridden: BTreeSet<&str> = hutch_certify::judge::overridable().collect();
    assert_eq!(cases, overridden);
}

/// What all calls wrote is kept until it is judged: a target that floods it is asked no further, and the report says so.
#[test]
fn a_target_that_writes_without_end_is_asked_no_further() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let flood = Flaw {
        reply: Some(|call, reply, _| {
            CALLS.fetch_max(call.nth + 1, Ordering::Relaxed);
            reply.stdout.push_str(&" ".repeat(64 << 20));
        }),
        ..NONE
    };
    let report = certify(&mut ScriptedTarget::hosted(flood)).expect("it can be called");
    assert_eq!(CALLS.load(Ordering::Relaxed), 4, "four calls write 256 MiB");
    assert!(report.left_out > 10, "{}", report.left_out);
    assert_eq!(report.level, None);
}

/// A host's command line that takes issues about packages: the scripted one, that notes what `--package` names.
struct Host {
    own: ScriptedTarget,
    /// What it takes every issue to be about.
    package: Value,
}

impl Target for Host {
    fn facts(&self) -> &Facts {
        self.own.facts()
    }

    fn invoke(&mut self, args: &[String], options: &Options) -> Result<Observation, TargetError> {
        let at = args.iter().position(|word| word == "--package");
        let args: Vec<String> = match at {
            Some(at) => args.iter().take(at).chain(args.iter().skip(at + 2)).cloned().collect(),
            None => args.to_vec(),
        };
        let mut seen = self.own.invoke(&args, options)?;
        if let Ok(mut answer) = serde_json::from_slice::<Value>(&seen.stdout)
            && let Some(issue) = answer.get_mut("result").and_then(Value::as_object_mut)
            && issue.contains_key("message")
        {
            issue.insert("package".to_owned(), self.package.clone());
            seen.stdout = format!("{answer}\n").into_bytes();
        }
        Ok(seen)
    }

    fn program(&mut self) -> Result<Option<Digest>, TargetError> {
        Ok(None)
    }
}

/// What a host does with feedback is tried, and not only said: each flaw of its issues breaks the rule that it takes the place of.
#[test]
fn a_hosts_feedback_is_what_it_does_with_an_issue() {
    let good = json!({"slug": "memo", "version": "2.0.0"});
    let found = |flaw: Flaw, package: &Value| {
        let mut host = Host { own: ScriptedTarget::new(flaw), package: package.clone() };
        let more = ["--package".to_owned(), "memo".to_owned()];
        hutch_certify::feedback(&mut host, &more, &Subject { slug: "memo", version: "2.0.0" }).unwrap()
    };
    let statuses = |flaw: Flaw, package: &Value| -> BTreeSet<(String, bool)> {
        found(flaw, package).into_iter().map(|(id, it)| (id.to_owned(), it.status == Status::Pass)).collect()
    };
    let all = |kept: bool| -> BTreeSet<(String, bool)> { (1..=8).map(|at| (format!("F{at}"), kept)).collect() };
    assert_eq!(statuses(NONE, &good), all(true), "{:#?}", found(NONE, &good));
    for other in [
        json!(null),
        json!({"slug": "memo"}),
        json!({"slug": "memo", "version": "1.0.0"}),
        json!({"slug": "notes", "version": "2.0.0"}),
    ] {
        assert_eq!(statuses(NONE, &other), all(false), "{other}");
    }
    let mut tried = BTreeSet::new();
    for flaw in flaws::all().filter(|flaw| flaw.rule.starts_with('F')) {
        let rule = flaw.rule;
        let findings = found(flaw, &good);
        assert_eq!(findings[rule].status, Status::Fail, "{rule}: {findings:#?}");
        // An application that says whom to write to is judged by what the host then does.
        for (findings, status) in [(findings, Status::Fail), (found(NONE, &good), Status::ByHost)] {
            let said = CASES.iter().find(|case| case.rules.contains(&rule)).unwrap().held;
            let mut target = ScriptedTarget::hosted(said);
            target.take_feedback(findings);
            let report = certify(&mut target).unwrap();
            let judged = report.rules.iter().find(|it| it.rule.id == rule).unwrap();
            assert_eq!(judged.status, status, "{rule}: {} {:?}", judged.evidence, judged.reason);
        }
        tried.insert(rule);
    }
    assert_eq!(tried.len(), 8);
}

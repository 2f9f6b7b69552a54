//! Every rule, kept and broken: one command line keeps all 98; with one flaw at a time it breaks one of them, and that one alone,
//! or with it those that can't be kept without it. So every check can say yes, and every check can say no.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, reason = "a helper of a test that fails is the test failing")]

mod cheats;
mod crammed;
mod description;
mod flaws;
mod hosted;
mod notes;
mod placeholders;
mod programs;
mod scripted;

use hutch_certify::certify;
use hutch_certify::report::Report;
use hutch_certify::rule::{Level, Status};
use hutch_certify::table::{RULES, rule};
use scripted::{Flaw, NONE, ScriptedTarget};
use std::collections::BTreeSet;

fn report(flaw: Flaw) -> Report {
    certify(&mut ScriptedTarget::new(flaw)).expect("a scripted target can always be called")
}

fn shown(report: &Report, ids: &BTreeSet<&str>) -> String {
    let judged = report.rules.iter().filter(|it| ids.contains(it.rule.id));
    judged.map(|it| format!("  {} {:?}: {} {:?}\n", it.rule.id, it.status, it.evidence, it.reason)).collect()
}

#[test]
fn one_command_line_keeps_every_rule() {
    let report = report(NONE);
    let others: BTreeSet<&str> =
        report.rules.iter().filter(|it| it.status != Status::Pass).map(|it| it.rule.id).collect();
    assert!(others.is_empty(), "\n{}", shown(&report, &others));
    assert_eq!(report.level, Some(Level::Native));
    assert_eq!(report.unreached, Vec::<String>::new());
    println!(
        "{} of {} rules have a command line that keeps them, with {} calls",
        report.summary.pass,
        RULES.len(),
        report.summary.calls
    );
}

#[test]
fn each_flaw_breaks_its_own_rule_and_no_other() {
    let mut wrong = String::new();
    for flaw in flaws::all() {
        let report = report(flaw);
        let broken: BTreeSet<&str> = report.fix_first.iter().copied().collect();
        let expected: BTreeSet<&str> = flaw.also.iter().copied().chain([flaw.rule]).collect();
        let own = report.rules.iter().find(|it| it.rule.id == flaw.rule).map(|it| it.status);
        if own != Some(Status::Fail) || broken != expected {
            wrong += &format!(
                "{}: expected {expected:?} to break, but\n{}",
                flaw.rule,
                shown(&report, &(&broken | &expected))
            );
        }
        let layer = rule(flaw.rule).expect("a flaw names a rule").layer;
        assert!(report.level.is_none_or(|level| !level.includes(layer)), "{} does not cost its level", flaw.rule);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_rule_has_a_flaw() {
    let broken: Vec<&str> = flaws::all().map(|flaw| flaw.rule).collect();
    let once: BTreeSet<&str> = broken.iter().copied().collect();
    let rules: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(once, rules);
    println!("{} of {} rules have a command line that breaks them, in {} cases", once.len(), RULES.len(), broken.len());
}

//! What a certification says: each rule, the level reached, and what to mend first.

use crate::judge::overridable;
use crate::read;
use crate::rule::{Finding, Level, Rule, Status};
use crate::survey::Survey;
use crate::target::{Contract, Outside};
use hutch_model::hidden::is_hidden;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// One rule, judged.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// What became of it.
    pub status: Status,
    /// What was seen.
    pub evidence: String,
    /// Why it does not apply, or was not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What becomes of it without the host before the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_host: Option<Status>,
}

/// How many rules have each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// Kept.
    pub pass: usize,
    /// Broken.
    pub fail: usize,
    /// Kept by the host.
    pub by_host: usize,
    /// Asking for nothing.
    pub not_applicable: usize,
    /// Not decided.
    pub unknown: usize,
    /// All.
    pub rules: usize,
    /// Calls that were made.
    pub calls: usize,
}

/// A certification.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// What was tested.
    pub target: String,
    /// Whether what it did stayed inside.
    pub sandboxed: bool,
    /// Whether changing and destructive calls were made.
    pub all_calls: bool,
    /// What becomes of what a native program changes outside of its home, where it does not keep inside by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// From this follow the words, the moments and the chances of all calls: `--seed` repeats them.
    pub seed: String,
    /// The contract that it was held to.
    pub contract: Contract,
    /// The highest level reached.
    pub level: Option<Level>,
    /// The level that was asked for.
    pub asked: Level,
    /// The highest level that an application reaches by itself, without the host before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Level>")]
    pub level_without_host: Option<Option<Level>>,
    /// How many rules have each status.
    pub summary: Summary,
    /// Rules that the application contract overrides here; the reason of each says what takes its place.
    pub overridden: Vec<&'static str>,
    /// What stands in the way, the lowest level and the highest priority first.
    pub fix_first: Vec<&'static str>,
    /// Commands of which no valid call was found.
    pub unreached: Vec<String>,
    /// Calls that were not made, because there were enough or the time was over. A rule that they are for is not known to be kept.
    pub left_out: usize,
    /// Every rule.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub rules: Vec<Judged>,
}

impl Report {
    /// The report of what was judged. The level asked for is the lowest.
    pub fn new(survey: &Survey, findings: Vec<(&'static Rule, Finding)>) -> Report {
        let rules: Vec<Judged> = findings
            .into_iter()
            .map(|(rule, Finding { status, evidence, reason })| Judged {
                rule: *rule,
                status,
                evidence: line(&evidence),
                reason: reason.as_deref().map(line),
                without_host: None,
            })
            .collect();
        let count = |status| rules.iter().filter(|rule| rule.status == status).count();
        let summary = Summary {
            pass: count(Status::Pass),
            fail: count(Status::Fail),
            by_host: count(Status::ByHost),
            not_applicable: count(Status::NotApplicable),
            unknown: count(Status::Unknown),
            rules: rules.len(),
            calls: survey.probes.len(),
        };
        let mut in_the_way: Vec<&Judged> = rules.iter().filter(|rule| !rule.status.grants()).collect();
        // What is known to be broken comes before what is not known.
        in_the_way.sort_by_key(|it| (it.rule.layer, it.rule.priority, it.status));
        Report {
            target: survey.facts.name.clone(),
            sandboxed: survey.facts.sandboxed,
            all_calls: survey.facts.may_change,
            outside: survey.facts.outside,
            seed: survey.facts.draws.0.to_string(),
            contract: survey.facts.contract,
            level: level(&rules),
            asked: Level::Friendly,
            level_without_host: None,
            summary,
            overridden: match survey.facts.contract {
                Contract::CommandLine => Vec::new(),
                Contract::Application => {
                    let is_replaced = |status| matches!(status, Status::NotApplicable | Status::ByHost);
                    let replaced = |it: &&Judged| is_replaced(it.status) && overridable().any(|id| id == it.rule.id);
                    rules.iter().filter(replaced).map(|it| it.rule.id).collect()
                }
            },
            fix_first: in_the_way.iter().map(|it| it.rule.id).collect(),
            unreached: survey.unreached.iter().map(|name| read::named(name)).collect(),
            left_out: survey.left_out.values().sum(),
            rules,
        }
    }

    /// With the level that was asked for.
    #[must_use]
    pub fn asked(self, asked: Level) -> Report {
        Report { asked, ..self }
    }

    /// With what another report says of the same application without its host.
    #[must_use]
    pub fn beside(mut self, raw: &Report) -> Report {
        self.level_without_host = Some(raw.level);
        for (judged, raw) in self.rules.iter_mut().zip(&raw.rules) {
            judged.without_host = Some(raw.status);
        }
        self
    }

    /// Whether the level that was asked for is reached.
    pub fn is_reached(&self) -> bool {
        self.level.is_some_and(|level| level >= self.asked)
    }

    /// The level above the one reached, and how many rules stand in its way.
    pub fn next_level(&self) -> Option<(Level, usize)> {
        let next = Level::ALL.into_iter().find(|level| self.level.is_none_or(|reached| *level > reached))?;
        let missing = self.rules.iter().filter(|it| next.includes(it.rule.layer) && !it.status.grants());
        Some((next, missing.count()))
    }

    /// The name of the level reached.
    pub fn level_name(&self) -> &'static str {
        self.level.map_or("none", Level::name)
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let summary = &self.summary;
        let place = match (self.sandboxed, self.all_calls, self.outside) {
            (true, ..) => "in the sandbox",
            (false, true, _) => "not sandboxed, in a home of its own",
            (false, false, Some(Outside::Refused)) => {
                "NOT sandboxed, its files kept to its home; only calls that should change nothing were made"
            }
            (false, false, _) => {
                "NOT sandboxed, with nothing around it, so only calls that should change nothing were made"
            }
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: level {} ({} asked), {place}", self.target, self.level_name(), self.asked.name());
        if let Some(raw) = self.level_without_host {
            let _ = writeln!(text, "without the host before it: level {}", raw.map_or("none", Level::name));
        }
        let _ = writeln!(text, "drawn by --seed {}", self.seed);
        let _ = writeln!(
            text,
            "{} rules: {} pass, {} by the host, {} not applicable, {} fail, {} unknown; {} calls",
            summary.rules,
            summary.pass,
            summary.by_host,
            summary.not_applicable,
            summary.fail,
            summary.unknown,
            summary.calls
        );
        if !self.unreached.is_empty() {
            const SHOWN: usize = 20;
            let shown: Vec<&str> = self.unreached.iter().take(SHOWN).map(String::as_str).collect();
            let more = if shown.len() < self.unreached.len() { ", …" } else { "" };
            let _ = writeln!(text, "no valid call was found of: {}{more}", shown.join(", "));
        }
        if self.left_out > 0 {
            let _ = writeln!(text, "{} calls were not made", self.left_out);
        }
        self.section(&mut text, "to mend first", self.fix_first.iter().copied());
        let of = |status| self.rules.iter().filter(move |it| it.status == status).map(|it| it.rule.id);
        self.section(&mut text, "the host's doing", of(Status::ByHost));
        self.section(&mut text, "not applicable", of(Status::NotApplicable));
        let kept: Vec<&str> = of(Status::Pass).collect();
        let _ = writeln!(text, "\nkept\n  {}", kept.join(" "));
        text
    }

    fn section(&self, text: &mut String, title: &str, ids: impl Iterator<Item = &'static str>) {
        let judged = ids.filter_map(|id| self.rules.iter().find(|it| it.rule.id == id));
        for (at, it) in judged.enumerate() {
            if at == 0 {
                let _ = writeln!(text, "\n{title}");
            }
            let priority = format!("{:?}", it.rule.priority);
            let _ = writeln!(text, "  {:<4}{priority} {:<15}{}", it.rule.id, it.status.name(), it.rule.text);
            for line in [it.reason.as_deref().unwrap_or_default(), &it.evidence] {
                if !line.is_empty() {
                    let _ = writeln!(text, "      {line}");
                }
            }
        }
    }
}

/// What was seen, on one line and no longer than somebody reads. The target's own words are quoted in it by then.
fn line(text: &str) -> String {
    const CHARACTERS: usize = 2000;
    let beginning: String = text.chars().take(CHARACTERS).collect();
    let dots = if beginning.len() < text.len() { "…" } else { "" };
    format!("{beginning}{dots}").replace(is_hidden, "\u{fffd}")
}

/// The highest level of which every rule is kept or not applicable.
fn level(rules: &[Judged]) -> Option<Level> {
    let granted = |level: &Level| rules.iter().filter(|it| level.includes(it.rule.layer)).all(|it| it.status.grants());
    Level::ALL.into_iter().take_while(granted).last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Layer;
    use crate::table::RULES;

    fn with(layer: Option<Layer>, status: Status) -> Option<Level> {
        let mut first = true;
        let judged = RULES.iter().map(|rule| {
            let broken = Some(rule.layer) == layer && std::mem::take(&mut first);
            let status = if broken { status } else { Status::Pass };
            Judged { rule: *rule, status, evidence: String::new(), reason: None, without_host: None }
        });
        level(&judged.collect::<Vec<_>>())
    }

    #[test]
    fn one_rule_in_the_way_costs_its_level_and_those_above() {
        for status in [Status::Fail, Status::Unknown] {
            assert_eq!(with(Some(Layer::Core), status), None);
            assert_eq!(with(Some(Layer::Recommended), status), Some(Level::Friendly));
            assert_eq!(with(Some(Layer::Ecosystem), status), Some(Level::Ready));
        }
        assert_eq!(with(Some(Layer::Core), Status::NotApplicable), Some(Level::Native));
        assert_eq!(with(None, Status::Pass), Some(Level::Native));
    }
}

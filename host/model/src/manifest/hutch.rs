//! What stands under `metadata.hutch`: the requests that this host understands. Unknown keys are refused here.

use super::{Guard, Requests};
use crate::command_line::{EntryCommand, PAYLOAD_FOLDER};
use crate::diagnostic::{Code, Position, Problems, shown};
use crate::fields::optional;
use crate::limits::{Limit, Unit};
use crate::names::{EnvironmentName, PackagePath};
use crate::node::{Data, Entry, Node};
use crate::text::Text;
use std::collections::BTreeMap;

const KNOWN: [&str; 7] = ["state", "resources", "mounts", "env", "limits", "guard", "feedback"];

/// Files and folders of every package. State lies in none of them: a run must not change what the package is.
const FIXED: [&str; 4] = [super::MANIFEST_FILE, PAYLOAD_FOLDER, "skills", "schemas"];

pub(super) fn read(node: &Node, entry: Option<&EntryCommand>, problems: &mut Problems) -> Requests {
    let Some(entries) = problems.map("metadata.hutch", node) else { return Requests::default() };
    problems.only("metadata.hutch", entries, &KNOWN);
    let state = paths("state", entries, problems);
    let resources = paths("resources", entries, problems);
    let mounts = paths("mounts", entries, problems);
    report_overlaps(&state, &resources, &mounts, entry, problems);
    let plain = |paths: Vec<Placed>| paths.into_iter().map(|placed| placed.path).collect();
    Requests {
        state: plain(state),
        resources: plain(resources),
        mounts: plain(mounts),
        env: match optional(entries, "env") {
            Some(node) => problems.names("metadata.hutch.env", node, Code::EnvironmentInvalid, EnvironmentName::parse),
            None => Vec::new(),
        },
        limits: optional(entries, "limits").map(|node| limits(node, problems)).unwrap_or_default(),
        guard: optional(entries, "guard").and_then(|node| {
            // Switching it off is the operator's alone.
            let choices = [("strict", Guard::Strict), ("text", Guard::Text)];
            problems.choice("metadata.hutch.guard", node, &choices)
        }),
        feedback: optional(entries, "feedback").and_then(|node| feedback(node, problems)),
    }
}

/// Where people write to: nothing is sent there by this host.
fn feedback(node: &Node, problems: &mut Problems) -> Option<String> {
    const LABEL: &str = "metadata.hutch.feedback";
    let text = problems.text(LABEL, node, Text::LINE)?;
    let rest = ["https://", "mailto:"].iter().find_map(|start| text.strip_prefix(start));
    if rest.is_none_or(|rest| rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_graphic())) {
        let message =
            format!("{LABEL}: expected an address that begins with https:// or mailto:, found {}", shown(text));
        problems.report(Code::ValueInvalid, node.at, message);
        return None;
    }
    Some(text.to_owned())
}

/// A declared path, and where it is declared.
struct Placed {
    list: &'static str,
    at: Position,
    path: PackagePath,
}

fn paths(list: &'static str, entries: &[Entry], problems: &mut Problems) -> Vec<Placed> {
    let Some(node) = optional(entries, list) else { return Vec::new() };
    let label = format!("metadata.hutch.{list}");
    let parsed = problems.names(&label, node, Code::PathInvalid, PackagePath::parse);
    let Data::List(items) = &node.data else { return Vec::new() };
    let place = |path: PackagePath| {
        let item = items.iter().find(|item| matches!(&item.data, Data::Text(text) if text == path.as_str()));
        Placed { list, at: item.map_or(node.at, |item| item.at), path }
    };
    parsed.into_iter().map(place).collect()
}

/// Declared paths become directories side by side in one guest; none may be another's parent. State may lie in `app/`
/// (`app/state` is customary) but may not cover the payload.
fn report_overlaps(
    state: &[Placed],
    resources: &[Placed],
    mounts: &[Placed],
    entry: Option<&EntryCommand>,
    problems: &mut Problems,
) {
    let all: Vec<&Placed> = state.iter().chain(resources).chain(mounts).collect();
    for (index, placed) in all.iter().enumerate() {
        let earlier = all.iter().take(index).find(|other| other.path.overlaps(&placed.path));
        if let Some(other) = earlier {
            let message = format!(
                "{} {} overlaps {} {}",
                placed.list,
                shown(placed.path.as_str()),
                other.list,
                shown(other.path.as_str())
            );
            problems.report(Code::PathOverlap, placed.at, message);
        }
    }
    for placed in state.iter().chain(mounts) {
        let first = placed.path.components().next().unwrap_or_default().to_lowercase();
        let whole = placed.path.components().count() == 1;
        let fixed = FIXED.iter().find(|fixed| fixed.to_lowercase() == first && (whole || **fixed != PAYLOAD_FOLDER));
        let covers_payload = entry.is_some_and(|entry| entry.component().overlaps(&placed.path));
        if let Some(fixed) = fixed {
            let message =
                format!("{} {} covers {fixed}, which every package has", placed.list, shown(placed.path.as_str()));
            problems.report(Code::PathOverlap, placed.at, message);
        } else if covers_payload {
            let message = format!("{} {} covers the component", placed.list, shown(placed.path.as_str()));
            problems.report(Code::PathOverlap, placed.at, message);
        }
    }
}

fn limits(node: &Node, problems: &mut Problems) -> BTreeMap<Limit, u64> {
    let mut limits = BTreeMap::new();
    for entry in problems.map("metadata.hutch.limits", node).unwrap_or_default() {
        let Some(limit) = Limit::from_name(&entry.key) else {
            let message = format!("there is no limit {}", shown(&entry.key));
            let names = Limit::ALL.iter().map(|limit| limit.name());
            match problems.suggestion(&entry.key, names) {
                Some(near) => {
                    problems.report_with(Code::LimitUnknown, entry.at, message, format!("did you mean {near}?"))
                }
                None => problems.report(Code::LimitUnknown, entry.at, message),
            }
            continue;
        };
        let Some(value) = amount(&entry.value, limit.unit()) else {
            let message =
                format!("{}: expected {}, found {}", limit.name(), limit.unit().expected(), entry.value.described());
            problems.report(Code::LimitInvalid, entry.value.at, message);
            continue;
        };
        if value > limit.info().ceiling {
            let message =
                format!("{}: {value} is above the ceiling {}, which is used", limit.name(), limit.info().ceiling);
            problems.report(Code::LimitAboveCeiling, entry.value.at, message);
        }
        limits.insert(limit, value);
    }
    limits
}

fn amount(node: &Node, unit: Unit) -> Option<u64> {
    match &node.data {
        Data::Number { value, .. } => value.as_u64().filter(|value| *value > 0),
        // A bare number is a number, not text.
        Data::Text(text) if !text.bytes().all(|byte| byte.is_ascii_digit()) => unit.parse(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_about_packages_has_a_line_for_each_key() {
        let page = include_str!("../../../docs/packages.md");
        let table = page.split_once("| key | value | what it asks for |\n|---|---|---|\n").unwrap().1;
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let keys: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(keys, KNOWN);
    }

    fn read_amount(text: &str, unit: Unit) -> Option<u64> {
        amount(&Node { at: Position::START, data: Data::Text(text.to_owned()) }, unit)
    }

    #[test]
    fn amounts_have_units() {
        assert_eq!(read_amount("64MiB", Unit::Bytes), Some(64 << 20));
        assert_eq!(read_amount("3kB", Unit::Bytes), Some(3_000));
        assert_eq!(read_amount("2s", Unit::Milliseconds), Some(2_000));
        assert_eq!(read_amount("250ms", Unit::Milliseconds), Some(250));
        assert_eq!(read_amount("1h", Unit::Milliseconds), Some(3_600_000));
        for (text, unit) in [
            ("64mib", Unit::Bytes),
            ("64", Unit::Bytes),
            ("2s", Unit::Bytes),
            ("MiB", Unit::Bytes),
            ("0B", Unit::Bytes),
            ("-1B", Unit::Bytes),
            ("1.5MiB", Unit::Bytes),
            ("99999999999999999999B", Unit::Bytes),
            ("18446744073709551615GiB", Unit::Bytes),
            ("2m", Unit::Milliseconds),
            ("2s", Unit::Count),
            ("", Unit::Count),
        ] {
            assert_eq!(read_amount(text, unit), None, "{text}");
        }
    }
}

//! M: what a project has beside its program.

use super::{Check, each, files, says};
use crate::read;
use crate::rule::Finding;
use crate::survey::{Purpose, Survey};
use serde_json::Value;

pub(super) const CHECKS: &[(&str, Check)] = &[("M1", agents_file), ("M2", mcp_schema), ("M3", changelog)];

fn agents_file(survey: &Survey) -> Finding {
    match files(survey) {
        Err(finding) => finding,
        Ok(files) => Finding::of(
            files.0.get("AGENTS.md").is_some_and(|text| says(text)),
            "AGENTS.md is there",
            "there is no AGENTS.md with text in it",
        ),
    }
}

fn mcp_schema(survey: &Survey) -> Finding {
    let none = match survey.description.commands.is_empty() {
        true => Finding::unknown("the program does not describe its commands"),
        false => Finding::fail("no command is called mcp, and there is no --mcp"),
    };
    each(survey.of_purpose(Purpose::Mcp), none, |probe| {
        let answer = read::document(&probe.seen.stdout).unwrap_or_default();
        let tools = answer.get("tools").or_else(|| answer.pointer("/result/tools")).and_then(Value::as_array);
        let tools = tools.filter(|tools| !tools.is_empty()).ok_or("there is no tools[]")?;
        let whole = |tool: &Value| {
            tool.get("name").is_some_and(Value::is_string) && tool.get("inputSchema").is_some_and(Value::is_object)
        };
        if !tools.iter().all(whole) {
            return Err("a tool has no name or no inputSchema".to_owned());
        }
        // Where commands take something, some tool must.
        let takes = |tool: &Value| {
            tool["inputSchema"].get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty())
        };
        let commands = &survey.description.commands;
        match commands.iter().any(|command| !command.parameters.is_empty()) && !tools.iter().any(takes) {
            true => Err("no tool takes anything, and commands do".to_owned()),
            false => Ok(()),
        }
    })
}

/// Whether a line marks what follows, or itself, as a breaking change: what stands in a sentence marks nothing.
fn marks_breaking(line: &str) -> bool {
    line.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase().starts_with("breaking")
}

fn changelog(survey: &Survey) -> Finding {
    match files(survey) {
        Err(finding) => finding,
        Ok(files) => {
            let text = files.0.get("CHANGELOG.md");
            // A mark alone marks nothing.
            let says_more = |text: &str| text.lines().any(|line| says(line) && !marks_breaking(line));
            let marks = text.is_some_and(|text| text.lines().any(marks_breaking) && says_more(text));
            Finding::of(
                marks,
                "CHANGELOG.md marks breaking changes",
                match text {
                    Some(_) => "CHANGELOG.md says nothing of breaking changes",
                    None => "there is no CHANGELOG.md",
                },
            )
        }
    }
}

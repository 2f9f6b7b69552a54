//! D: what a program says of itself.

use super::{Check, absent, alike, each, files, listed, says};
use crate::describe::{Command, Description, is_known_type, output_schema};
use crate::read;
use crate::rule::Finding;
use crate::survey::{Probe, Purpose, Survey};
use crate::target::{Contract, Files};
use serde_json::Value;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("D1", help_is_json),
    ("D2", command_help),
    ("D3", help_and_commands),
    ("D4", types),
    ("D5", choices),
    ("D6", defaults),
    ("D7", required),
    ("D8", output_schemas),
    ("D9", descriptions),
    ("D10", version),
    ("D11", context_in_help),
    ("D12", brief_file),
    ("D13", rule_files),
    ("D14", skill_files),
    ("D15", brief),
    ("D16", modes),
    ("D17", rule_front_matter),
    ("D18", skill_front_matter),
];

/// The JSON of `--help`, or what to say without it.
fn help(survey: &Survey) -> Result<&Value, Finding> {
    survey.help.as_ref().ok_or_else(|| {
        let seen = survey.of_purpose(Purpose::Help).next();
        let printed = seen.map_or_else(String::new, |probe| read::shown(&probe.seen.stdout));
        Finding::fail(format!("--help prints no JSON object: {printed}"))
    })
}

/// Whether there is a description to judge: that of `--help`, or before an application the contract that its host shows.
fn described(survey: &Survey) -> Result<(), Finding> {
    match survey.facts.contract {
        Contract::Application if survey.facts.stored_description.is_some() => Ok(()),
        _ => help(survey).map(|_| ()),
    }
}

fn help_is_json(survey: &Survey) -> Finding {
    let count = |help: &Value| help.get("commands").and_then(Value::as_array).map_or(0, Vec::len);
    let listed = survey.help.as_ref().map(Description::read);
    let listed: Vec<_> = listed.iter().flat_map(|help| &help.commands).map(Command::name).collect();
    let hidden = survey.description.commands.iter().map(Command::name).find(|name| !listed.contains(name));
    match help(survey) {
        Ok(help) if count(help) > 0 && hidden.is_some() => Finding::fail(format!(
            "--help does not list {}, which is described",
            read::named(&hidden.unwrap_or_default())
        )),
        Ok(help) if count(help) > 0 => Finding::pass(format!("--help lists {} commands", count(help))),
        Ok(_) => Finding::fail("--help is JSON without commands"),
        Err(finding) => finding,
    }
}

fn command_help(survey: &Survey) -> Finding {
    let none = absent(survey, true, "");
    let texts =
        |answer: &Value| ["help", "description", "summary"].map(|key| Some(answer.get(key)?.as_str()?.to_owned()));
    let helps = survey.of_purpose(Purpose::CommandHelp);
    let answers = helps.clone().filter_map(|probe| Some(texts(&read::document(&probe.seen.stdout)?)));
    if let Some(same) = alike(answers) {
        let same = same.into_iter().flatten().next().unwrap_or_default();
        return Finding::fail(format!("every command has the help {}, so it tells nothing", read::quoted(&same)));
    }
    each(helps, none, |probe| {
        let answer = read::document(&probe.seen.stdout).filter(Value::is_object).ok_or("prints no JSON object")?;
        let said = texts(&answer).into_iter().flatten().any(|text| says(&text));
        if said && probe.seen.status == Some(0) { Ok(()) } else { Err("has no help".to_owned()) }
    })
}

fn help_and_commands(survey: &Survey) -> Finding {
    let help = match help(survey) {
        Ok(help) => help,
        Err(finding) => return finding,
    };
    let text = help.get("help").and_then(Value::as_str).is_some_and(says);
    let commands = help.get("commands").is_some_and(Value::is_array);
    Finding::of(text && commands, "both are there", format!("help: {text}, commands: {commands}"))
}

/// What each parameter lacks.
fn parameters(survey: &Survey, flaw: impl Fn(&Value) -> Option<String>) -> Finding {
    if let Err(finding) = described(survey) {
        return finding;
    }
    let all: Vec<_> = survey.description.all_parameters().collect();
    if all.is_empty() {
        return Finding::not_applicable("there are no parameters");
    }
    let broken = all.iter().filter_map(|(command, parameter)| {
        Some(format!("{}: {} {}", read::named(command), read::named(&parameter.name), flaw(&parameter.json)?))
    });
    listed(format!("{} parameters", all.len()), broken.collect())
}

fn kind(parameter: &Value) -> Option<&str> {
    ["valueType", "value_type", "type"].iter().find_map(|key| parameter.get(*key)?.as_str())
}

fn types(survey: &Survey) -> Finding {
    parameters(survey, |parameter| match kind(parameter) {
        Some(kind) if is_known_type(kind) => None,
        Some(kind) if !kind.is_empty() => Some("has a type that nobody knows".to_owned()),
        _ => Some("has no type".to_owned()),
    })
}

fn choices(survey: &Survey) -> Finding {
    let values = |parameter: &Value| {
        ["choices", "enum", "values"]
            .iter()
            .any(|key| parameter.get(*key).and_then(Value::as_array).is_some_and(|values| !values.is_empty()))
    };
    let is_enum = |parameter: &Value| matches!(kind(parameter), Some("enum" | "choice")) || values(parameter);
    // Whoever refuses a value by naming those that there are has an enumeration; who refuses what is hostile may name what is.
    const HOSTILE: [Purpose; 5] =
        [Purpose::ControlCharacter, Purpose::SensitivePath, Purpose::Traversal, Purpose::ShellSyntax, Purpose::Secret];
    let named = |probe: &&Probe| {
        let text = |name| {
            let parameter = survey.command(probe)?.parameters.iter().find(|it| it.name == name)?;
            (parameter.is_text() && !parameter.free_text).then_some(())
        };
        let says = read::told(&probe.seen).map(|told| told.text.to_lowercase()).unwrap_or_default();
        let is_asked = probe.seen.status == Some(2) && !HOSTILE.contains(&probe.purpose);
        is_asked && text(probe.about.as_str()).is_some() && says.contains("one of ")
    };
    if let Some(probe) = survey.failures().find(named) {
        return Finding::fail(format!(
            "{} is no enumeration by its type, and has values: {}",
            read::named(&probe.about),
            probe.shown()
        ));
    }
    if survey.help.is_some() && !survey.description.all_parameters().any(|(_, it)| is_enum(&it.json)) {
        return Finding::not_applicable("no parameter is an enumeration");
    }
    parameters(survey, |parameter| {
        (is_enum(parameter) && !values(parameter)).then(|| "is an enumeration without its values".to_owned())
    })
}

fn defaults(survey: &Survey) -> Finding {
    parameters(survey, |parameter| {
        let speaks = ["description", "help"].iter().any(|key| {
            let text = parameter.get(*key).and_then(Value::as_str).unwrap_or_default().to_lowercase();
            text.contains("default is ") || text.contains("defaults to ") || text.contains("default: ")
        });
        match parameter.get("default") {
            None | Some(Value::Null) if speaks => Some("speaks of a default that it does not state".to_owned()),
            _ => None,
        }
    })
}

fn required(survey: &Survey) -> Finding {
    parameters(survey, |parameter| match parameter.get("required") {
        Some(Value::Bool(_)) => None,
        _ => Some("does not say whether it is required".to_owned()),
    })
}

fn commands(survey: &Survey, flaw: impl Fn(&Value) -> Option<String>) -> Finding {
    if let Err(finding) = described(survey) {
        return finding;
    }
    let commands = &survey.description.commands;
    if commands.is_empty() {
        return Finding::fail("no commands are described");
    }
    let broken = commands
        .iter()
        .filter_map(|command| Some(format!("{} {}", read::named(&command.name()), flaw(&command.json)?)));
    listed(format!("{} commands", commands.len()), broken.collect())
}

fn output_schemas(survey: &Survey) -> Finding {
    const SAYS: [&str; 11] = [
        "properties",
        "required",
        "items",
        "prefixItems",
        "oneOf",
        "anyOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "contentMediaType",
    ];
    commands(survey, |command| match output_schema(command) {
        None => Some("has no output schema".to_owned()),
        Some(schema) if !SAYS.iter().any(|key| schema.get(*key).is_some()) => {
            Some("has an output schema that says nothing of the output".to_owned())
        }
        Some(_) => None,
    })
}

fn descriptions(survey: &Survey) -> Finding {
    let described = |command: &Command| {
        let mut texts = ["description", "help", "summary"].iter().filter_map(|key| command.json.get(*key)?.as_str());
        texts.next().map(str::to_owned)
    };
    if let Some(Some(same)) = alike(survey.description.commands.iter().map(described)) {
        return Finding::fail(format!("every command is described as {}, so it tells nothing", read::quoted(&same)));
    }
    commands(survey, |command| {
        let texts = ["description", "help", "summary"].iter().filter_map(|key| command.get(*key)?.as_str());
        let name = command.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut said = texts.filter(|text| says(text)).peekable();
        if said.peek().is_none() {
            return Some("has no description".to_owned());
        }
        // What says of every command the same says nothing of one.
        const EMPTY: [&str; 9] = ["a", "an", "the", "this", "that", "it", "is", "command", "called"];
        let words = |text: &str| {
            let lower = text.to_lowercase();
            let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect::<Vec<String>>()
        };
        let own = words(name);
        let more = |text: &str| words(text).iter().any(|it| !own.contains(it) && !EMPTY.contains(&it.as_str()));
        (!said.any(more)).then(|| "is described by its name alone".to_owned())
    })
}

fn version(survey: &Survey) -> Finding {
    let help = match help(survey) {
        Ok(help) => help,
        Err(finding) => return finding,
    };
    let written = help.get("version").and_then(Value::as_str);
    let semver = |text: &str| semver::Version::parse(text).is_ok();
    match written {
        None => Finding::fail("--help has no version"),
        Some(text) if !semver(text) => Finding::fail(format!("the version in --help is {}", read::quoted(text))),
        Some(text) => match super::naming::printed_version(survey) {
            Some(printed) if printed == text => Finding::pass(format!("{text} in --help and from --version")),
            printed => Finding::fail(format!(
                "--version says {}",
                printed.map_or_else(|| "nothing".to_owned(), |it| read::quoted(&it))
            )),
        },
    }
}

fn context_in_help(survey: &Survey) -> Finding {
    let help = match help(survey) {
        Ok(help) => help,
        Err(finding) => return finding,
    };
    let full = |key: &str| match help.get(key) {
        Some(Value::Array(entries)) => !entries.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        _ => false,
    };
    let missing: Vec<String> = ["help", "rules", "skills", "commands", "issue"]
        .iter()
        .filter(|key| !full(key))
        .map(|key| (*key).to_owned())
        .collect();
    Finding::of(missing.is_empty(), "all are there", format!("--help lacks {}", missing.join(", ")))
}

fn brief_text(files: &Files) -> Option<&str> {
    files.0.get("agent/brief.md").map(|text| read::without_front_matter(text).trim()).filter(|text| !text.is_empty())
}

fn brief_file(survey: &Survey) -> Finding {
    let files = match files(survey) {
        Ok(files) => files,
        Err(finding) => return finding,
    };
    match brief_text(files) {
        None => Finding::fail("there is no agent/brief.md with text in it"),
        Some(text) if text.contains("\n\n") => Finding::fail("agent/brief.md is more than one paragraph"),
        Some(text) => Finding::pass(format!("one paragraph of {} characters", text.chars().count())),
    }
}

fn rule_files(survey: &Survey) -> Finding {
    let files = match files(survey) {
        Ok(files) => files,
        Err(finding) => return finding,
    };
    let body = |name: &str| {
        let (_, text) = files.markdown("agent/rules").find(|(found, _)| *found == name)?;
        Some(read::without_front_matter(text).trim()).filter(|body| says(body))
    };
    const NAMES: [&str; 3] = ["trigger", "workflow", "writeback"];
    let missing = NAMES.iter().filter(|name| body(name).is_none());
    let mut broken: Vec<String> =
        missing.map(|name| format!("there is no agent/rules/{name}.md with text in it")).collect();
    if alike(NAMES.iter().filter_map(|name| body(name))).is_some() {
        broken.push("all three say the same".to_owned());
    }
    listed("all three are there", broken)
}

fn skill_files(survey: &Survey) -> Finding {
    let mut broken = Vec::new();
    let listing = survey.of_purpose(Purpose::Skills).next();
    if !listing.is_some_and(|probe| probe.seen.status == Some(0) && read::document(&probe.seen.stdout).is_some()) {
        broken.push("there is no skills command that answers with JSON".to_owned());
    }
    match files(survey) {
        Ok(files) if !files.markdown("agent/skills").any(|(_, text)| says(read::without_front_matter(text))) => {
            broken.push("agent/skills holds no skill with text in it".to_owned());
        }
        Err(finding) if broken.is_empty() => return finding,
        _ => {}
    }
    listed("agent/skills, and skills answers", broken)
}

fn brief(survey: &Survey) -> Finding {
    let Some(probe) = survey.of_purpose(Purpose::Brief).next() else {
        return Finding::unknown("--brief was not called");
    };
    let printed = String::from_utf8_lossy(&probe.seen.stdout).into_owned();
    let text = read::document(&probe.seen.stdout).and_then(|answer| match answer {
        Value::String(text) => Some(text),
        answer => answer.get("brief").or_else(|| answer.get("result"))?.as_str().map(str::to_owned),
    });
    let printed = text.unwrap_or(printed);
    if probe.seen.status != Some(0) || printed.trim().is_empty() {
        return Finding::fail(format!("{}, {}", probe.shown(), read::shown(&probe.seen.stderr)));
    }
    let differs = survey.facts.files.as_ref().and_then(brief_text).is_some_and(|text| text != printed.trim());
    Finding::of(!differs, probe.shown(), "--brief does not print agent/brief.md")
}

/// `--human` itself is O6's; here it only must make a difference somewhere.
fn modes(survey: &Survey) -> Finding {
    let json = |bytes: &[u8]| read::document(bytes).is_some_and(|answer| answer.is_object() || answer.is_array());
    let answers = survey.of_purpose(Purpose::Agent).filter(|probe| !survey.answers_with_text(probe));
    let agent = each(answers, absent(survey, true, ""), |probe| {
        match probe.seen.status == Some(0) && json(&probe.seen.stdout) {
            true => Ok(()),
            false => Err(format!("prints no JSON: {}", read::shown(&probe.seen.stderr))),
        }
    });
    let human =
        survey.of_purpose(Purpose::Human).any(|probe| probe.seen.status == Some(0) && !json(&probe.seen.stdout));
    match agent.status {
        crate::rule::Status::Pass if !human => Finding::fail("--human makes no difference"),
        _ => agent,
    }
}

fn front_matter(survey: &Survey, folder: &'static str) -> Finding {
    let files = match files(survey) {
        Ok(files) => files,
        Err(finding) => return finding,
    };
    let found: Vec<_> = files.markdown(folder).collect();
    if found.is_empty() {
        return Finding::fail(format!("there are no files in {folder}"));
    }
    let broken = found.iter().flat_map(|(name, text)| {
        let lacks = |key: &&str| !read::front_matter(text, key).is_some_and(says);
        let lacking = ["name", "description"].into_iter().filter(lacks);
        lacking.map(move |key| format!("{folder}/{}.md has no {key} in its front matter", read::named(name)))
    });
    listed(format!("{} files", found.len()), broken.collect())
}

fn rule_front_matter(survey: &Survey) -> Finding {
    front_matter(survey, "agent/rules")
}

fn skill_front_matter(survey: &Survey) -> Finding {
    front_matter(survey, "agent/skills")
}

//! What the host answers in an application's place: the flags that every command line has by custom, where the package's contract does
//! not declare them, and `--help` in any case. Whatever language an application is written in, and however little it does, they mean the
//! same behind it.

use crate::answer::output::{Format, Output};
use crate::call::batch;
use crate::call::guest;
use crate::call::invocation::InvocationArguments;
use crate::flags::selection::{self, Path};
use crate::line::quote;
use crate::refusal::fault::Fault;
use crate::screen::human;
use crate::screen::told::{Screen, Told};
use hutch::package::Package;
use hutch_certify::target::Hosting;
use hutch_documents::By;
use hutch_documents::agent;
use hutch_documents::envelope;
use hutch_documents::run::Room;
use hutch_model::contract::{About, Asked, Command, Contract};
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::guard;
use hutch_model::manifest::Guard;
use hutch_model::names::{PackagePath, SkillName};
use hutch_model::skill::{self, Skill};
use serde_json::{Value, json};

/// Takes what is asked of the host out of a call's arguments. With `--unchecked` the contract has no say, and all of it is the guest's.
///
/// # Errors
/// The package was changed since it was opened, or a path is none.
pub(crate) fn take(package: &Package, own: &mut InvocationArguments) -> Result<Asked, Fault> {
    match own.unchecked {
        true => Ok(Asked::default()),
        false => take_from(package, &mut own.arguments),
    }
}

fn take_from(package: &Package, arguments: &mut Vec<String>) -> Result<Asked, Fault> {
    let asked = hutch::asked(package, arguments)?;
    if asked.is_anything() {
        *arguments = asked.left(arguments);
        check(&asked)?;
    }
    Ok(asked)
}

/// The same, for a command that is about a call and makes no answer of the application's: what would shape one has no meaning there.
///
/// # Errors
/// As those of [`take`], and what no call of a command answers.
pub(crate) fn take_silently(package: &Package, own: &mut InvocationArguments) -> Result<(), Fault> {
    match own.unchecked {
        true => Ok(()),
        false => take_words_silently(package, &mut own.arguments),
    }
}

/// The same, of the words alone.
///
/// # Errors
/// As those of [`take_silently`].
pub(crate) fn take_words_silently(package: &Package, arguments: &mut Vec<String>) -> Result<(), Fault> {
    let asked = take_from(package, arguments)?;
    if asked.about.is_some() || asked.batch {
        let message = "--help, --version, --brief and --json-input behind PACKAGE ask for no call of a command";
        return Err(Fault::usage(message).suggest("hutch run answers them"));
    }
    Ok(())
}

fn path(asked: &Asked) -> Result<Option<Path>, ErrorReport> {
    let parsed = asked.query.as_deref().map(str::parse).transpose();
    parsed.map_err(|error| ErrorReport::new(ErrorCode::Usage, format!("--query: {error}")))
}

/// Refuses what names no part of any answer, before anything is done.
fn check(asked: &Asked) -> Result<(), ErrorReport> {
    let parts: Vec<String> = asked.fields.iter().chain(&asked.query).cloned().collect();
    guard::check(&parts, Guard::Strict, None, None).map_err(|violation| hutch::Failure::Guard(violation).report())?;
    path(asked).map(|_| ())
}

/// What an application says about itself, by its contract: for programs, and for people. `word` is what the package is called by.
///
/// # Errors
/// The package was changed since it was opened, or has no contract.
pub(crate) fn about(package: &Package, word: &str, about: About, words: &[String]) -> Result<(Value, String), Fault> {
    let file = package.contract()?;
    let contract: &Contract =
        file.map(|file| file.contract()).ok_or_else(|| Fault::host("what the contract says is not there"))?;
    let (name, version) = (&contract.name, &contract.version);
    Ok(match about {
        About::Help => {
            let (mut help, mut text) = (contract.help(words), contract.help_text(words));
            if help.get("flags").is_some() {
                let (run, meta) = (quote::line(["hutch", "run", word]), quote::line(["hutch", "meta", word]));
                let more = format!("{run} COMMAND --help: all about one command; {meta}: the contract");
                text = format!("{text}\n\n{more}");
                help["more"] = more.into();
            }
            help["by"] = json!(By::Package);
            help["rules"] = agent::rules();
            let own: Vec<Value> = rules(package).collect();
            if !own.is_empty() {
                help["package_rules"] = own.into();
            }
            let skills = package.manifest().skills().iter().map(SkillName::as_str);
            help["skills"] = skills
                .map(|name| {
                    let description = front_matter(package, &format!("skills/{name}/SKILL.md"), name);
                    let description = description.as_ref().map(Skill::description).unwrap_or_default();
                    let command = quote::line(["hutch", "show", word, "--skill", name]);
                    json!({"name": name, "description": description, "command": command})
                })
                .collect();
            let own = ["hutch", "issue", "create", "--type", "bug", "--package", word, "--message", "TEXT"];
            let issue = format!("Wrong, unclear, missing? {}", quote::line(own));
            help["issue"] = issue.as_str().into();
            (help, format!("{text}\n\n{issue}"))
        }
        About::Version => (json!({"ok": true, "name": name, "version": version}), format!("{name} {version}")),
        About::Brief => {
            let text = brief(package).unwrap_or_else(|| contract.summary.clone());
            (json!({"ok": true, "by": By::Package, "brief": text}), text)
        }
    })
}

/// The contract, and the command in it that these words are, and nothing else.
///
/// # Errors
/// They are none, or more.
pub(crate) fn command<'p>(package: &'p Package, words: &[String]) -> Result<(&'p Contract, &'p Command), Fault> {
    let file = package.contract()?;
    let contract = file.map(|file| file.contract());
    let line = words.join(" ");
    let named = |contract: &'p Contract| Some((contract, contract.commands.iter().find(|it| it.name == line)?));
    contract.and_then(named).ok_or_else(|| {
        let message = "with --json-input a call is the words of one command: its parameters stand on standard input";
        ErrorReport::new(ErrorCode::Usage, message).detail("words", words).into()
    })
}

/// What the package tells agents about itself.
fn brief(package: &Package) -> Option<String> {
    text(package, "agent/brief.md").map(|text| text.trim_end().to_owned())
}

/// The most that the files of a package's rules hold together. They are told whole or not at all: an agent reads them with each help.
const RULES_BYTES_MAX: u64 = 16 << 10;

/// What it tells them about how it is used: the files of `agent/rules` whose front matter says what they are.
fn rules(package: &Package) -> impl Iterator<Item = Value> {
    let folder = PackagePath::parse("agent/rules").ok();
    let mut files = folder.and_then(|folder| package.entries(&folder).ok()).unwrap_or_default();
    if files.iter().filter_map(|file| file.file_bytes).sum::<u64>() > RULES_BYTES_MAX {
        files.clear();
    }
    files.into_iter().filter_map(|file| {
        let name = file.path.components().last()?.strip_suffix(".md")?;
        let rule = front_matter(package, file.path.as_str(), name)?;
        Some(json!({"name": name, "description": rule.description(), "content": rule.body().trim()}))
    })
}

/// A file for agents, which begins with its name and description.
fn front_matter(package: &Package, path: &str, name: &str) -> Option<Skill> {
    skill::parse(&text(package, path)?, path, &SkillName::parse(name).ok()?).0
}

fn text(package: &Package, path: &str) -> Option<String> {
    String::from_utf8(package.read(&PackagePath::parse(path).ok()?).ok()?).ok()
}

/// What a call chooses of an application's answer, as JSON or for people. Nothing if all of it is wanted.
///
/// # Errors
/// There is no such part: with the code, and what there is instead.
pub(crate) fn shaped(asked: &Asked, stdout: &[u8]) -> Result<Option<Shaped>, ErrorReport> {
    let person = asked.human == Some(true);
    if !chooses(asked) {
        return Ok(None);
    }
    let refused = |message: &str| ErrorReport::new(ErrorCode::Usage, message);
    let lost =
        |reason| ErrorReport::new(ErrorCode::AnswerLost, format!("the answer is too large to choose from: {reason}"));
    let document = Room::default().document(stdout).map_err(lost)?;
    let no_document = || refused("the answer is no JSON, so no part of it can be chosen");
    let mut document = document.ok_or_else(no_document)?;
    let kept = keep(&mut document, &asked.fields);
    kept.map_err(|message| refused(&message))?;
    if person {
        document::spell(&mut document);
    }
    if let Some(path) = path(asked)? {
        let part = path.find(&document).ok_or_else(|| {
            let keys = document.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>().join(", "));
            let report = ErrorReport::new(ErrorCode::NotFound, "the answer has nothing at that path");
            report.suggest(format!("paths begin in the application's answer, which has: {}", keys.unwrap_or_default()))
        })?;
        let part = part.into_owned();
        return Ok(Some(match person {
            true => Shaped::People(human::text_or_json(&part).into()),
            false => Shaped::Json(part),
        }));
    }
    Ok(Some(match person {
        true => Shaped::People(guest::told(document.to_string().as_bytes())),
        false => Shaped::Json(document),
    }))
}

/// Keeps these fields of an answer: of its items, of its result, or of what it says besides that it is well.
fn keep(document: &mut Value, fields: &[String]) -> Result<(), String> {
    match document.get("result").is_some_and(Value::is_object) {
        true => document.get_mut("result").map_or(Ok(()), |result| selection::keep(result, fields)),
        false if document.get("items").is_some_and(Value::is_array) || fields.is_empty() => {
            selection::keep(document, fields)
        }
        false => {
            let well = document.get("ok").map(|_| "ok".to_owned());
            let fields: Vec<String> = well.into_iter().chain(fields.iter().cloned()).collect();
            selection::keep(document, &fields)
        }
    }
}

/// An answer that was shaped.
pub(crate) enum Shaped {
    /// For programs.
    Json(Value),
    /// For people.
    People(Told),
}

impl Shaped {
    /// Prints it.
    ///
    /// # Errors
    /// It can't be written.
    pub(crate) fn print(self, output: &Output) -> Result<(), Fault> {
        match self {
            Shaped::Json(mut value) => {
                output.shaping.cleaning.value(&mut value);
                output.json(&value)
            }
            Shaped::People(told) => output.told(told),
        }
    }

    /// As bytes, whoever reads them.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Shaped::Json(value) => document::written(&value.to_string()).into_owned().into_bytes(),
            Shaped::People(told) => told.shown(Screen::default()).into_bytes(),
        }
    }
}

/// An answer is for whom the call asks, from here on.
pub(crate) fn settle(asked: &Asked, output: &Output) {
    if let Some(human) = asked.human {
        output.format.set(if human { Format::Human } else { Format::Json });
    }
}

/// Whether a part of the answer is chosen.
pub(crate) fn chooses(asked: &Asked) -> bool {
    !asked.fields.is_empty() || asked.query.is_some()
}

/// What an application printed, as it stands in a document of the host's: null where it is none, or too large for one.
fn printed(stdout: &[u8]) -> Value {
    Room::default().document(stdout).ok().flatten().unwrap_or_default()
}

/// This program, where `certify` calls an application through it.
pub(crate) struct Here;

impl Hosting for Here {
    fn check(&self, asked: &Asked) -> Result<(), ErrorReport> {
        check(asked)
    }

    fn about(&self, package: &Package, about: About, asked: &Asked, words: &[String]) -> Result<Vec<u8>, ErrorReport> {
        let slug = package.manifest().slug();
        let (value, text) =
            self::about(package, slug.as_str(), about, words).map_err(|fault| fault.report().clone())?;
        Ok(match shaped(asked, value.to_string().as_bytes())? {
            Some(shaped) => shaped.into_bytes(),
            None if asked.human == Some(true) => text.into_bytes(),
            None => value.to_string().into_bytes(),
        })
    }

    fn shaped(&self, asked: &Asked, stdout: &[u8]) -> Result<Vec<u8>, ErrorReport> {
        Ok(match shaped(asked, stdout)? {
            Some(shaped) => shaped.into_bytes(),
            None if asked.human == Some(true) => Shaped::People(guest::told(stdout)).into_bytes(),
            None => stdout.to_vec(),
        })
    }

    fn batch(&self, package: &Package, words: &[String], stdin: &[u8]) -> Result<Vec<Vec<String>>, ErrorReport> {
        let calls = command(package, words).and_then(|of| {
            let text = String::from_utf8_lossy(stdin);
            batch::parse_parameters(of, &text)
        });
        let calls = calls.map_err(|fault| fault.report().clone())?;
        Ok(calls.into_iter().map(|call| call.arguments).collect())
    }

    fn made(&self, calls: &[(Vec<String>, Vec<u8>)]) -> Vec<u8> {
        let items = calls.iter().enumerate().map(|(at, (arguments, stdout))| {
            json!({"index": at, "arguments": arguments, "status": 0, "run": {"output": printed(stdout)}})
        });
        let items: Vec<Value> = items.collect();
        let result = json!({"items": items, "total": calls.len(), "done": calls.len()});
        document::written(&envelope(true, "run", result).to_string()).into_owned().into_bytes()
    }

    fn previewed(&self, stdout: &[u8]) -> Vec<u8> {
        let mut answer = envelope(true, "plan", json!({"output": printed(stdout), "kept": false}));
        answer["dry_run"] = true.into();
        document::written(&answer.to_string()).into_owned().into_bytes()
    }
}

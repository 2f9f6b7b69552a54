//! What a call asks of the host in the application's place: the flags that every command line has by custom (rule N4), where the
//! contract does not declare them. An application whose contract declares one answers it itself, but for `--help`: what an application
//! says of itself stands in its contract, and a host that has the contract tells it in few words.

use super::{Command, Contract, Parameter, ValueType};
use crate::terminal::one_line;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What a call asks about, in place of a command's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
// Exhaustive: whoever hosts an application answers each.
pub enum About {
    /// Its commands and parameters: `--help`.
    Help,
    /// Its name and version: `--version`.
    Version,
    /// What it is for: `--brief`.
    Brief,
}

impl About {
    /// What the switch of this name asks about.
    pub(super) fn named(name: &str) -> Option<About> {
        match name {
            "help" => Some(About::Help),
            "version" => Some(About::Version),
            "brief" => Some(About::Brief),
            _ => None,
        }
    }
}

/// What a call asks of the host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Asked {
    /// An answer about the application; the last word counts.
    pub about: Option<About>,
    /// The answer as text for people, or as it is; the last word counts.
    pub human: Option<bool>,
    /// Nothing of what the application says beside its answer.
    pub quiet: bool,
    /// What would be done, and nothing kept.
    pub dry_run: bool,
    /// One call for each object of parameters on standard input.
    pub batch: bool,
    /// The only fields of the answer, or of its items.
    pub fields: Vec<String>,
    /// The path of the only part of the answer.
    pub query: Option<String>,
    /// Which arguments these are.
    pub(super) places: BTreeSet<usize>,
}

/// The name of a flag, and what it does.
type Flag = (&'static str, &'static str);
/// Those without a value.
const SWITCHES: [Flag; 8] = [
    ("help", "describe the application, or the command it is given with, and do nothing else"),
    ("version", "print the version and do nothing else"),
    ("brief", "say what the application is for and do nothing else"),
    ("human", "print text for people"),
    ("agent", "print JSON, which is the default"),
    ("quiet", "print nothing beside the answer"),
    ("dry-run", "say what would be done, and keep nothing of it"),
    (super::arguments::BATCH, "take parameters from standard input: [{\"PARAMETER\":VALUE}, …], one call for each"),
];
/// Those with one.
const VALUED: [Flag; 2] = [
    ("fields", "keep these fields of the answer or of its items, separated by commas"),
    ("query", "print the value at this path of the answer, as items[0].id"),
];

impl Asked {
    /// Whether anything is asked of the host.
    pub fn is_anything(&self) -> bool {
        self.about.is_some() || !self.places.is_empty()
    }

    /// The same, and every argument left.
    pub fn untaken(self) -> Asked {
        Asked { places: BTreeSet::new(), ..self }
    }

    /// The arguments that are left for the application.
    pub fn left(&self, arguments: &[String]) -> Vec<String> {
        let left = arguments.iter().enumerate().filter(|(at, _)| !self.places.contains(at));
        left.map(|(_, word)| word.clone()).collect()
    }

    /// The words that are the host's, as they stand.
    pub fn words<'a>(&'a self, arguments: &'a [String]) -> impl Iterator<Item = (usize, &'a String)> {
        self.places.iter().filter_map(|at| Some((*at, arguments.get(*at)?)))
    }

    /// Takes a switch, if the host has it.
    pub(super) fn switch(&mut self, name: &str) -> bool {
        match name {
            "human" => self.human = Some(true),
            "agent" => self.human = Some(false),
            "quiet" => self.quiet = true,
            "dry-run" => self.dry_run = true,
            super::arguments::BATCH => self.batch = true,
            name => match About::named(name) {
                Some(about) => self.about = Some(about),
                None => return false,
            },
        }
        true
    }

    /// Takes a flag with a value, which must be one that [`is_valued`] knows, and the arguments that say it.
    pub(super) fn take(&mut self, name: &str, value: &str, places: std::ops::Range<usize>) {
        self.places.extend(places);
        match name {
            "fields" => self.fields.extend(value.split(',').map(|field| field.trim().to_owned())),
            _ => self.query = Some(value.to_owned()),
        }
    }

    /// The same, counted from a later argument: those before it are not among these.
    pub fn counted_from(mut self, first: usize) -> Asked {
        self.places = self.places.into_iter().filter_map(|at| at.checked_sub(first)).collect();
        self
    }
}

/// The names of all of them.
fn names() -> impl Iterator<Item = &'static str> {
    SWITCHES.iter().chain(&VALUED).map(|(name, _)| *name)
}

/// Whether the host has a flag of this name that takes a value.
pub(super) fn is_valued(name: &str) -> bool {
    VALUED.iter().any(|(flag, _)| *flag == name)
}

/// Whether a word may be one that the host answers. Only the contract knows; without such a word there is nothing to ask it.
pub fn may_be_asked(arguments: &[String]) -> bool {
    let words = arguments.iter().take_while(|word| *word != "--").filter_map(|word| word.strip_prefix("--"));
    let mut asked = words.map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    asked.any(|name| name.starts_with("no-") || names().any(|flag| flag == name))
}

impl Contract {
    /// The flags that the host answers for this application, as parameters of every command.
    pub fn hosted_parameters(&self) -> Vec<Parameter> {
        let one = |(name, description): &Flag, value_type| Parameter {
            name: (*name).to_owned(),
            position: None,
            value_type,
            required: false,
            repeated: false,
            default: None,
            choices: Vec::new(),
            free_text: false,
            constraints: None,
            description: (*description).to_owned(),
        };
        let switches = SWITCHES.iter().map(|flag| one(flag, ValueType::Boolean));
        let all = switches.chain(VALUED.iter().map(|flag| one(flag, ValueType::String)));
        let own = self.commands.iter().flat_map(|command| &command.parameters).chain(&self.parameters);
        let own: Vec<&str> = own.filter(|own| own.position.is_none()).map(|own| own.name.as_str()).collect();
        all.filter(|flag| !own.contains(&flag.name.as_str())).collect()
    }

    /// The fields of `items[]` that some command answers with, by its output schema: a listing that is handed on as a batch has them.
    pub fn shown_fields(&self) -> impl Iterator<Item = &str> {
        let schemas = self.commands.iter().map(|command| &command.output_schema);
        let rows = schemas.filter_map(|schema| schema.pointer("/properties/items/items/properties")?.as_object());
        rows.flat_map(|fields| fields.keys().map(String::as_str))
    }

    /// The same with the host's flags among its parameters: what a caller of the application through the host has.
    pub fn with_hosted(&self) -> Contract {
        let parameters = self.parameters.iter().cloned().chain(self.hosted_parameters()).collect();
        Contract { parameters, ..self.clone() }
    }

    /// The commands that a call's words begin, as far as they do, behind the flags of every command: all of them where none is begun.
    fn begun(&self, words: &[String]) -> Vec<&Command> {
        let mut begun: Vec<&Command> = self.commands.iter().collect();
        let first = |word: &String| begun.iter().any(|command| command.name.split(' ').next() == Some(word));
        let Some(first) = words.iter().position(first) else { return begun };
        for (at, word) in words.iter().skip(first).enumerate() {
            let on: Vec<&Command> =
                begun.iter().copied().filter(|command| command.name.split(' ').nth(at) == Some(word)).collect();
            if on.is_empty() {
                break;
            }
            begun = on;
        }
        begun
    }

    /// The answer to `--help`, of the commands that these words begin: all that the contract says of one, in the keys of its file and with
    /// the host's own flags among the parameters, or a line about each of several, because nobody reads all about all of them at once.
    pub fn help(&self, words: &[String]) -> Value {
        let commands = self.begun(words);
        let mut help = match commands.as_slice() {
            [command] => Contract { commands: vec![(*command).clone()], ..self.clone() }.with_hosted().to_document(),
            commands => self.listing(commands),
        };
        help["ok"] = true.into();
        help["help"] = self.synopsis(&commands).into();
        help
    }

    /// What is to be known before one of these commands is asked about.
    fn listing(&self, commands: &[&Command]) -> Value {
        let line = |command: &&Command| {
            let mut line = json!({
                "name": command.name, "description": command.description, "effect": command.effect, "usage": command.usage(true),
            });
            if command.confirmation_required {
                line["confirmationRequired"] = true.into();
            }
            line
        };
        let mut listing = json!({
            "name": self.name, "version": self.version, "summary": self.summary,
            "flags": names().map(|name| format!("--{name}")).collect::<Vec<_>>(),
            "commands": commands.iter().map(line).collect::<Vec<_>>(),
        });
        let own: Vec<Value> = self.own_parameters().map(Parameter::said).collect();
        if !own.is_empty() {
            listing["parameters"] = own.into();
        }
        listing
    }

    /// The parameters of every command that not every command line has.
    fn own_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|own| !own.is_customary(&self.parameters) && !is_valued(&own.name))
    }

    /// One line on how to call what is described.
    fn synopsis(&self, commands: &[&Command]) -> String {
        match commands {
            [command] => format!("usage: {} {}", self.name, command.usage(false)),
            _ => format!("usage: {} COMMAND [ARGUMENT]... [--FLAG]...", self.name),
        }
    }

    /// The same answer for people.
    pub fn help_text(&self, words: &[String]) -> String {
        let commands = self.begun(words);
        let is_one = commands.len() == 1;
        let mut lines = vec![format!("{} {}: {}", self.name, self.version, one_line(&self.summary))];
        for command in &commands {
            let usage = command.usage(!is_one);
            lines.push(format!("\n{}\n    {}", one_line(&usage), one_line(&command.description)));
            lines.extend(command.parameters.iter().filter(|_| is_one).map(Parameter::line));
        }
        lines.push("\nwith every command".to_owned());
        if !is_one {
            lines.push(format!("      --{}", names().collect::<Vec<_>>().join(" --")));
            lines.extend(self.own_parameters().map(Parameter::line));
            return lines.join("\n");
        }
        let hosted = self.hosted_parameters();
        lines.extend(self.parameters.iter().chain(&hosted).map(Parameter::line));
        let can_end = |code: &String| commands.iter().any(|command| command.errors.contains(code));
        let failures = self.errors.iter().filter(|failure| can_end(&failure.code));
        let mut failures = failures
            .map(|failure| {
                format!("      {:>3}  {}: {}", failure.exit_status, failure.code, one_line(&failure.description))
            })
            .peekable();
        if failures.peek().is_some() {
            lines.push("\nfailures, by exit status".to_owned());
            lines.extend(failures);
        }
        lines.join("\n")
    }
}

impl Command {
    /// `remove ID [--confirm]`; in short without what every command line has.
    fn usage(&self, short: bool) -> String {
        let shown = self.parameters.iter().filter(|own| !short || !own.is_customary(&self.parameters));
        shown.fold(self.name.clone(), |usage, parameter| {
            let dots = if parameter.repeated { "..." } else { "" };
            match parameter.required {
                true => format!("{usage} {}{dots}", parameter.form()),
                false => format!("{usage} [{}]{dots}", parameter.form()),
            }
        })
    }
}

impl Parameter {
    /// What it says, without what it does not say.
    pub fn said(&self) -> Value {
        let says = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && *value != json!([]);
        let mut value = json!(self);
        if let Value::Object(fields) = &mut value {
            fields.retain(|_, value| says(value));
        }
        value
    }

    /// Whether it is a switch that every command line has, or takes one back that is among these.
    fn is_customary(&self, among: &[Parameter]) -> bool {
        let switch = self.name.strip_prefix("no-");
        let takes_back = |other: &Parameter| Some(other.name.as_str()) == switch && other.is_switch();
        let is_known = SWITCHES.iter().any(|(name, _)| *name == self.name);
        self.is_switch() && (is_known || among.iter().any(takes_back))
    }

    fn is_switch(&self) -> bool {
        self.position.is_none() && !self.takes_value()
    }

    /// `ID`, `--confirm`, `--status open|completed|all`, `--limit INTEGER`
    fn form(&self) -> String {
        let written = self.written();
        match (self.takes_value() && self.position.is_none(), self.choices.is_empty()) {
            (false, _) => written,
            (true, true) => format!("{written} {}", self.value_type.written()),
            (true, false) => format!("{written} {}", self.choices.join("|")),
        }
    }

    /// `--limit INTEGER: how many to show at most (default: 100)`, below its command
    fn line(&self) -> String {
        let default = self.default.as_ref().map(|default| format!(" (default: {default})")).unwrap_or_default();
        format!("      {}", one_line(&format!("{}: {}{default}", self.form(), self.description)))
    }
}

impl ValueType {
    /// `DATE-OR-INSTANT`
    fn written(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().to_uppercase()
    }
}

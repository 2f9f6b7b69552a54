//! The tools that a client sees, and what a call of each asks for. Runs nothing.

use crate::ask::{About, Ask, Back, Called, Form, What, Words, entry, fields, invalid};
use crate::own_tools;
use crate::serving::{Serving, TOOLS_BYTES_MAX};
use hutch::find::{self, KnownCommand};
use hutch_documents::By;
use hutch_documents::agent::reads_stdin;
use hutch_model::contract::{Command, Contract, ValueType};
use hutch_model::digest::{Digest, Kind as DigestKind};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most characters of a tool's name: some models take no more.
const NAME_CHARS_MAX: usize = 64;
/// How many digits of a hash stand for what a name has no room for.
const NAME_DIGITS: usize = 8;
/// The most entries that are listed at once.
const ENTRIES_MAX: u64 = 100;
/// How many entries are listed if nobody says how many.
const ENTRIES: u64 = 20;

/// What a server offers.
#[derive(Default)]
pub struct Catalog {
    packages: Vec<Known>,
    /// As the protocol describes tools, in the order in which they are listed.
    tools: Vec<Value>,
    /// The commands that are tools of their own: the package's place and the command's.
    commands: BTreeMap<String, (usize, usize)>,
    found: Arc<[KnownCommand]>,
}

struct Known {
    slug: String,
    contract: Contract,
}

/// What the call of a tool comes to.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// An answer that is known without any work.
    Known(Value),
    /// Something that the host is to do.
    Ask(Ask),
}

impl Catalog {
    /// What is offered where this is served.
    pub fn of(serving: &Serving) -> Catalog {
        let slugs: Vec<&str> = serving.packages.iter().map(|served| served.slug()).collect();
        let count: usize = serving.packages.iter().map(|served| served.contract.commands.len()).sum();
        let mut catalog = Catalog::default();
        let mut found = Vec::new();
        let own = own_tools::about(&slugs);
        let own_names: Vec<String> = own.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect();
        for (place, served) in serving.packages.iter().enumerate() {
            let manifest = served.package.manifest();
            found.extend(find::commands(manifest, Some(&served.contract), &served.word, served.trust));
            let mut contract = served.contract.clone();
            for command in &mut contract.commands {
                command.confirmation_required |=
                    manifest.confirmation_required().iter().any(|path| path.as_str() == command.name);
            }
            for (at, (command, mut tool)) in contract.commands.iter().zip(contract.tools()).enumerate() {
                tool["inputSchema"] = fields_of(command);
                let described = served.is_held() && serving.output_schemas;
                catalog.add(served.slug(), (place, at), tool, described, &own_names);
            }
            catalog.packages.push(Known { slug: served.slug().to_owned(), contract });
        }
        catalog.found = found.into();
        catalog.tools.extend(own.iter().cloned());
        let without = |tools: &mut Vec<Value>| {
            let told = tools.iter_mut().filter_map(Value::as_object_mut).filter(|_| !serving.output_schemas);
            told.for_each(|tool| drop(tool.remove("outputSchema")));
        };
        without(&mut catalog.tools);
        let is_too_much = match serving.tools_max {
            Some(most) => count > most,
            None => serde_json::to_string(&catalog.tools).is_ok_and(|text| text.len() > TOOLS_BYTES_MAX),
        };
        if is_too_much {
            catalog.commands.clear();
            catalog.tools = own_tools::by_name(&slugs);
            catalog.tools.extend(own);
            without(&mut catalog.tools);
        }
        catalog
    }

    /// Of one package, without tools.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn of_one(slug: String, contract: Contract) -> Catalog {
        let packages = vec![Known { slug, contract }];
        Catalog { packages, ..Catalog::default() }
    }

    /// As the protocol describes tools.
    pub fn tools(&self) -> &[Value] {
        &self.tools
    }

    /// Adds a command as a tool of its own. Two commands whose names are written alike there are told apart.
    fn add(&mut self, slug: &str, (package, at): (usize, usize), mut tool: Value, held: bool, own: &[String]) {
        let command = tool["_meta"]["hutch/command"].as_str().unwrap_or_default().to_owned();
        let plain = format!("{slug}_{command}").replace([' ', '-'], "_");
        let is_free = |name: &str| !self.commands.contains_key(name) && !own.iter().any(|known| known == name);
        let name = match plain.len() <= NAME_CHARS_MAX && is_free(&plain) {
            true => plain,
            false => {
                let digest = Digest::of(DigestKind::Stream, format!("{slug} {command}").as_bytes()).to_string();
                let digits: String = digest.chars().take(NAME_DIGITS).collect();
                let kept: String = plain.chars().take(NAME_CHARS_MAX - NAME_DIGITS - 1).collect();
                format!("{kept}_{digits}")
            }
        };
        tool["name"] = name.clone().into();
        // A schema that admits everything says nothing.
        let says = tool["outputSchema"].as_object().is_some_and(|schema| !schema.is_empty());
        if !(held && says)
            && let Some(fields) = tool.as_object_mut()
        {
            fields.remove("outputSchema");
        }
        self.tools.push(tool);
        self.commands.insert(name, (package, at));
    }

    /// The words of a call of a package's command that is given by its fields.
    pub(crate) fn words(
        &self,
        package: usize,
        command: &str,
        given: &Map<String, Value>,
    ) -> Result<Vec<String>, ErrorReport> {
        match self.packages.get(package) {
            Some(known) => words(&known.contract, self.command(known, command)?, given),
            None => Err(ErrorReport::new(ErrorCode::NotFound, "no such package is served")),
        }
    }

    /// Where a package stands among those that are served.
    pub(crate) fn place(&self, slug: &str) -> Option<usize> {
        self.packages.iter().position(|known| known.slug == slug)
    }

    /// The commands of a package.
    pub(crate) fn commands(&self, package: usize) -> &[Command] {
        self.packages.get(package).map(|known| known.contract.commands.as_slice()).unwrap_or_default()
    }

    /// The name of a package.
    pub(crate) fn slug(&self, package: usize) -> Option<&str> {
        Some(self.packages.get(package)?.slug.as_str())
    }

    /// What the call of a tool asks for; nothing if there is no such tool.
    pub(crate) fn wanted(&self, tool: &str, given: &Map<String, Value>) -> Option<Result<Wanted, ErrorReport>> {
        if let Some((package, at)) = self.commands.get(tool) {
            let contract = &self.packages.get(*package)?.contract;
            let command = contract.commands.get(*at)?;
            let words = called(contract, command, given, String::new());
            return Some(words.map(|words| Wanted::Ask(Ask { package: *package, what: What::Run(words) })));
        }
        self.tools.iter().any(|known| known["name"] == tool).then(|| self.wanted_of_own(tool, given))
    }

    fn wanted_of_own(&self, tool: &str, given: &Map<String, Value>) -> Result<Wanted, ErrorReport> {
        if matches!(tool, "hutch_call" | "hutch_plan") {
            let asked: Called = fields(given)?;
            let (package, known) = self.package(asked.package.as_deref())?;
            let command = self.command(known, &asked.command)?;
            let words = called(&known.contract, command, &asked.arguments, asked.stdin)?;
            let what = if tool == "hutch_call" { What::Run(words) } else { What::Plan(words) };
            return Ok(Wanted::Ask(Ask { package, what }));
        }
        let schema = self.tools.iter().find(|known| known["name"] == tool).map(|known| &known["inputSchema"]);
        let about = |field: &&String| schema.is_some_and(|schema| schema["properties"].get(field).is_none());
        // One package need not be named, and may be.
        if let Some(field) = given.keys().filter(|field| *field != "package" || tool == "hutch_find").find(about) {
            return Err(invalid(format!("{tool} has no field {field:?}")));
        }
        let own: About = fields(given)?;
        if tool == "hutch_find" {
            let text = own.text.ok_or_else(|| invalid("text is missing: what is wanted"))?;
            // What is no question does not wait: it would take memory.
            find::check(&text).map_err(invalid)?;
            return Ok(Wanted::Ask(Ask::find(text, Arc::clone(&self.found))));
        }
        if tool == "hutch_describe" && own.package.is_none() && self.packages.len() > 1 {
            let all = self.packages.iter().map(
                |known| json!({"package": known.slug, "description": known.contract.summary, "commands": names(known)}),
            );
            return Ok(Wanted::Known(json!({"by": By::Package, "packages": all.collect::<Vec<_>>()})));
        }
        let (package, known) = self.package(own.package.as_deref())?;
        if tool == "hutch_describe" {
            return self.describe(known, own.command.as_deref()).map(Wanted::Known);
        }
        let named = own.entry.as_deref().map(entry).transpose()?;
        let what = match tool {
            "hutch_apply" => {
                let plan = own.plan.ok_or_else(|| invalid("plan is missing: what hutch_plan answered with"))?;
                What::Apply { plan: entry(&plan)?, confirmed: false, answer: Form::Told }
            }
            "hutch_undo" => What::Undo(Back::of(named, own.count, own.redo).map_err(invalid)?),
            "hutch_verify" => What::Verify(named),
            _ => What::History { before: own.before, limit: own.limit.unwrap_or(ENTRIES).clamp(1, ENTRIES_MAX) },
        };
        Ok(Wanted::Ask(Ask { package, what }))
    }

    fn describe(&self, known: &Known, command: Option<&str>) -> Result<Value, ErrorReport> {
        let Some(name) = command else {
            let commands = known.contract.commands.iter();
            let listed = commands.map(|command| json!({"command": command.name, "description": command.description}));
            let listed: Vec<_> = listed.collect();
            return Ok(json!({"by": By::Package, "package": known.slug, "commands": listed}));
        };
        let command = self.command(known, name)?;
        let errors = known.contract.errors.iter().filter(|error| command.errors.contains(&error.code));
        Ok(json!({
            "by": By::Package,
            "package": known.slug,
            "command": command.name,
            "description": command.description,
            "effect": command.effect,
            "idempotent": command.idempotent,
            "confirmationRequired": command.confirmation_required,
            "inputSchema": fields_of(command),
            "outputSchema": command.output_schema,
            "errors": errors.collect::<Vec<_>>(),
            "examples": command.examples,
        }))
    }

    /// The package that a call names; the only one if it names none.
    fn package(&self, slug: Option<&str>) -> Result<(usize, &Known), ErrorReport> {
        let names = || self.packages.iter().map(|known| known.slug.as_str()).collect::<Vec<_>>().join(", ");
        let mut all = self.packages.iter().enumerate();
        match slug {
            Some(slug) => all.find(|(_, known)| known.slug == slug).ok_or_else(|| {
                let message = format!("no package {slug:?} is served");
                ErrorReport::new(ErrorCode::NotFound, message).suggest(format!("packages are {}", names()))
            }),
            None => match (all.next(), all.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(invalid(format!("package is missing: one of {}", names()))),
            },
        }
    }

    fn command<'k>(&self, known: &'k Known, name: &str) -> Result<&'k Command, ErrorReport> {
        known.contract.command(name).ok_or_else(|| {
            let message = format!("{} has no command {name:?}", known.slug);
            ErrorReport::new(ErrorCode::NotFound, message).suggest(format!("commands are {}", names(known).join(", ")))
        })
    }
}

/// The names of a package's commands.
fn names(known: &Known) -> Vec<&str> {
    known.contract.commands.iter().map(|command| command.name.as_str()).collect()
}

/// What confirms to the application, if it wants that besides: the host gives it where a person is asked before anything is done.
const CONFIRMED: &str = "confirm";
/// What only a line needs: a tool of its own previews.
const PREVIEWED: &str = "dry-run";
/// What stands on a command's standard input.
pub(crate) const STDIN: &str = "stdin";

fn has_flag(command: &Command, name: &str) -> bool {
    command.parameters.iter().any(|one| one.name == name && one.value_type == ValueType::Boolean)
}

/// The fields of a command that a client is told of.
pub(crate) fn fields_of(command: &Command) -> Value {
    let mut schema = command.input_schema();
    let Some(fields) = schema["properties"].as_object_mut() else { return schema };
    for (name, left_out) in [(CONFIRMED, command.confirmation_required), (PREVIEWED, true)] {
        if left_out && has_flag(command, name) {
            fields.remove(name);
        }
    }
    if reads_stdin(command) && !fields.contains_key(STDIN) {
        let description = "what stands on its standard input";
        fields.insert(STDIN.to_owned(), json!({"type": "string", "description": description}));
    }
    schema
}

/// The most fields of a call.
const FIELDS_MAX: usize = 1000;
/// The most that is said of what is wrong with one.
const VIOLATIONS_MAX: usize = 20;

/// A command's call by its fields, of which one may be what stands on its standard input.
fn called(
    contract: &Contract,
    command: &Command,
    given: &Map<String, Value>,
    stdin: String,
) -> Result<Words, ErrorReport> {
    let mut given = given.clone();
    let own = command.parameters.iter().any(|one| one.name == STDIN);
    let stdin = match if own { None } else { given.remove(STDIN) } {
        None => stdin,
        Some(Value::String(text)) if reads_stdin(command) && stdin.is_empty() => text,
        Some(_) => return Err(invalid("stdin is a text, given once, where the command reads it".to_owned())),
    };
    Ok(Words { arguments: words(contract, command, &given)?, stdin: stdin.into_bytes(), ..Words::default() })
}

/// The words of a command's call: of this one, and of none whose name would begin with what is given.
fn words(contract: &Contract, command: &Command, given: &Map<String, Value>) -> Result<Vec<String>, ErrorReport> {
    if given.len() > FIELDS_MAX {
        return Err(invalid(format!("a call has at most {FIELDS_MAX} fields, found {}", given.len())));
    }
    let mut given = given.clone();
    if command.confirmation_required && has_flag(command, CONFIRMED) {
        given.entry(CONFIRMED).or_insert(true.into());
    }
    let words = command.words(&given).map_err(|mut violations| {
        let more = violations.len().saturating_sub(VIOLATIONS_MAX);
        violations.truncate(VIOLATIONS_MAX);
        let mut message = violations.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; ");
        if more > 0 {
            message.push_str(&format!("; and {more} more"));
        }
        invalid(message).detail("violations", serde_json::to_value(&violations).unwrap_or_default())
    });
    let (mut words, own) = (words?, command.name.split(' ').count());
    let is_called = |other: &Command| {
        let name: Vec<&str> = other.name.split(' ').collect();
        name.len() > own && words.iter().map(String::as_str).take(name.len()).eq(name)
    };
    if contract.commands.iter().any(is_called) {
        words.insert(own, "--".to_owned());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::contract;

    /// What is told of a command holds for its call, whatever values are given.
    #[test]
    fn no_value_makes_a_call_one_of_another_command() {
        let of = |name: &str, effect: &str| {
            let word = json!({"name": "word", "description": "a word", "position": 0, "required": true});
            json!({"name": name, "description": "is there", "effect": effect, "parameters": [word]})
        };
        let text = json!({
            "schema": "hutch/commands@0.1", "name": "app", "version": "0.1.0", "summary": "is there",
            "commands": [of("list", "read"), of("list all", "delete")],
        });
        let (file, problems) = contract::parse(&text.to_string(), "commands.json");
        let file = file.unwrap_or_else(|| panic!("{problems:?}"));
        let contract = file.contract();
        for (name, word, expected) in [
            ("list", "some", "list some"),
            ("list", "all", "list -- all"),
            ("list", "-all", "list -- -all"),
            ("list all", "all", "list all all"),
        ] {
            let given = Map::from_iter([("word".to_owned(), word.into())]);
            let words = words(contract, contract.command(name).unwrap(), &given).unwrap();
            assert_eq!(words.join(" "), expected);
            assert_eq!(contract.read_arguments(&words).command.unwrap().name, name);
        }
    }
}

//! A self-description, read from the JSON of `--help`: tolerant, because what is probed must not depend on how well a program
//! keeps the rules about descriptions. Those rules look at the JSON itself, which is kept beside what was read.

use serde_json::{Map, Value};

/// What a command may do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Adds or changes.
    Write,
    /// Takes something out.
    Delete,
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Parameters of every command.
    pub parameters: Vec<Parameter>,
    /// The commands that can be called, those within others under all their words.
    pub commands: Vec<Command>,
    /// The declared failures: code and exit status.
    pub errors: Vec<(String, Option<u8>)>,
    /// The version.
    pub version: Option<String>,
}

/// One command.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Its words.
    pub words: Vec<String>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// What it may do, if that is said.
    pub effect: Option<Effect>,
    /// Whether it says that it takes a confirmation.
    pub confirmed: bool,
    /// The schema of its answer.
    pub output_schema: Option<Value>,
    /// Calls that show its use.
    pub examples: Vec<Example>,
    /// As it was written.
    pub json: Value,
}

/// A call that shows the use of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// Calls that make what it needs.
    pub before: Vec<Vec<String>>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The exit status that it ends with, if that is said.
    pub status: Option<u8>,
}

impl Example {
    /// Whether it is one that succeeds.
    pub fn succeeds(&self) -> bool {
        matches!(self.status, None | Some(0))
    }
}

/// One parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// Without leading dashes.
    pub name: String,
    /// The place among bare arguments.
    pub position: Option<u32>,
    /// The declared type.
    pub kind: Option<String>,
    /// Whether it must be given.
    pub required: bool,
    /// Whether it may be given more than once.
    pub repeated: bool,
    /// The allowed values.
    pub choices: Vec<String>,
    /// Whether it is prose.
    pub free_text: bool,
    /// As it was written.
    pub json: Value,
}

/// The most commands that are read, the most words of one, those of the commands around it included, and the most bytes of its own. What
/// is beyond is no command: the words of one stand in all that are in it, so that few bytes could be made into many.
const COMMANDS_MAX: usize = 4096;
const WORDS_MAX: usize = 16;
const NAME_BYTES_MAX: usize = 256;

/// Types whose values are not any text.
const TYPED: [&str; 14] = [
    "integer",
    "int",
    "number",
    "float",
    "boolean",
    "bool",
    "flag",
    "switch",
    "date",
    "instant",
    "date-or-instant",
    "datetime",
    "enum",
    "choice",
];
/// Types whose values are texts. One that stands in neither list is taken for a text too.
const TEXTS: [&str; 15] = [
    "string",
    "text",
    "path",
    "file",
    "directory",
    "url",
    "uri",
    "email",
    "uuid",
    "time",
    "duration",
    "regex",
    "json",
    "array",
    "object",
];

/// Whether a type has one of the names that everybody knows.
pub fn is_known_type(kind: &str) -> bool {
    let kind = kind.to_lowercase();
    TYPED.iter().chain(&TEXTS).any(|known| *known == kind)
}

/// Words of commands that take something out.
const DESTRUCTIVE_WORDS: [&str; 8] = ["remove", "delete", "destroy", "purge", "drop", "wipe", "erase", "rm"];

impl Description {
    /// Reads the JSON of `--help`, or of a stored description.
    pub fn read(json: &Value) -> Description {
        let mut description = Description {
            parameters: parameters(json),
            version: text(json, &["version"]),
            errors: list(json, &["errors", "error_codes", "errorCodes"]).iter().filter_map(error).collect(),
            ..Description::default()
        };
        for command in list(json, &["commands"]) {
            read_command(command, &[], &mut description.commands);
        }
        description
    }

    /// The command with these words.
    pub fn command(&self, words: &str) -> Option<&Command> {
        self.commands.iter().find(|command| command.name() == words)
    }

    /// The parameter with this name that a command takes: its own, or one of every command.
    pub fn parameter<'d>(&'d self, command: &'d Command, name: &str) -> Option<&'d Parameter> {
        command.parameters.iter().chain(&self.parameters).find(|parameter| parameter.name == name)
    }

    /// Every parameter, with the name of its command.
    pub fn all_parameters(&self) -> impl Iterator<Item = (String, &Parameter)> {
        let own = self
            .commands
            .iter()
            .flat_map(|command| command.parameters.iter().map(|parameter| (command.name(), parameter)));
        self.parameters.iter().map(|parameter| ("every command".to_owned(), parameter)).chain(own)
    }
}

impl Command {
    /// Whether it declares that its answer is a text of some other kind than JSON: a script, a manual page.
    pub fn answers_with_text(&self) -> bool {
        let told = |name: &str| self.output_schema.as_ref()?.get(name)?.as_str();
        told("type") == Some("string") && told("contentMediaType").is_some_and(|kind| kind != "application/json")
    }

    /// Its words in one text.
    pub fn name(&self) -> String {
        self.words.join(" ")
    }

    /// Whether it takes something out: by its effect, by what it says about confirmations, or by its name.
    pub fn is_destructive(&self) -> bool {
        self.effect == Some(Effect::Delete) || self.confirmed || self.is_named_destructive()
    }

    /// Whether its name says that it takes something out.
    pub fn is_named_destructive(&self) -> bool {
        self.words.iter().flat_map(|word| word.split('-')).any(|word| DESTRUCTIVE_WORDS.contains(&word))
    }

    /// Whether it is known to change nothing.
    pub fn is_reading(&self) -> bool {
        self.effect == Some(Effect::Read) && !self.is_destructive()
    }

    /// Whether it does not say what it may do: then it may do anything.
    pub fn is_silent(&self) -> bool {
        self.effect.is_none() && !self.is_destructive()
    }

    /// The parameters that are written bare, in their order.
    pub fn positional(&self) -> Vec<&Parameter> {
        let mut found: Vec<&Parameter> =
            self.parameters.iter().filter(|parameter| parameter.position.is_some()).collect();
        found.sort_by_key(|parameter| parameter.position);
        found
    }
}

impl Parameter {
    /// Whether it is a flag without value.
    pub fn is_switch(&self) -> bool {
        self.position.is_none() && matches!(self.kind.as_deref(), Some("boolean" | "bool" | "flag" | "switch"))
    }

    /// Whether its value may be any text. What has a type that nobody knows may.
    pub fn is_text(&self) -> bool {
        self.choices.is_empty() && !self.kind.as_deref().is_some_and(|kind| TYPED.contains(&kind))
    }

    /// Whether it is prose, and no path that is said to be prose: its type or its name tells.
    pub fn is_prose(&self) -> bool {
        const PATHS: [&str; 14] = [
            "file",
            "filename",
            "filepath",
            "path",
            "pathname",
            "dir",
            "directory",
            "folder",
            "keyfile",
            "dest",
            "destination",
            "output",
            "infile",
            "outfile",
        ];
        let name = self.name.to_lowercase();
        let is_path = matches!(self.kind.as_deref(), Some("path" | "file" | "directory"))
            || name.split(['-', '_']).any(|word| PATHS.contains(&word));
        self.free_text && !is_path
    }

    /// Whether it is a moment, which may be that of the call if it is not given.
    pub fn is_moment(&self) -> bool {
        self.position.is_none()
            && !self.required
            && matches!(self.kind.as_deref(), Some("instant" | "date-or-instant" | "datetime"))
    }

    /// Whether it names something by an identifier.
    pub fn is_identifier(&self) -> bool {
        let name = self.name.to_lowercase();
        self.is_text() && !self.free_text && (name == "id" || name.ends_with("-id") || name.ends_with("_id"))
    }
}

fn read_command(json: &Value, before: &[String], found: &mut Vec<Command>) {
    let Some(name) = text(json, &["name", "command"]).filter(|name| name.len() <= NAME_BYTES_MAX) else { return };
    let mut words: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
    if !words.starts_with(before) {
        words = before.iter().cloned().chain(words).collect();
    }
    if words.len() > WORDS_MAX || found.len() >= COMMANDS_MAX {
        return;
    }
    let inner = list(json, &["commands", "subcommands"]);
    for command in inner {
        read_command(command, &words, found);
    }
    if !inner.is_empty() {
        return;
    }
    let truth = |names: &[&str]| names.iter().any(|name| json.get(*name) == Some(&Value::Bool(true)));
    let effect = ["effect", "effects", "permission"].iter().find_map(|key| json.get(*key));
    found.push(Command {
        words,
        parameters: parameters(json),
        effect: effect.and_then(read_effect),
        confirmed: truth(&[
            "destructive",
            "confirmationRequired",
            "confirmation_required",
            "requiresConfirmation",
            "requires_confirmation",
        ]),
        output_schema: output_schema(json).cloned(),
        examples: list(json, &["examples"]).iter().filter_map(example).collect(),
        json: json.clone(),
    });
}

/// The schema of a command's answer, if it says anything.
pub fn output_schema(json: &Value) -> Option<&Value> {
    let schema = ["outputSchema", "output_schema", "output"].iter().find_map(|key| json.get(*key))?;
    schema.as_object().filter(|fields| !fields.is_empty()).map(|_| schema)
}

fn read_effect(json: &Value) -> Option<Effect> {
    let word = match json {
        Value::Array(words) => return words.iter().filter_map(read_effect).max(),
        Value::Object(fields) => fields.get("state").or_else(|| fields.get("kind"))?.as_str()?,
        other => other.as_str()?,
    };
    match word {
        "read" | "none" => Some(Effect::Read),
        "write" => Some(Effect::Write),
        "delete" => Some(Effect::Delete),
        _ => None,
    }
}

fn parameters(json: &Value) -> Vec<Parameter> {
    let keys = ["parameters", "params", "arguments", "args", "options", "flags", "global_parameters"];
    let lists = keys.iter().filter_map(|key| json.get(*key).and_then(Value::as_array));
    let mut bare = 0;
    lists.flatten().filter_map(|json| parameter(json, &mut bare)).collect()
}

fn parameter(json: &Value, bare: &mut u32) -> Option<Parameter> {
    let written = text(json, &["name", "flag", "long"])?;
    let truth = |names: &[&str]| names.iter().any(|name| json.get(*name) == Some(&Value::Bool(true)));
    let position = match json.get("position").or_else(|| json.get("index")).and_then(Value::as_u64) {
        Some(position) => u32::try_from(position).ok(),
        None if truth(&["positional"]) || is_bare(json, &written) => {
            *bare += 1;
            Some(*bare - 1)
        }
        None => None,
    };
    let choices = list(json, &["choices", "enum", "values"]).iter().filter_map(|choice| match choice {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) => text(choice, &["name", "value"]),
        other => Some(other.to_string()),
    });
    Some(Parameter {
        name: written.trim_start_matches('-').to_owned(),
        position,
        kind: text(json, &["valueType", "value_type", "type"]),
        required: truth(&["required"]),
        repeated: truth(&["repeated", "multiple", "array"]) || text(json, &["type"]).as_deref() == Some("array"),
        choices: choices.collect(),
        free_text: truth(&["freeText", "free_text"]),
        json: json.clone(),
    })
}

/// Where flags are written with their dashes, a name without them is a bare argument.
fn is_bare(json: &Value, written: &str) -> bool {
    json.get("position").is_none() && json.get("valueType").is_none() && !written.starts_with('-')
}

fn error(json: &Value) -> Option<(String, Option<u8>)> {
    if let Value::String(code) = json {
        return Some((code.clone(), None));
    }
    let status = ["exitStatus", "exit_status", "status", "exit_code", "exitCode"].iter().find_map(|key| json.get(*key));
    let status = status.and_then(Value::as_u64).and_then(|status| u8::try_from(status).ok());
    Some((text(json, &["code", "name"])?, status))
}

fn example(json: &Value) -> Option<Example> {
    let words = |json: &Value| {
        json.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    };
    let args = words(json.get("args").or_else(|| json.get("arguments"))?)?;
    let status = ["exitStatus", "exit_status", "status"].iter().find_map(|key| json.get(*key)).and_then(Value::as_u64);
    let status = status.and_then(|status| u8::try_from(status).ok());
    Some(Example { before: list(json, &["before"]).iter().filter_map(words).collect(), args, status })
}

fn text(json: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| json.get(*name).and_then(Value::as_str)).map(str::to_owned)
}

fn list<'v>(json: &'v Value, names: &[&str]) -> &'v [Value] {
    let found: Option<&Map<String, Value>> = json.as_object();
    let found = found.and_then(|fields| names.iter().find_map(|name| fields.get(*name).and_then(Value::as_array)));
    found.map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_ways_to_write_parameters_are_read() {
        let description = Description::read(&json!({
            "version": "1.0.0",
            "parameters": [{"name": "--quiet", "type": "boolean", "required": false}],
            "commands": [
                {"name": "get", "effect": "read", "parameters": [
                    {"name": "PACKAGE", "type": "string", "required": true},
                    {"name": "--kind", "type": "enum", "choices": ["a"], "required": false}]},
                {"name": "issue", "commands": [{"name": "show", "parameters": [
                    {"name": "id", "position": 0, "valueType": "string", "required": true}]}]},
                {"name": "remove", "effect": "delete", "parameters": []}],
            "errors": [{"code": "X", "exitStatus": 3}, "Y"]
        }));
        let names: Vec<String> = description.commands.iter().map(Command::name).collect();
        assert_eq!(names, ["get", "issue show", "remove"]);
        let get = description.command("get").unwrap();
        assert_eq!((get.positional().len(), get.is_reading()), (1, true));
        assert!(description.parameter(get, "quiet").unwrap().is_switch());
        assert!(description.command("issue show").unwrap().parameters[0].is_identifier());
        assert!(description.command("remove").unwrap().is_destructive());
        for (schema, text) in [
            (json!({"type": "string", "contentMediaType": "text/plain"}), true),
            (json!({"type": "string", "contentMediaType": "application/json"}), false),
            (json!({"type": "string"}), false),
            (json!({"type": "object"}), false),
        ] {
            let command = Command { output_schema: Some(schema), ..Command::default() };
            assert_eq!(command.answers_with_text(), text, "{:?}", command.output_schema);
        }
        assert_eq!(description.errors, [("X".to_owned(), Some(3)), ("Y".to_owned(), None)]);
    }

    #[test]
    fn what_has_no_known_type_is_a_text_and_no_path_is_prose() {
        let of = |name: &str, kind: Option<&str>, free_text: bool| Parameter {
            name: name.to_owned(),
            kind: kind.map(str::to_owned),
            free_text,
            ..Parameter::default()
        };
        for (kind, text, known) in [
            ("words", true, false),
            ("str", true, false),
            ("url", true, true),
            ("String", true, true),
            ("path", true, true),
            ("integer", false, true),
            ("date-or-instant", false, true),
            ("enum", false, true),
        ] {
            assert_eq!((of("a", Some(kind), false).is_text(), is_known_type(kind)), (text, known), "{kind}");
        }
        assert!(of("a", None, false).is_text());
        for (name, kind, prose) in [
            ("title", "string", true),
            ("destination", "string", false),
            ("output-file", "string", false),
            ("title", "path", false),
        ] {
            assert_eq!(of(name, Some(kind), true).is_prose(), prose, "{name} {kind}");
        }
        assert!(!of("title", Some("string"), false).is_prose());
    }

    #[test]
    fn commands_are_read_up_to_so_many_words_bytes_and_commands() {
        let read = |commands: Value| {
            let description = Description::read(&json!({ "commands": commands }));
            description.commands.iter().map(Command::name).collect::<Vec<_>>()
        };
        let (most, more) = ("a ".repeat(WORDS_MAX - 1), "a ".repeat(WORDS_MAX));
        let inner = json!([{"name": "b"}]);
        let within = json!([{"name": most, "commands": inner}, {"name": "c"}]);
        assert_eq!(read(within), [format!("{most}b"), "c".to_owned()]);
        assert_eq!(read(json!([{"name": more, "commands": inner}, {"name": "c"}])), ["c"]);
        let longest = "n".repeat(NAME_BYTES_MAX);
        let longer = json!({"name": format!("{longest}n"), "commands": inner});
        assert_eq!(read(json!([longer, {"name": longest}, longer])), [longest.as_str()]);
        let many = |count: usize| (0..count).map(|at| json!({ "name": format!("c{at}") })).collect::<Vec<_>>();
        let inner = json!([{"name": "a", "commands": many(COMMANDS_MAX + 9)}]);
        for commands in [Value::from(many(COMMANDS_MAX + 9)), inner] {
            assert_eq!(read(commands).len(), COMMANDS_MAX);
        }
    }
}

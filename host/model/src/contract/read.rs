//! The JSON form of a contract, from nodes to values: what is left out has its default, and no field is unknown.

use super::{
    CONTRACT_BYTES_MAX, CONTRACT_SCHEMA, Command, Constraints, Contract, ContractFile, Effect, Example, Failure,
    Parameter, ValueType, check,
};
use crate::diagnostic::{Code, Diagnostic, Position, Problems};
use crate::fields::optional;
use crate::json;
use crate::node::{Data, Entry, Node};
use crate::text::Text;
use serde_json::{Map, Value};

const EFFECTS: [(&str, Effect); 3] = [("read", Effect::Read), ("write", Effect::Write), ("delete", Effect::Delete)];

const VALUE_TYPES: [(&str, ValueType); 8] = [
    ("string", ValueType::String),
    ("integer", ValueType::Integer),
    ("number", ValueType::Number),
    ("boolean", ValueType::Boolean),
    ("date", ValueType::Date),
    ("instant", ValueType::Instant),
    ("date-or-instant", ValueType::DateOrInstant),
    ("path", ValueType::Path),
];

pub(super) fn read(text: &str, file: &str) -> (Option<ContractFile>, Vec<Diagnostic>) {
    let mut problems = Problems::new(file);
    let fields = match own_fields(text, &mut problems) {
        Ok(fields) => fields,
        Err((at, found)) => {
            let message = format!("not {CONTRACT_SCHEMA}: {found}; the file is not read");
            return (None, vec![Diagnostic::new(Code::ContractForeign, file, at, message)]);
        }
    };
    let read = fields.and_then(|fields| Some((contract(&fields, &mut problems)?, fields))).map(|(contract, fields)| {
        for flaw in check::flaws(&contract) {
            let at = fields.position(&flaw.pointer);
            problems.report(Code::ContractInvalid, at, flaw.message);
        }
        ContractFile { contract, fields, file: file.to_owned() }
    });
    let read = read.filter(|_| !problems.has_errors());
    (read, problems.into_sorted())
}

/// How names of this form and of its versions, past and to come, begin. Whoever writes it means this form, and is told what is wrong.
const OWN: &str = "hutch/";

/// The document, if it is of this form. `Err` says where and by what it is seen to be of another: a package may have `schemas/` of
/// its own kind (seed `agent-applications-v1`, "Optional schemas/"), and no rule of this form is about it.
fn own_fields(text: &str, problems: &mut Problems) -> Result<Option<Node>, (Position, String)> {
    let named = || text.contains(OWN) || text.contains(r"hutch\/");
    if text.len() > CONTRACT_BYTES_MAX {
        let message = format!("{} bytes, {CONTRACT_BYTES_MAX} allowed", text.len());
        problems.report(Code::FileTooLarge, Position::START, message);
        return Ok(None);
    }
    let Some(fields) = json::parse(text, problems) else {
        return if named() { Ok(None) } else { Err((Position::START, "no JSON document that names it".to_owned())) };
    };
    let Data::Map(entries) = &fields.data else {
        return Err((fields.at, format!("{} at the root", fields.described())));
    };
    let (at, found) = match optional(entries, "schema").map(|node| (node, &node.data)) {
        Some((_, Data::Text(schema))) if schema == CONTRACT_SCHEMA => {
            problems.refuse_hidden("the file", &fields);
            return Ok(Some(fields));
        }
        Some((node, Data::Text(schema))) if schema.starts_with(OWN) => (node.at, node.described()),
        Some((node, _)) => return Err((node.at, format!("schema is {}", node.described()))),
        None => return Err((fields.at, "no schema is named".to_owned())),
    };
    problems.report(Code::ContractSchema, at, format!("schema: expected {CONTRACT_SCHEMA:?}, found {found}"));
    Ok(None)
}

fn contract(fields: &Node, problems: &mut Problems) -> Option<Contract> {
    let record = Record::new(
        "",
        fields,
        &["schema", "name", "version", "summary", "commands"],
        &["$schema", "parameters", "errors"],
        problems,
    )?;
    // For editors alone: where the form is described.
    if let Some(node) = record.get("$schema") {
        problems.any_text("$schema", node);
    }
    let name = record.text("name", problems);
    let version = record.text("version", problems);
    let summary = record.text("summary", problems);
    let parameters = record.or("parameters", Vec::new(), |own| own.list("parameters", problems, parameter));
    let commands = record.list("commands", problems, command);
    let errors = record.or("errors", Vec::new(), |own| own.list("errors", problems, failure));
    Some(Contract {
        name: name?,
        version: version?,
        summary: summary?,
        parameters: parameters?,
        commands: commands?,
        errors: errors?,
    })
}

fn parameter(label: &str, node: &Node, problems: &mut Problems) -> Option<Parameter> {
    let defaulted = ["position", "valueType", "required", "repeated", "default", "choices", "freeText", "constraints"];
    let record = Record::new(label, node, &["name", "description"], &defaulted, problems)?;
    let name = record.text("name", problems);
    let position = record.sparse("position", problems, |label, node, problems| {
        let value = problems.natural(label, node)?;
        // Positions are checked to be 0, 1, 2…: any number too large is as wrong as the largest.
        Some(u32::try_from(value).unwrap_or(u32::MAX))
    });
    let value_type = record.or("valueType", ValueType::String, |own| own.choice("valueType", &VALUE_TYPES, problems));
    let required = record.or("required", false, |own| own.truth("required", problems));
    let repeated = record.or("repeated", false, |own| own.truth("repeated", problems));
    let default = record.sparse("default", problems, any_text);
    let choices = record.or("choices", Vec::new(), |own| own.list("choices", problems, any_text));
    let free_text = record.or("freeText", false, |own| own.truth("freeText", problems));
    let constraints = record.sparse("constraints", problems, constraints);
    let description = record.text("description", problems);
    Some(Parameter {
        name: name?,
        position: position?,
        value_type: value_type?,
        required: required?,
        repeated: repeated?,
        default: default?,
        choices: choices?,
        free_text: free_text?,
        constraints: constraints?,
        description: description?,
    })
}

fn constraints(label: &str, node: &Node, problems: &mut Problems) -> Option<Constraints> {
    let known = ["minimum", "maximum", "minLength", "maxLength", "pattern"];
    let record = Record::new(label, node, &[], &known, problems)?;
    let minimum = record.sparse("minimum", problems, any_text);
    let maximum = record.sparse("maximum", problems, any_text);
    let min_length = record.sparse("minLength", problems, length);
    let max_length = record.sparse("maxLength", problems, length);
    let pattern = record.sparse("pattern", problems, any_text);
    Some(Constraints {
        minimum: minimum?,
        maximum: maximum?,
        min_length: min_length?,
        max_length: max_length?,
        pattern: pattern?,
    })
}

/// No argument has more characters than fit the number.
fn length(label: &str, node: &Node, problems: &mut Problems) -> Option<u32> {
    Some(u32::try_from(problems.natural(label, node)?).unwrap_or(u32::MAX))
}

fn command(label: &str, node: &Node, problems: &mut Problems) -> Option<Command> {
    let defaulted = ["parameters", "idempotent", "confirmationRequired", "outputSchema", "errors", "examples"];
    let record = Record::new(label, node, &["name", "description", "effect"], &defaulted, problems)?;
    let name = record.text("name", problems);
    let description = record.text("description", problems);
    let parameters = record.or("parameters", Vec::new(), |own| own.list("parameters", problems, parameter));
    let effect = record.choice("effect", &EFFECTS, problems);
    let idempotent = record.or("idempotent", false, |own| own.truth("idempotent", problems));
    // What nothing brings back waits for a person, unless its author says otherwise (rule S1).
    let is_asked = effect == Some(Effect::Delete);
    let confirmation_required =
        record.or("confirmationRequired", is_asked, |own| own.truth("confirmationRequired", problems));
    let output_schema = record.or("outputSchema", Value::Object(Map::new()), |own| {
        let node = own.get("outputSchema")?;
        problems.map(&own.label("outputSchema"), node)?;
        Some(node.to_json())
    });
    let errors = record.or("errors", Vec::new(), |own| own.list("errors", problems, any_text));
    let examples = record.or("examples", Vec::new(), |own| own.list("examples", problems, example));
    Some(Command {
        name: name?,
        description: description?,
        parameters: parameters?,
        effect: effect?,
        idempotent: idempotent?,
        confirmation_required: confirmation_required?,
        output_schema: output_schema?,
        errors: errors?,
        examples: examples?,
    })
}

fn failure(label: &str, node: &Node, problems: &mut Problems) -> Option<Failure> {
    let record = Record::new(label, node, &["code", "description", "fix"], &["exitStatus"], problems)?;
    let code = record.text("code", problems);
    let exit_status = record.or("exitStatus", 1, |own| own.exit_status(problems));
    let description = record.text("description", problems);
    let fix = record.text("fix", problems);
    Some(Failure { code: code?, exit_status: exit_status?, description: description?, fix: fix? })
}

fn example(label: &str, node: &Node, problems: &mut Problems) -> Option<Example> {
    let record = Record::new(label, node, &["description", "args"], &["exitStatus"], problems)?;
    let description = record.text("description", problems);
    let args = record.list("args", problems, any_text);
    let exit_status = record.or("exitStatus", 0, |own| own.exit_status(problems));
    Some(Example { description: description?, args: args?, exit_status: exit_status? })
}

fn any_text(label: &str, node: &Node, problems: &mut Problems) -> Option<String> {
    problems.any_text(label, node).map(str::to_owned)
}

/// An object of which every field without a default has been found present, or reported, and no other field is there.
struct Record<'n> {
    label: String,
    entries: &'n [Entry],
}

impl<'n> Record<'n> {
    fn new(
        label: &str,
        node: &'n Node,
        required: &[&str],
        defaulted: &[&str],
        problems: &mut Problems,
    ) -> Option<Record<'n>> {
        let shown = if label.is_empty() { "the file" } else { label };
        let entries = problems.map(shown, node)?;
        problems.only(shown, entries, &[required, defaulted].concat());
        let record = Record { label: label.to_owned(), entries };
        for key in required.iter().filter(|key| optional(entries, key).is_none()) {
            problems.report(Code::FieldMissing, node.at, format!("{} is missing", record.label(key)));
        }
        Some(record)
    }

    fn label(&self, key: &str) -> String {
        if self.label.is_empty() { key.to_owned() } else { format!("{}.{key}", self.label) }
    }

    fn get(&self, key: &str) -> Option<&'n Node> {
        optional(self.entries, key)
    }

    fn text(&self, key: &str, problems: &mut Problems) -> Option<String> {
        problems.text(&self.label(key), self.get(key)?, Text::LONG).map(str::to_owned)
    }

    fn truth(&self, key: &str, problems: &mut Problems) -> Option<bool> {
        problems.truth(&self.label(key), self.get(key)?)
    }

    fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)], problems: &mut Problems) -> Option<T> {
        problems.choice(&self.label(key), self.get(key)?, choices)
    }

    fn exit_status(&self, problems: &mut Problems) -> Option<u8> {
        let node = self.get("exitStatus")?;
        let label = self.label("exitStatus");
        let status = problems.natural(&label, node)?;
        let small = u8::try_from(status).ok();
        if small.is_none() {
            problems.report(Code::ValueInvalid, node.at, format!("{label}: expected 0 to 255, found {status}"));
        }
        small
    }

    /// What a field says, or its default where it is left out.
    fn or<T>(&self, key: &str, default: T, read: impl FnOnce(&Self) -> Option<T>) -> Option<T> {
        if self.get(key).is_none() { Some(default) } else { read(self) }
    }

    /// `Some(None)` is the JSON `null`, or a field that is left out; `None` is a problem that has been reported.
    #[allow(clippy::option_option, reason = "a value, its declared absence, and a mistake are three things")]
    fn sparse<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        read: impl Fn(&str, &Node, &mut Problems) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.get(key) {
            None | Some(Node { data: Data::Null, .. }) => Some(None),
            Some(node) => read(&self.label(key), node, problems).map(Some),
        }
    }

    /// Reads every item before it gives up on any, unless there are more problems than are listed.
    fn list<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        read: impl Fn(&str, &Node, &mut Problems) -> Option<T>,
    ) -> Option<Vec<T>> {
        let label = self.label(key);
        let items = problems.list(&label, self.get(key)?)?;
        let mut values = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            if problems.is_full() {
                return None;
            }
            values.extend(read(&format!("{label}[{at}]"), item, problems));
        }
        (values.len() == items.len()).then_some(values)
    }
}

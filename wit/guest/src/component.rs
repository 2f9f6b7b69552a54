//! The application as a component: bindings for `wit/hutch.wit`, and the tables of `contract` in their types.
//!
//! There is no component outside wasm, so this module is not there natively.
#![allow(unsafe_code, missing_docs, unreachable_pub, reason = "the bindings are generated")]

wit_bindgen::generate!({
    path: "..",
    world: "app",
    generate_all,
    pub_export_macro: true,
    default_bindings_module: "hutch_guest::component",
});

use exports::hutch::app::contract as wit;

use crate::contract as table;

/// A description in the types of the export.
#[must_use]
pub fn describe(description: &table::Description) -> wit::Description {
    wit::Description {
        name: description.name.to_owned(),
        version: description.version.to_owned(),
        summary: description.summary.to_owned(),
        parameters: description.parameters.iter().map(parameter).collect(),
        commands: description.commands.iter().map(command).collect(),
        errors: description.errors.iter().map(failure).collect(),
    }
}

/// Ends the program; its streams must have been flushed.
pub fn exit(status: u8) {
    wasi::cli::exit::exit_with_code(status);
}

fn command(command: &table::Command) -> wit::Command {
    wit::Command {
        name: command.name.to_owned(),
        description: command.description.to_owned(),
        parameters: command.parameters.iter().map(parameter).collect(),
        effect: match command.effect {
            table::Effect::Read => wit::Effect::Read,
            table::Effect::Write => wit::Effect::Write,
            table::Effect::Delete => wit::Effect::Delete,
        },
        idempotent: command.idempotent,
        confirmation_required: command.confirmation_required,
        output_schema: command.output_schema.to_text(),
        errors: command.errors.iter().map(|failure| failure.code.to_owned()).collect(),
        examples: command.examples.iter().map(example).collect(),
    }
}

fn parameter(parameter: &table::Parameter) -> wit::Parameter {
    wit::Parameter {
        name: parameter.name.to_owned(),
        position: parameter.position,
        value_type: match parameter.value_type {
            table::ValueType::String => wit::ValueType::String,
            table::ValueType::Integer => wit::ValueType::Integer,
            table::ValueType::Number => wit::ValueType::Number,
            table::ValueType::Boolean => wit::ValueType::Boolean,
            table::ValueType::Date => wit::ValueType::Date,
            table::ValueType::Instant => wit::ValueType::Instant,
            table::ValueType::DateOrInstant => wit::ValueType::DateOrInstant,
            table::ValueType::Path => wit::ValueType::Path,
        },
        required: parameter.required,
        repeated: parameter.repeated,
        default: parameter.default.map(str::to_owned),
        choices: parameter.choices.iter().map(|choice| (*choice).to_owned()).collect(),
        free_text: parameter.free_text,
        constraints: (!parameter.constraints.is_none()).then(|| constraints(&parameter.constraints)),
        description: parameter.description.to_owned(),
    }
}

fn constraints(constraints: &table::Constraints) -> wit::Constraints {
    wit::Constraints {
        minimum: constraints.minimum.map(str::to_owned),
        maximum: constraints.maximum.map(str::to_owned),
        min_length: constraints.min_length,
        max_length: constraints.max_length,
        pattern: constraints.pattern.map(str::to_owned),
    }
}

fn failure(failure: &table::FailureCode) -> wit::Failure {
    wit::Failure {
        code: failure.code.to_owned(),
        exit_status: failure.exit_status,
        description: failure.description.to_owned(),
        fix: failure.fix.to_owned(),
    }
}

fn example(example: &table::Example) -> wit::Example {
    wit::Example {
        description: example.description.to_owned(),
        args: example.args.iter().map(|arg| (*arg).to_owned()).collect(),
        exit_status: example.exit_status,
    }
}

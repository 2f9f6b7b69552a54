//! Calls against a table made for them: every form that is read, every way to be refused.

use super::*;
use crate::contract::{Effect, FailureCode, Schema};

const COMMAND: Command = Command {
    name: "look",
    description: "looks",
    parameters: &[],
    effect: Effect::Read,
    idempotent: true,
    confirmation_required: false,
    output_schema: Schema::Text("{}"),
    errors: &[],
    examples: &[],
};
static TINY: Description = Description {
    name: "tiny",
    version: "1.0.0",
    summary: "a table for these tests",
    parameters: &[Parameter::flag("human", "for people"), Parameter::option("fields", ValueType::String, "which")],
    commands: &[
        COMMAND,
        Command {
            name: "put",
            parameters: &[
                Parameter::positional(0, "name", ValueType::String, "its name"),
                Parameter {
                    required: false,
                    repeated: true,
                    ..Parameter::positional(1, "size", ValueType::Integer, "sizes")
                },
                Parameter {
                    default: Some("red"),
                    choices: &["red", "green"],
                    ..Parameter::option("colour", ValueType::String, "its colour")
                },
                Parameter { repeated: true, ..Parameter::option("at", ValueType::Instant, "when") },
                Parameter::option("due-on", ValueType::Date, "by which day"),
                Parameter::option("due-at", ValueType::DateOrInstant, "by when"),
                Parameter::option("weight", ValueType::Number, "in kilograms"),
                Parameter::flag("force", "at once"),
                Parameter::flag("no-force", "not --force"),
                Parameter::flag("no-wait", "is no opposite: there is no --wait"),
            ],
            ..COMMAND
        },
        Command {
            name: "label set",
            parameters: &[Parameter::positional(0, "on", ValueType::Boolean, "whether")],
            ..COMMAND
        },
        Command { name: "label clear", ..COMMAND },
    ],
    errors: &[],
};

/// `'a b'` in a line stands for one argument with a space.
fn split(line: &str) -> Vec<String> {
    line.split('\'')
        .enumerate()
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

fn call(line: &str) -> Result<Arguments, Failure> {
    let arguments = parse(&TINY, &split(line))?;
    arguments.complete(&TINY)?;
    Ok(arguments)
}

#[test]
fn calls_that_read_well() {
    let text = |text: &str| Value::Text(text.to_owned());
    let instant = |text| Value::Instant(Instant::parse(text).unwrap());
    for (line, name, expected) in [
        ("put x", "name", vec![text("x")]),
        ("put x", "colour", vec![text("red")]),
        ("put x", "size", vec![]),
        ("put x 1 -2 3", "size", vec![Value::Integer(1), Value::Integer(-2), Value::Integer(3)]),
        ("put --colour green x", "colour", vec![text("green")]),
        ("put x --colour=green", "colour", vec![text("green")]),
        ("put --force x", "force", vec![Value::Boolean(true)]),
        ("put x", "force", vec![]),
        ("put x --no-force", "force", vec![Value::Boolean(false)]),
        ("put x --no-force", "no-force", vec![]),
        ("put x --no-wait", "no-wait", vec![Value::Boolean(true)]),
        ("--human put x", "human", vec![Value::Boolean(true)]),
        ("put x --human", "human", vec![Value::Boolean(true)]),
        ("--fields a,b put x", "fields", vec![text("a,b")]),
        ("put x --fields=", "fields", vec![text("")]),
        ("put x --fields=a=b", "fields", vec![text("a=b")]),
        ("put -- --force", "name", vec![text("--force")]),
        ("put --colour green -- -- 3", "name", vec![text("--")]),
        ("-- put x", "name", vec![text("x")]),
        ("put '- milk'", "name", vec![text("- milk")]),
        ("put -", "name", vec![text("-")]),
        ("put ''", "name", vec![text("")]),
        ("put 'a  b'", "name", vec![text("a  b")]),
        ("put x --weight -2e3", "weight", vec![Value::Number(-2000.0)]),
        ("put x --due-on 2026-04-05", "due-on", vec![Value::Date(Date::parse("2026-04-05").unwrap())]),
        ("put x --due-at 2026-04-05", "due-at", vec![Value::Due(Due::parse("2026-04-05").unwrap())]),
        (
            "put x --at 2026-04-05T10:00:00Z --at=2026-04-05T09:00:00+02:00",
            "at",
            vec![instant("2026-04-05T10:00:00Z"), instant("2026-04-05T07:00:00Z")],
        ),
        ("label set true", "on", vec![Value::Boolean(true)]),
        ("label --human set false", "on", vec![Value::Boolean(false)]),
    ] {
        let arguments = call(line).unwrap_or_else(|failure| panic!("{line}: {failure:?}"));
        assert_eq!(arguments.all(name), expected, "{line}");
    }
}

#[test]
fn calls_that_do_not() {
    for (line, code, message, suggestion) in [
        ("", UNKNOWN_COMMAND, "no command is given", "--help"),
        ("--human", UNKNOWN_COMMAND, "no command is given", "--help"),
        ("lok", UNKNOWN_COMMAND, "no command is called \"lok\"", "did you mean look?"),
        ("dance", UNKNOWN_COMMAND, "no command is called \"dance\"", "--help"),
        ("label", UNKNOWN_COMMAND, "no command is called \"label\"", "write one of: label set, label clear"),
        ("label get", UNKNOWN_COMMAND, "no command is called \"label get\"", "write one of: label set, label clear"),
        ("LOOK", UNKNOWN_COMMAND, "no command is called \"LOOK\"", "--help"),
        ("look x", UNEXPECTED_ARGUMENT, "unexpected argument \"x\": look takes 0 without a flag", "quote"),
        ("look --forse", UNKNOWN_FLAG, "look takes no flag \"--forse\"", "it takes --human, --fields"),
        ("put x --forse", UNKNOWN_FLAG, "put takes no flag \"--forse\"", "did you mean --force?"),
        ("put x -f", UNKNOWN_FLAG, "put takes no flag \"-f\"", "two dashes"),
        ("put -milk", UNKNOWN_FLAG, "put takes no flag \"-milk\"", "write -- before"),
        ("put x --name y", UNKNOWN_FLAG, "put takes no flag \"--name\"", "it takes --colour"),
        ("put x ---human", UNKNOWN_FLAG, "put takes no flag \"---human\"", "did you mean --human?"),
        ("--colour red put x", UNKNOWN_FLAG, "unknown flag \"--colour\" before the command", "after it"),
        ("put", MISSING_ARGUMENT, "put needs NAME: its name", "message"),
        ("put x --colour", MISSING_ARGUMENT, "--colour needs a value: its colour", "--colour VALUE"),
        ("put x --colour --force", MISSING_ARGUMENT, "--colour needs a value: its colour", "--colour=VALUE"),
        ("put x --colour --", MISSING_ARGUMENT, "--colour needs a value: its colour", "--colour=VALUE"),
        ("put x --colour blue", INVALID_VALUE, "--colour is \"blue\", expected one of: red, green", "its colour"),
        (
            "put x --colour gren",
            INVALID_VALUE,
            "--colour is \"gren\", expected one of: red, green",
            "did you mean green?",
        ),
        ("put x --force=true", INVALID_VALUE, "--force takes no value", "write --force alone"),
        ("put x --colour red --colour red", UNEXPECTED_ARGUMENT, "--colour is given twice", "give it once"),
        ("put x --force --force", UNEXPECTED_ARGUMENT, "--force is given twice", "give it once"),
        ("put x --no-force --no-force", UNEXPECTED_ARGUMENT, "--no-force is given twice", "give it once"),
        (
            "put x --force --no-force",
            UNEXPECTED_ARGUMENT,
            "--force and --no-force contradict each other",
            "one of the two",
        ),
        (
            "put x --no-force --force",
            UNEXPECTED_ARGUMENT,
            "--force and --no-force contradict each other",
            "one of the two",
        ),
        ("put x --no-human", UNKNOWN_FLAG, "put takes no flag \"--no-human\"", "it takes --colour"),
        ("put x 1.5", INVALID_VALUE, "SIZE is \"1.5\", expected a decimal integer", "sizes"),
        ("put x +1", INVALID_VALUE, "SIZE is \"+1\", expected a decimal integer", "sizes"),
        (
            "put x 9223372036854775808",
            INVALID_VALUE,
            "SIZE is \"9223372036854775808\", expected a decimal integer",
            "sizes",
        ),
        ("put x --weight NaN", INVALID_VALUE, "--weight is \"NaN\", expected a decimal number", "kilograms"),
        ("put x --weight ' 1'", INVALID_VALUE, "--weight is \" 1\", expected a decimal number", "kilograms"),
        (
            "put x --due-on 2026-02-29",
            INVALID_VALUE,
            "--due-on is \"2026-02-29\", expected a day that exists",
            "which day",
        ),
        ("put x --at 2026-04-05", INVALID_VALUE, "--at is \"2026-04-05\", expected an instant", "when"),
        ("label set yes", INVALID_VALUE, "ON is \"yes\", expected true or false", "whether"),
    ] {
        let failure = call(line).expect_err(line);
        assert_eq!(failure.code, code, "{line}: {failure:?}");
        assert!(failure.message.starts_with(message), "{line}: {}", failure.message);
        let way_out = failure.suggestion.as_deref().unwrap_or_default();
        assert!(way_out.contains(suggestion), "{line}: {way_out}");
        assert_eq!(failure.code.exit_status, 2);
    }
}

#[test]
fn help_can_be_asked_for_without_the_required_arguments() {
    let arguments = parse(&TINY, &split("put --human")).unwrap();
    assert_eq!(arguments.command.map(|command| command.name), Some("put"));
    assert!(arguments.flag("human"));
    let arguments = parse(&TINY, &split("label --human")).unwrap();
    assert!(arguments.command.is_none());
    assert_eq!(arguments.unmatched, ["label"]);
}

#[test]
fn values_by_name_are_read_as_arguments_are() {
    let put = TINY.commands.iter().find(|command| command.name == "put").unwrap();
    let read = |values: &[(&str, &str)]| {
        let parameter = |name: &str| put.parameters.iter().find(|parameter| parameter.name == name).unwrap();
        let values: Vec<_> = values.iter().map(|(name, text)| (parameter(name), (*text).to_owned())).collect();
        by_name(&TINY, put, &values)
    };
    let arguments = read(&[("name", "--force"), ("size", "1"), ("size", "-2"), ("force", "false")]).unwrap();
    assert_eq!(arguments.text("name"), Some("--force"), "a value is never a flag here");
    assert_eq!(arguments.all("size"), [Value::Integer(1), Value::Integer(-2)]);
    assert_eq!(arguments.one("force"), Some(&Value::Boolean(false)));
    assert_eq!(arguments.text("colour"), Some("red"), "the default");
    assert_eq!(arguments.complete(&TINY).unwrap().name, "put");
    assert_eq!(read(&[]).unwrap().complete(&TINY).unwrap_err().message, "put needs NAME: its name");
    for (values, code) in [
        (&[("name", "x"), ("name", "y")][..], UNEXPECTED_ARGUMENT),
        (&[("name", "x"), ("size", "one")], INVALID_VALUE),
        (&[("name", "x"), ("colour", "blue")], INVALID_VALUE),
        (&[("name", "x"), ("force", "yes")], INVALID_VALUE),
    ] {
        assert_eq!(read(values).unwrap_err().code, code, "{values:?}");
    }
}

#[test]
fn flags_are_seen_even_in_calls_that_cannot_be_read() {
    assert!(mentions(&split("no such --human"), "human"));
    assert!(!mentions(&split("no such -- --human"), "human"));
    assert!(!mentions(&split("--humane"), "human"));
}

#[test]
fn codes_name_their_exit_status() {
    for FailureCode { code, exit_status, .. } in
        [UNKNOWN_COMMAND, UNKNOWN_FLAG, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, INVALID_VALUE]
    {
        assert_eq!(exit_status, 2, "{code}");
    }
}

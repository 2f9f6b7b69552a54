//! The gate against examples, and against a reader of arguments that follows every possible meaning at once.

use super::*;
use crate::contract::{Command, Effect, ValueType};
use proptest::prelude::*;

fn parameter(name: &str, position: Option<u32>, value_type: ValueType) -> Parameter {
    Parameter {
        name: name.to_owned(),
        position,
        value_type,
        required: false,
        repeated: false,
        default: None,
        choices: Vec::new(),
        free_text: false,
        constraints: None,
        description: "x".to_owned(),
    }
}

fn command(name: &str, parameters: Vec<Parameter>, confirmation_required: bool) -> Command {
    Command {
        name: name.to_owned(),
        description: "x".to_owned(),
        parameters,
        effect: Effect::Write,
        idempotent: false,
        confirmation_required,
        output_schema: serde_json::json!({}),
        errors: Vec::new(),
        examples: Vec::new(),
    }
}

/// A contract in which the commands whose bit is set need a confirmation.
fn contract(confirmed: u8) -> Contract {
    let bit = |at: u8| confirmed & (1 << at) != 0;
    let text = |position| parameter("text", Some(position), ValueType::String);
    let id = || parameter("id", None, ValueType::String);
    let all = || parameter("all", None, ValueType::Boolean);
    Contract {
        name: "x".to_owned(),
        version: "1.0.0".to_owned(),
        summary: "x".to_owned(),
        parameters: vec![parameter("json", None, ValueType::Boolean), parameter("config", None, ValueType::String)],
        commands: vec![
            command("add", vec![text(0), id()], bit(0)),
            command("list", vec![all()], bit(1)),
            command("list purge", vec![all()], bit(2)),
            command("remove", vec![text(0)], bit(3)),
            command("reminder set", vec![id()], bit(4)),
            command("reminder clear", vec![id()], bit(5)),
            command("tag", vec![text(0)], bit(6)),
            command("tag drop", vec![], bit(7)),
        ],
        errors: Vec::new(),
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

const REMOVE_LIST_PURGE_REMINDER_CLEAR: u8 = 0b0010_1100;

fn paths(contract: &Contract, confirmed: bool) -> Vec<CommandPath> {
    let wanted = contract.commands.iter().filter(|command| !confirmed || command.confirmation_required);
    wanted.map(|command| CommandPath::parse(&command.name).unwrap()).collect()
}

/// The command and whether a confirmation is needed, with the contract or with what a manifest says alone.
fn decide(described: bool, leading: &[&str], arguments: &[&str]) -> (Option<String>, bool) {
    let contract = contract(REMOVE_LIST_PURGE_REMINDER_CLEAR);
    let (commands, confirmed) = (paths(&contract, false), paths(&contract, true));
    let leading = strings(leading);
    let gate = Gate::of(&leading, &commands, &confirmed, described.then_some(&contract));
    let decision = gate.decide(&strings(arguments));
    (decision.command.map(|path| path.to_string()), decision.confirmation.is_some())
}

#[test]
fn a_contract_makes_flags_before_the_command_certain() {
    for (arguments, command, confirm) in [
        (&["list"][..], Some("list"), false),
        (&["list", "--all"], Some("list"), false),
        (&["list", "purge"], Some("list purge"), true),
        (&["list", "--all", "purge"], Some("list purge"), true),
        (&["list", "--what", "purge"], None, true),
        (&["list", "purg"], None, true),
        (&["list", "other"], Some("list"), false),
        (&["add", "remove"], Some("add"), false),
        (&["add", "--id", "remove"], Some("add"), false),
        (&["remove", "td_1"], Some("remove"), true),
        (&["--json", "remove", "td_1"], Some("remove"), true),
        (&["--json=true", "remove"], Some("remove"), true),
        (&["--config", "x", "remove"], Some("remove"), true),
        (&["--config=x", "remove"], Some("remove"), true),
        (&["--config", "remove", "list"], Some("list"), false),
        (&["--config=remove", "list"], Some("list"), false),
        (&["--config", "--json", "remove"], None, true),
        (&["--config", "list"], None, false),
        (&["--other", "remove", "list"], None, true),
        (&["--other", "list"], None, false),
        (&["--other=remove"], None, true),
        (&["--remove"], None, true),
        (&["-c", "remove"], None, true),
        (&["--", "remove"], None, true),
        (&["--", "list"], None, false),
        (&["REMOVE", "td_1"], None, true),
        (&["rem", "td_1"], None, true),
        (&["", "remove"], None, true),
        (&["remove td_1"], None, true),
        (&["--other", "reminder", "set"], None, false),
        (&["--other", "reminder", "x", "clear"], None, true),
        (&["reminder"], None, false),
        (&["reminder", "clear"], Some("reminder clear"), true),
        (&["reminder", "--json", "clear"], Some("reminder clear"), true),
        (&["reminder", "--id", "3", "clear"], None, true),
        (&["reminder", "set", "clear"], Some("reminder set"), false),
        (&["lst"], None, false),
        (&[], None, false),
        (&["--help"], None, false),
    ] {
        assert_eq!(decide(true, &[], arguments), (command.map(str::to_owned), confirm), "{arguments:?}");
    }
}

#[test]
fn without_a_contract_only_the_first_word_is_certain() {
    for (arguments, command, confirm) in [
        (&["list"][..], Some("list"), false),
        (&["add", "remove"], Some("add"), false),
        (&["remove", "td_1"], Some("remove"), true),
        (&["--json", "list"], None, false),
        (&["--json", "remove"], None, true),
        (&["--config", "remove", "list"], None, true),
        (&["--x=remove"], None, true),
        (&["reminder", "clear"], Some("reminder clear"), true),
        (&["reminder", "-x", "clear"], None, true),
        (&["tag", "drop"], Some("tag drop"), false),
    ] {
        assert_eq!(decide(false, &[], arguments), (command.map(str::to_owned), confirm), "{arguments:?}");
    }
}

#[test]
fn leading_arguments_cannot_hide_a_command() {
    for (described, leading, arguments, confirm) in [
        (true, &["--config"][..], &["list", "remove"][..], true),
        (true, &["--config"], &["remove", "list"], false),
        (true, &["--config"], &["--json", "remove"], true),
        (true, &["--config", "x"], &["list"], false),
        (true, &["--json"], &["remove"], true),
        (true, &["--quiet"], &["list", "remove"], true),
        (true, &["--quiet"], &["list", "x"], false),
        (false, &["--quiet"], &["list", "remove"], true),
        (false, &["todo"], &["add", "remove"], false),
        (false, &["todo"], &["remove"], true),
        (false, &["reminder"], &["clear"], true),
        (false, &["reminder"], &["set"], false),
        (false, &["remove"], &["list"], true),
    ] {
        assert_eq!(decide(described, leading, arguments).1, confirm, "{leading:?} {arguments:?}");
    }
}

#[test]
fn a_command_that_takes_words_is_asked_for_whatever_its_words_spell() {
    // `tag drop` may be the command of that name or `tag` with the word `drop`.
    let contract = contract(0b0100_0000);
    let gate = Gate::of(&[], &[], &[], Some(&contract));
    assert!(gate.decide(&strings(&["tag", "drop"])).confirmation.is_some());
    assert!(gate.decide(&strings(&["list", "purge"])).confirmation.is_none());
}

#[test]
fn what_either_source_wants_confirmed_is_confirmed() {
    let described = contract(0);
    let confirmed = [CommandPath::parse("remove").unwrap()];
    let gate = Gate::of(&[], &[], &confirmed, Some(&described));
    assert!(gate.decide(&strings(&["remove"])).confirmation.is_some());
    assert!(gate.decide(&strings(&["list"])).confirmation.is_none());
}

/// Every command that some program, true to the contract but free in what the contract leaves open, could take the
/// arguments for: an undeclared flag may take the next word or not, `--` may stand before a command, and a command that
/// takes words may take one that is a command's too.
fn readings<'c>(contract: &'c Contract, path: &str, words: &[&str], found: &mut BTreeSet<&'c str>) {
    let declared = contract.command(path);
    let [word, rest @ ..] = words else {
        found.extend(declared.map(|command| command.name.as_str()));
        return;
    };
    if *word == "--" {
        found.extend(declared.map(|command| command.name.as_str()));
        return readings(contract, path, rest, found);
    }
    if word.starts_with('-') && *word != "-" {
        let (name, has_value) = word.split_once('=').map_or((*word, false), |(name, _)| (name, true));
        let own = declared.map(|command| command.parameters.as_slice()).unwrap_or_default();
        let mut flags = contract.parameters.iter().chain(own).filter(|parameter| parameter.position.is_none());
        let flag = flags.find(|parameter| name.strip_prefix("--") == Some(parameter.name.as_str()));
        let takes_next = flag.map(|parameter| parameter.value_type != ValueType::Boolean);
        if has_value || takes_next != Some(true) || rest.first().is_some_and(|next| next.starts_with('-')) {
            readings(contract, path, rest, found);
        }
        if !has_value && takes_next != Some(false) {
            readings(contract, path, rest.get(1..).unwrap_or_default(), found);
        }
        return;
    }
    let longer = if path.is_empty() { (*word).to_owned() } else { format!("{path} {word}") };
    let extends = contract.commands.iter().any(|command| {
        command.name == longer || command.name.strip_prefix(&longer).is_some_and(|rest| rest.starts_with(' '))
    });
    let takes_words = declared.is_some_and(|command| command.parameters.iter().any(|p| p.position.is_some()));
    if extends {
        readings(contract, &longer, rest, found);
    }
    if !extends || takes_words {
        found.extend(declared.map(|command| command.name.as_str()));
    }
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "add",
        "list",
        "purge",
        "remove",
        "reminder",
        "set",
        "clear",
        "tag",
        "drop",
        "x",
        "",
        "-",
        "--",
        "--json",
        "--json=1",
        "--config",
        "--config=list",
        "--id",
        "--id=remove",
        "--all",
        "--unknown",
        "--unknown=remove",
        "-v",
        "-vremove",
        "3",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_passes_cannot_be_read_as_a_command_on_the_list(
        confirmed in any::<u8>(),
        leading in prop::collection::vec(word(), 0..3),
        words in prop::collection::vec(word(), 0..7),
    ) {
        let contract = contract(confirmed);
        // The seed counts commands from after the leading arguments, of which the last may take a word.
        let last: Vec<&str> = leading.last().copied().filter(|word| word.starts_with("--") && *word != "--").into_iter().collect();
        let leading = strings(&leading);
        let gate = Gate::of(&leading, &[], &[], Some(&contract));
        let decision = gate.decide(&strings(&words));
        let all: Vec<&str> = last.iter().chain(&words).copied().collect();
        let mut found = BTreeSet::new();
        readings(&contract, "", &all, &mut found);
        let called: Vec<_> = found.iter().filter(|name| contract.command(name).unwrap().confirmation_required).collect();
        prop_assert!(decision.confirmation.is_some() || called.is_empty(), "{words:?} may call {called:?}");
        if let Some(command) = decision.command {
            prop_assert!(contract.command(command.as_str()).is_some());
        }
    }

    #[test]
    fn the_gate_is_open_where_all_is_plain(
        confirmed in any::<u8>(),
        at in 0_usize..8,
        flags in prop::collection::vec(prop::sample::select(vec!["--json", "--config=remove", "--json=1"]), 0..3),
        rest in prop::collection::vec(word(), 0..5),
    ) {
        let contract = contract(confirmed);
        let command = &contract.commands[at];
        let words: Vec<&str> = flags.into_iter().chain(command.name.split(' ')).chain(rest).collect();
        let decision = Gate::of(&[], &[], &[], Some(&contract)).decide(&strings(&words));
        let related = |other: &&Command| is_within(&other.name, &command.name) || is_within(&command.name, &other.name);
        let others_confirmed = contract.commands.iter().filter(related).any(|other| other.confirmation_required);
        let extended = contract.commands.iter().any(|other| other.name != command.name && is_within(&other.name, &command.name));
        if command.confirmation_required && !extended {
            prop_assert!(decision.confirmation.is_some());
        } else if !command.confirmation_required && !others_confirmed {
            prop_assert_eq!(decision.confirmation, None, "{:?}", words);
        }
    }

    #[test]
    fn without_a_contract_no_word_of_the_list_passes_behind_a_flag(
        words in prop::collection::vec(word(), 0..5),
        flag in prop::sample::select(vec!["--x", "-v", "--x=1", "--", "--json"]),
        rest in prop::collection::vec(word(), 0..5),
    ) {
        let confirmed = [CommandPath::parse("remove").unwrap(), CommandPath::parse("reminder clear").unwrap()];
        let commands = [CommandPath::parse("list").unwrap()];
        let all: Vec<&str> = std::iter::once(flag).chain(words).chain(["remove"]).chain(rest).collect();
        let decision = Gate::of(&[], &commands, &confirmed, None).decide(&strings(&all));
        prop_assert!(decision.confirmation.is_some(), "{all:?}");
    }
}

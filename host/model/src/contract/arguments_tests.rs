//! Arguments beside declared parameters.

use super::ViolationKind::{self, *};
#[allow(unused_imports, reason = "what the parent has changes more often than this list")]
use super::*;
use crate::contract::{About, CONTRACT_FILE, ContractFile, parse};

fn todo() -> ContractFile {
    let text = std::fs::read_to_string("../../packages/todo/schemas/commands.json");
    parse(&text.unwrap(), CONTRACT_FILE).0.unwrap()
}

#[track_caller]
fn check(line: &str, expect: &[(ViolationKind, Option<usize>, Option<&str>)]) {
    let arguments: Vec<String> = line.split('|').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let file = todo();
    let read = file.contract().read_arguments(&arguments);
    let found: Vec<_> =
        read.violations.iter().map(|found| (found.kind, found.index, found.instead.as_deref())).collect();
    assert_eq!(found, expect, "{line}: {:?}", read.violations);
}

#[test]
fn what_the_contract_allows_passes() {
    for line in [
        "",
        "add|Buy milk & eggs",
        "add|x|--due-at|2026-04-05|--description=a|",
        "add|--description|a b|x",
        "add|--|--x",
        "--human|list",
        "--fields|id,title|list|--limit|10",
        "list|--status=open|--quiet",
        "reminder|set|td_0001|--at|2026-04-05T09:00:00Z|--at|2026-04-06T09:00:00+02:00",
        "reminder|list",
        "remove|td_0001|--confirm",
        "list|--agent",
        "add|--json-input",
        "remove|--confirm|--json-input",
        "reminder|set|--json-input|--dry-run",
        // What no parameter declares and every command line has.
        "get|--json-input",
        "list|--dry-run|--yes",
        "list|--query|items[0]",
        "--query=items|list",
        "nosuch|--help",
        "--help|anything|--at|all",
        "--version",
    ] {
        check(line, &[]);
    }
}

#[test]
fn each_violation_says_where_and_what_instead() {
    check("ad|x", &[(UnknownCommand, Some(0), Some("add"))]);
    check("reminder|sett|td_0001", &[(UnknownCommand, Some(0), None)]);
    check("zzzzzz", &[(UnknownCommand, Some(0), None)]);
    check("add", &[(Missing, None, None)]);
    check("add|--no-json-input", &[(Missing, None, None)]);
    check("get|--json-inputs", &[(UnknownFlag, Some(1), None), (Missing, None, None)]);
    check("list|--query", &[(MissingValue, Some(1), None)]);
    check("add|x|y", &[(UnexpectedArgument, Some(2), None)]);
    check("add|x|--due|2026-04-05", &[(UnknownFlag, Some(2), Some("--due-at"))]);
    check("add|x|--due|tomorrow", &[(UnknownFlag, Some(2), Some("--due-at")), (WrongType, Some(3), None)]);
    check("add|x|--due", &[(UnknownFlag, Some(2), Some("--due-at")), (MissingValue, Some(2), None)]);
    check("list|--stauts|open", &[(UnknownFlag, Some(1), Some("--status"))]);
    check("list|--stauts|opne", &[(UnknownFlag, Some(1), Some("--status")), (NotAChoice, Some(2), Some("open"))]);
    check(
        "list|--stauts=opne",
        &[(UnknownFlag, Some(1), Some("--status=opne")), (NotAChoice, Some(1), Some("--status=open"))],
    );
    check("list|--status|open|--stauts|open", &[(UnknownFlag, Some(3), Some("--status")), (Repeated, Some(4), None)]);
    // A flag that takes no value takes none where it is misspelt either.
    check("remove|--comfirm|td_0001", &[(UnknownFlag, Some(1), Some("--confirm"))]);
    check("remove|--confirm|td_0001|--zzz|y", &[(UnknownFlag, Some(3), None), (UnexpectedArgument, Some(4), None)]);
    check("add|x|--due-ta=2026-04-05", &[(UnknownFlag, Some(2), Some("--due-at=2026-04-05"))]);
    check("add|x|--due-at|tomorrow", &[(WrongType, Some(3), None)]);
    check("add|x|--due-at", &[(MissingValue, Some(2), None)]);
    check("add|x|--due-at|--description|y", &[(MissingValue, Some(2), None)]);
    check("list|--limit|ten", &[(WrongType, Some(2), None)]);
    check("list|--limit|-3", &[(OutOfRange, Some(2), None)]);
    check("list|--status|opne", &[(NotAChoice, Some(2), Some("open"))]);
    check("list|--status=opne", &[(NotAChoice, Some(1), Some("--status=open"))]);
    check("remove|td_0001|--confirm=yes", &[(UnexpectedValue, Some(2), Some("--confirm"))]);
    check("list|--limit|1|--limit|2", &[(Repeated, Some(4), None)]);
    check("add|x|-d|y", &[(UnknownFlag, Some(2), None), (UnexpectedArgument, Some(3), None)]);
}

#[test]
fn so_many_choices_are_named_however_many_there_are_and_however_long() {
    let mut contract = todo().contract().clone();
    let list = contract.commands.iter_mut().find(|command| command.name == "list").unwrap();
    let status = list.parameters.iter_mut().find(|parameter| parameter.name == "status").unwrap();
    status.repeated = true;
    status.choices = (0..1000).map(|at| format!("{at:04}{}", "x".repeat(100))).collect();
    let words = ["list"].into_iter().chain(["--status", "?"].into_iter().cycle().take(200)).map(str::to_owned);
    let words: Vec<String> = words.collect();
    let read = contract.read_arguments(&words);
    assert_eq!(read.violations.len(), VIOLATIONS_MAX);
    for violation in &read.violations {
        let message = &violation.message;
        assert!(message.starts_with("--status: \"?\" is none of 0000x"), "{message}");
        assert!(message.ends_with("… and 980 more"), "{message}");
        assert!(message.len() < 2000, "{}", message.len());
    }
}

#[test]
fn an_answer_for_people_is_one_that_the_contract_has() {
    let file = todo();
    let without = Contract { parameters: Vec::new(), ..file.contract().clone() };
    let read = |contract: &Contract, line: &str| {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        contract.read_arguments(&arguments).for_people
    };
    for line in ["list --human", "--human list", "list --no-human --human", "--help --human"] {
        assert!(read(file.contract(), line), "{line}");
    }
    for line in ["list", "list --human --no-human", "add -- --human", "list --query human", "add human"] {
        assert!(!read(file.contract(), line), "{line}");
    }
    assert!(!read(&without, "list --human"));
}

#[test]
fn the_answer_to_a_shaped_call_is_known_to_be_another() {
    let file = todo();
    let read = |line: &str| {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let read = file.contract().read_arguments(&arguments);
        (read.command.map(|command| command.name.clone()), read.about, read.shaped)
    };
    assert_eq!(read("reminder list"), (Some("reminder list".to_owned()), None, false));
    assert_eq!(read("list --human"), (Some("list".to_owned()), None, true));
    assert_eq!(read("list --fields=id"), (Some("list".to_owned()), None, true));
    assert_eq!(read("list --help"), (Some("list".to_owned()), Some(About::Help), false));
    assert_eq!(read("--version"), (None, Some(About::Version), false));
    assert_eq!(read("add -- --help").1, None);
}

/// An application that looks for versions and asks queries of its own is judged as any other.
#[test]
fn a_flag_of_the_applications_own_switches_no_judging_off() {
    let names = ["help", "version", "brief", "human", "fields", "query", "json-input"];
    let file = todo();
    let parameter = |name: &str, value_type| Parameter {
        name: name.to_owned(),
        value_type,
        ..file.contract().hosted_parameters().remove(0)
    };
    let with_own = |value_type| {
        let mut own = Contract { parameters: Vec::new(), ..file.contract().clone() };
        for command in &mut own.commands {
            command.parameters.retain(|other| !names.contains(&other.name.as_str()));
            command.parameters.extend(names.map(|name| parameter(name, value_type)));
        }
        own
    };
    let (texts, switches) = (with_own(ValueType::String), with_own(ValueType::Boolean));
    let read = |contract: &Contract, line: &str| {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let read = contract.read_arguments(&arguments);
        let kinds: Vec<ViolationKind> = read.violations.iter().map(|found| found.kind).collect();
        (kinds, read.about, read.shaped, read.for_people, read.asked)
    };
    let judged = |kinds: &[ViolationKind]| (kinds.to_vec(), None, false, false, Asked::default());
    for name in names {
        for line in [format!("list --{name} milk"), format!("list --{name}=milk")] {
            assert_eq!(read(&texts, &line), judged(&[]), "{line}");
            let more = format!("{line} --nonsense --limit ten x");
            assert_eq!(read(&texts, &more), judged(&[UnknownFlag, WrongType, UnexpectedArgument]), "{more}");
        }
        let line = format!("add --{name} milk");
        assert_eq!(read(&texts, &line), judged(&[Missing]), "{line}");
        // What has no value, or one that it does not take, asks for nothing.
        let line = format!("list --{name}");
        assert_eq!(read(&texts, &line), judged(&[MissingValue]), "{line}");
        let line = format!("list --{name}=milk");
        assert_eq!(read(&switches, &line), judged(&[UnexpectedValue]), "{line}");
    }
    // A declared switch means what every command line means by it.
    for (name, about) in [("help", About::Help), ("version", About::Version), ("brief", About::Brief)] {
        let line = format!("list --nonsense --{name}");
        assert_eq!(read(&switches, &line), (Vec::new(), Some(about), false, false, Asked::default()), "{line}");
    }
    assert_eq!(read(&switches, "list --human"), (Vec::new(), None, true, true, Asked::default()));
    assert_eq!(read(&switches, "list --hepl"), judged(&[UnknownFlag]), "a slip");
    assert_eq!(read(&switches, "list --query --fields"), judged(&[]), "they select nothing");
    // With a value none of them is the host's switch either.
    let bare = Contract { parameters: Vec::new(), ..file.contract().clone() };
    assert_eq!(read(&bare, "list --version=2"), judged(&[UnknownFlag]));
}

#[test]
fn what_is_not_declared_is_asked_of_the_host() {
    let file = todo();
    let bare = file.contract();
    // As a contract that declares nothing but what its commands do.
    let mut bare = Contract { parameters: Vec::new(), ..bare.clone() };
    for command in &mut bare.commands {
        let is_own = |name: &str| !["json-input", "dry-run"].contains(&name) && !name.starts_with("no-");
        command.parameters.retain(|own| is_own(&own.name));
    }
    let read = |contract: &Contract, line: &str| {
        let arguments: Vec<String> = line.split('|').map(str::to_owned).collect();
        let asked = contract.read_arguments(&arguments).asked;
        (asked.left(&arguments).join("|"), asked)
    };
    let asked = |line: &str| read(&bare, line);
    assert_eq!(asked("add|x|--due-at|2026-04-05"), ("add|x|--due-at|2026-04-05".to_owned(), Asked::default()));
    let (left, found) = asked("--human|add|--fields|id,title|x|--quiet|--query=items[0]|--dry-run");
    assert_eq!(left, "add|x");
    assert_eq!((found.human, found.quiet, found.dry_run), (Some(true), true, true));
    assert_eq!(
        (found.fields.as_slice(), found.query.as_deref()),
        (["id", "title"].map(str::to_owned).as_slice(), Some("items[0]"))
    );
    assert_eq!((found.about, found.batch), (None, false));
    assert_eq!(asked("list|--human|--agent").1.human, Some(false));
    assert!(asked("add|--json-input").1.batch);
    for (line, about) in [("--version", About::Version), ("add|--help", About::Help), ("--brief", About::Brief)] {
        assert_eq!(asked(line).1.about, Some(about), "{line}");
        // Whatever else such a line says: none of it is a call.
        let wrong = format!("nosuch|x|{line}|--nonsense");
        assert_eq!(asked(&wrong).1.about, Some(about), "{wrong}");
    }
    assert_eq!(asked("remove|td_0001|--confirm|--no-confirm").0, "remove|td_0001", "the opposite of a switch");
    assert_eq!(asked("remove|td_0001|--no-confirm|--confirm").0, "remove|td_0001|--confirm");
    // Data, values of the application's own flags, and flags with a value that they don't take, are not the host's.
    for line in ["add|--|--help", "add|human", "add|x|--yes", "add|x|--help=yes", "add|x|--description=--help"] {
        assert_eq!(asked(line), (line.to_owned(), Asked::default()), "{line}");
    }
    // What the contract declares is the application's.
    assert_eq!(read(file.contract(), "add|--json-input|--human|--dry-run|--help").1, Asked::default());
    assert_eq!(read(file.contract(), "list|--dry-run|--query|items").0, "list");
    assert_eq!(asked("list|--query").0, "list|--query", "and is refused for the value that is missing");
}

/// Each word is taken once, in whatever order a switch and its opposite come: counted, so that a slow machine judges alike.
#[test]
fn taking_a_switch_back_looks_at_no_word_twice() {
    let file = todo();
    let mut bare = file.contract().clone();
    for command in &mut bare.commands {
        command.parameters.retain(|own| !own.name.starts_with("no-"));
    }
    let words = |part: &[&str], times: usize| -> Vec<String> {
        ["remove", "td_0001"]
            .iter()
            .chain(part.iter().cycle().take(part.len() * times))
            .map(|one| (*one).to_owned())
            .collect()
    };
    for (part, left) in [
        (&["--confirm", "--no-confirm"][..], 2),
        (&["--confirm", "--no-confirm", "--no-confirm"], 2),
        (&["--no-confirm", "--confirm"], 3),
        (&["--dry-run", "--confirm", "--no-dry-run", "--no-confirm"], 2),
    ] {
        let arguments = words(part, 5_000);
        let read = bare.read_arguments(&arguments);
        assert_eq!(read.violations, []);
        assert_eq!(read.asked.words(&arguments).count(), arguments.len() - left, "{part:?}");
        assert_eq!(read.asked.left(&arguments).len(), left, "{part:?}");
    }
}

/// Were each word held against each parameter, or each choice, this would take many minutes.
#[test]
fn many_words_of_many_parameters_are_read_once() {
    const MANY: usize = 1 << 18;
    let file = todo();
    let mut contract = file.contract().clone();
    let mut lines = contract.commands.iter().find(|command| command.name == "add").unwrap().parameters[0].clone();
    assert_eq!((lines.position, lines.repeated), (Some(0), false));
    lines.repeated = true;
    let flag = Parameter { name: "p".to_owned(), position: None, required: false, ..lines.clone() };
    let mut parameters = vec![lines];
    parameters.extend((0..MANY).map(|at| Parameter { name: format!("state-{at}"), ..flag.clone() }));
    let choices = (0..MANY).map(|at| at.to_string()).collect();
    parameters.push(Parameter { name: "choice".to_owned(), choices, ..flag.clone() });
    contract.commands.iter_mut().find(|command| command.name == "add").unwrap().parameters = parameters;
    let words = |part: &[&str], times: usize| -> Vec<String> {
        ["add", "x"].iter().chain(part.iter().cycle().take(part.len() * times)).map(|one| (*one).to_owned()).collect()
    };
    let long = words(&["x", "--state-262143=a", "--choice=262143", "--yes"], MANY);
    assert_eq!(contract.read_arguments(&long).violations, []);
    // The first ones are told what was probably meant, and all what is wrong.
    let read = contract.read_arguments(&words(&["--choise=1"], 200));
    let instead: Vec<_> = read.violations.iter().map(|found| (found.kind, found.instead.as_deref())).collect();
    assert_eq!(instead.len(), VIOLATIONS_MAX);
    assert!(instead[..MEANT_MAX].iter().all(|found| *found == (UnknownFlag, Some("--choice=1"))), "{instead:?}");
    assert!(instead[MEANT_MAX..].iter().all(|found| *found == (UnknownFlag, None)), "{instead:?}");
}

#[test]
fn the_host_describes_what_it_answers() {
    let file = todo();
    let bare = Contract { parameters: Vec::new(), ..file.contract().clone() };
    let names = |contract: &Contract| {
        contract.hosted_parameters().into_iter().map(|own| own.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&bare), "help version brief human agent quiet fields query", "a command declares the other two");
    assert_eq!(names(file.contract()), "query");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let help = bare.help(&words("reminder set"));
    assert_eq!(help["commands"].as_array().map(Vec::len), Some(1));
    assert_eq!(help["commands"][0]["name"], "reminder set");
    assert_eq!(
        help["help"],
        "usage: todo reminder set ID --at INSTANT... [--json-input] [--no-json-input] [--dry-run] [--no-dry-run]"
    );
    assert!(help["commands"][0]["outputSchema"].is_object() && help["errors"].is_array(), "all about one: {help}");
    assert_eq!(bare.help(&words("reminder"))["commands"].as_array().map(Vec::len), Some(3));
    for line in ["", "remind", "zzz --x", "--human"] {
        assert_eq!(bare.help(&words(line))["commands"].as_array().map(Vec::len), Some(11), "{line}: all of them");
    }
    for line in ["list", "list x --y", "reminder list all", "--human --fields id list"] {
        assert_eq!(bare.help(&words(line))["commands"].as_array().map(Vec::len), Some(1), "{line}");
    }
    let text = bare.help_text(&words("list"));
    for part in
        ["\nlist [--status open|completed|all]", "      --limit INTEGER: ", "      --query STRING: ", "STATE_CORRUPT: "]
    {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains("LIMIT_REACHED"), "no failure of list");
    // What nobody declares stands in no list twice.
    for flag in ["help", "human"] {
        let line = format!("--{flag}: ");
        assert_eq!(file.contract().help_text(&words("list")).matches(&line).count(), 1, "{flag}");
    }
}

/// Several commands are a line each: what tells them apart, how they are called, and nothing that their own help says.
#[test]
fn of_several_commands_help_says_how_each_is_called() {
    const CUSTOMARY: &str = "--help --version --brief --human --agent --quiet --dry-run --json-input --fields --query";
    let mut contract = todo().contract().clone();
    let all = contract.help(&[]);
    let keys: Vec<&str> = all.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["commands", "flags", "help", "name", "ok", "summary", "version"]);
    assert_eq!(all["help"], "usage: todo COMMAND [ARGUMENT]... [--FLAG]...");
    assert_eq!(all["flags"], CUSTOMARY.split(' ').collect::<serde_json::Value>());
    let line = |name: &str| all["commands"].as_array().unwrap().iter().find(|line| line["name"] == name).unwrap();
    assert_eq!(
        *line("remove"),
        serde_json::json!({
            "name": "remove", "description": "Takes an item out for good and shows it a last time. Its id is not given again.",
            "effect": "delete", "confirmationRequired": true, "usage": "remove ID [--confirm]",
        })
    );
    assert_eq!(line("reminder set")["usage"], "reminder set ID --at INSTANT...", "nothing of what every line has");
    assert_eq!(line("get").get("confirmationRequired"), None);
    // What not every command line has is said of it, and a flag of that name with a value is the command's.
    let parameter = |name: &str, value_type| Parameter {
        name: name.to_owned(),
        value_type,
        ..contract.hosted_parameters().remove(0)
    };
    let (loud, query) = (parameter("loud", ValueType::Boolean), parameter("query", ValueType::String));
    let back = parameter("no-loud", ValueType::Boolean);
    contract.parameters.extend([loud, back]);
    contract.commands[2].parameters.push(query);
    let all = contract.help(&[]);
    assert_eq!((all["parameters"].as_array().map(Vec::len), &all["parameters"][0]["name"]), (Some(1), &"loud".into()));
    assert_eq!(all["commands"][2]["usage"], "get ID [--query STRING]");
    let text = contract.help_text(&[]);
    for part in ["\nremove ID [--confirm]\n    Takes an item", &format!("\n      {CUSTOMARY}\n      --loud: ")] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains("failures, by exit status") && !text.contains("--limit INTEGER: "), "{text}");
}

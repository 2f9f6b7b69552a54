//! Where descriptions of the same commands disagree: a file and a component, a file and the manifest.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

use hutch_model::contract::{self, Contract, ContractFile, Effect};
use hutch_model::diagnostic::{Code, Diagnostic};
use hutch_model::manifest::{self, Manifest};

fn file() -> ContractFile {
    let path = "../../tests/manifests/good.commands.json";
    contract::parse(&std::fs::read_to_string(path).unwrap(), "schemas/commands.json").0.unwrap()
}

/// A manifest of the same application.
fn manifest(slug: &str, version: &str, commands: &str, confirmed: &str) -> Manifest {
    let text = format!(
        "---\nslug: {slug}\nname: To-do\ndescription: d\nversion: {version}\nentry:\n  command: wasm:app.wasm\n\
         commands: {commands}\nconfirmationRequired: {confirmed}\nskills: []\n---\nbody\n"
    );
    let (read, diagnostics) = manifest::parse(&text, "APP.md");
    read.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn brief(found: &[Diagnostic]) -> Vec<String> {
    found.iter().map(|d| format!("{}:{}:{} {}", d.file, d.line, d.column, d.message)).collect()
}

fn differences(change: impl FnOnce(&mut Contract)) -> Vec<String> {
    let file = file();
    let mut component = file.contract().clone();
    change(&mut component);
    let found = file.differences(&component);
    assert!(found.iter().all(|d| d.code == Code::ContractDiffers && d.is_error()));
    brief(&found)
}

#[test]
fn equal_descriptions_do_not_differ() {
    assert_eq!(differences(|_| {}), [] as [&str; 0]);
}

#[test]
fn a_program_may_have_another_name_than_the_package_that_holds_it() {
    assert_eq!(differences(|component| component.name = "another".to_owned()), [] as [&str; 0]);
}

#[test]
fn each_difference_is_named_at_its_place_in_the_file() {
    let found = differences(|component| {
        component.version = "0.2.0".to_owned();
        component.commands[1].effect = Effect::Read;
        component.commands[1].confirmation_required = false;
        component.commands[0].parameters[2].default = None;
        component.commands[0].output_schema["type"] = "array".into();
        component.errors.clear();
    });
    let expected = [
        (4, "/version: the file says \"0.1.0\", the component \"0.2.0\""),
        (0, "/commands/0/parameters/2/default: the file says \"2026-04-05\", the component null"),
        (0, "/commands/0/outputSchema/type: the file says \"object\", the component \"array\""),
        (0, "/commands/1/effect: the file says \"delete\", the component \"read\""),
        (0, "/commands/1/confirmationRequired: the file says true, the component false"),
        (0, "/errors: the file says \"[NOT_FOUND]\", the component \"[]\""),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, (line, message)) in found.iter().zip(expected) {
        assert!(found.ends_with(message), "{found}");
        assert!(line == 0 || found.starts_with(&format!("schemas/commands.json:{line}:")), "{found}");
    }
}

#[test]
fn a_command_that_only_one_side_has_is_named_by_both_lists() {
    let found = differences(|component| component.commands.truncate(1));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].ends_with("/commands: the file says \"[add, reminder set]\", the component \"[add]\""),
        "{found:?}"
    );
}

#[test]
fn file_and_manifest_agree() {
    let manifest = manifest("todo", "0.1.0", "[add, reminder set]", "[reminder set]");
    assert_eq!(file().disagreements(&manifest), []);
}

#[test]
fn file_and_manifest_disagree() {
    let manifest = manifest("other", "0.1.1", "[add, list]", "[add]");
    let found = file().disagreements(&manifest);
    assert!(found.iter().all(|d| d.code == Code::ContractManifest));
    assert_eq!(
        found.iter().map(|d| (d.file.as_str(), d.message.as_str())).collect::<Vec<_>>(),
        [
            ("APP.md", "\"list\" is not among the commands of schemas/commands.json"),
            ("APP.md", "\"add\" needs a confirmation here and none in schemas/commands.json"),
            ("schemas/commands.json", "name \"todo\" is not the slug \"other\" of APP.md"),
            ("schemas/commands.json", "version \"0.1.0\" is not the version 0.1.1 of APP.md"),
            ("schemas/commands.json", "\"reminder set\" is not among the commands of APP.md"),
        ]
    );
    let unconfirmed = crate::manifest("todo", "0.1.0", "[add, reminder set]", "[]");
    let found = file().disagreements(&unconfirmed);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "\"reminder set\" needs a confirmation here and none in APP.md");
}

#[test]
fn what_the_manifest_would_have_to_list_is_said_once() {
    let expected = r#"write commands: ["add","reminder set"] and confirmationRequired: ["reminder set"]"#;
    assert_eq!(file().manifest_lists().as_deref(), Some(expected));
    let found = file().disagreements(&manifest("todo", "0.1.0", "[list]", "[]"));
    assert_eq!(found.len(), 3, "{found:?}");
    let said: Vec<&str> = found.iter().filter_map(|problem| problem.suggestion.as_deref()).collect();
    assert_eq!(said, [expected]);
    // What is written as it is said agrees.
    let written = manifest("todo", "0.1.0", r#"["add","reminder set"]"#, r#"["reminder set"]"#);
    assert_eq!(file().disagreements(&written), []);
    // A name that is another's is no matter of lists.
    let other = file().disagreements(&manifest("other", "0.1.0", "[add, reminder set]", "[reminder set]"));
    assert_eq!((other.len(), other[0].suggestion.as_deref()), (1, None));
}

#[test]
fn a_description_from_elsewhere_is_held_to_the_same_rules() {
    let mut contract = file().contract().clone();
    assert_eq!(contract.check("app/app.wasm"), []);
    contract.commands[0].name = "Add".to_owned();
    contract.commands[0].errors.push("GONE".to_owned());
    let found = contract.check("app/app.wasm");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|d| d.file == "app/app.wasm" && d.code == Code::ContractInvalid));
}

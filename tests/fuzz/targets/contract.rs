//! `schemas/commands.json`: what is accepted is the same once it is written and read again, once it is kept, and as the component's own
//! description would be judged; and it cost memory in proportion to the text.
#![no_main]

use hutch_fuzz::{check_diagnostics, within};
use hutch_model::contract::{self, Contract, KeptContract};
use hutch_model::diagnostic::Code;
use hutch_model::front_matter::decode;
use serde_json::Map;

const FILE: &str = "schemas/commands.json";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = decode(bytes, FILE) else { return };
    // A hundred patterns may be compiled, one after the other.
    let memory_max = (16 << 20) + 400 * text.len();
    let (file, diagnostics) = within(memory_max, || contract::parse(text, FILE));
    // A file of another kind is left alone, and that is no error.
    let is_foreign = diagnostics.iter().any(|diagnostic| diagnostic.code == Code::ContractForeign);
    assert!(!(is_foreign && file.is_some()), "read, and said not to be: {diagnostics:?}");
    check_diagnostics(text, &diagnostics, file.is_some() || is_foreign);
    if let Some(file) = file {
        check_contract(file.contract());
    }
});

fn check_contract(contract: &Contract) {
    let written = contract.to_document().to_string();
    let (again, problems) = contract::parse(&written, FILE);
    assert_eq!(again.as_ref().map(|file| file.contract()), Some(contract), "{problems:?}");
    let flaws = contract.check(FILE);
    assert!(!flaws.iter().any(|flaw| flaw.is_error()), "a file may say what a component may not: {flaws:?}");
    let kept = KeptContract::of(contract);
    assert_eq!(kept.and_then(|kept| kept.whole()).as_ref(), Some(contract), "what is kept is another one");
    assert_eq!(contract.tools().len(), contract.commands.len());
    for command in &contract.commands {
        assert_eq!(contract.command(&command.name), Some(command));
        // The words that no fields give are the command's, or it says which are missing.
        if let Ok(words) = command.words(&Map::new()) {
            assert_eq!(words.join(" "), command.name);
        }
        for example in &command.examples {
            for violation in contract.read_arguments(&example.args).violations {
                assert!(violation.index.is_none_or(|index| index < example.args.len()), "{violation:?}");
            }
        }
    }
}

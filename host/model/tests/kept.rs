//! What was read once and kept comes back as it was, and a call is judged by the kept part as by the whole.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

use hutch_model::contract::{self, Contract, KeptContract};
use hutch_model::gate::Gate;
use hutch_model::guard;
use hutch_model::manifest::{self, Guard, Manifest};
use proptest::prelude::*;
use std::sync::LazyLock;

const PACKAGES: [&str; 2] = ["../../packages/todo", "../../tests/packages/probe"];

fn read(package: &str) -> (Manifest, Option<Contract>) {
    let text = std::fs::read_to_string(format!("{package}/APP.md")).unwrap();
    let manifest = manifest::parse(&text, "APP.md").0.unwrap();
    let contract = std::fs::read_to_string(format!("{package}/schemas/commands.json")).ok();
    (manifest, contract.map(|text| contract::parse(&text, "c").0.unwrap().contract().clone()))
}

fn kept(contract: &Contract) -> KeptContract {
    let bytes = postcard::to_allocvec(&KeptContract::of(contract).unwrap()).unwrap();
    postcard::from_bytes(&bytes).unwrap()
}

#[test]
fn everything_comes_back_as_it_was() {
    for package in PACKAGES {
        let (manifest, contract) = read(package);
        let bytes = manifest.keep().unwrap();
        assert_eq!(Manifest::recall(&bytes), Some(manifest.clone()));
        assert_eq!(Manifest::recall(&bytes).unwrap().position("/entry"), manifest.position("/entry"));
        for end in 0..bytes.len() {
            assert_ne!(Manifest::recall(&bytes[..end]), Some(manifest.clone()), "cut after {end}");
        }
        if let Some(contract) = contract {
            assert_eq!(kept(&contract).whole(), Some(contract));
        }
    }
}

#[test]
fn a_call_reads_the_commands_that_it_may_mean() {
    let contract = read(PACKAGES[0]).1.unwrap();
    let part = kept(&contract).judging_call(&["list"]).unwrap();
    let names: Vec<&str> = part.commands.iter().map(|command| command.name.as_str()).collect();
    let confirmed = contract.commands.iter().filter(|command| command.confirmation_required);
    assert!(names.contains(&"list") && names.len() < contract.commands.len(), "{names:?}");
    assert!(confirmed.into_iter().all(|command| names.contains(&command.name.as_str())), "{names:?}");
}

/// Words of calls: those of the contract, beginnings of them, and what belongs to no command.
fn words(contract: &Contract) -> Vec<String> {
    let mut words: Vec<String> =
        ["--", "-", "", "x", "--x", "--help", "--json-input", "--yes", "../..", "a b"].map(str::to_owned).into();
    for command in &contract.commands {
        words.extend(command.name.split(' ').map(str::to_owned));
        words.push(command.name.clone());
        words.push(command.name.chars().take(3).collect());
        words.push(format!("--do={}", command.name));
    }
    let own = contract.commands.iter().flat_map(|command| &command.parameters);
    for parameter in contract.parameters.iter().chain(own) {
        words.push(format!("--{}", parameter.name));
        words.push(format!("--{}=1", parameter.name));
    }
    words.extend(["--query", "--query=x", "--no-confirm", "--dry-run", "--yes", "--"].map(str::to_owned));
    words.sort();
    words.dedup();
    words
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_call_is_judged_by_its_part_as_by_the_whole(
        chosen in proptest::collection::vec(any::<prop::sample::Index>(), 0..7)
    ) {
        static PACKAGE: LazyLock<(Manifest, Option<Contract>)> = LazyLock::new(|| read(PACKAGES[0]));
        let (manifest, Some(whole)) = &*PACKAGE else { panic!("it has a description") };
        let vocabulary = words(whole);
        let arguments: Vec<String> = chosen.iter().map(|index| index.get(&vocabulary).clone()).collect();
        let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let part = kept(whole).judging_call(&names).unwrap();
        let (by_whole, by_part) = (whole.read_arguments(&arguments), part.read_arguments(&arguments));
        prop_assert_eq!(by_whole.command.map(|command| &command.name), by_part.command.map(|command| &command.name));
        if by_part.command.is_some() {
            prop_assert_eq!(&by_whole.violations, &by_part.violations);
            prop_assert_eq!((by_whole.about, by_whole.shaped), (by_part.about, by_part.shaped));
            prop_assert_eq!(&by_whole.asked, &by_part.asked);
        }
        // What is left for the application is a call of the same command, and asks nothing more of the host. The parameters of a batch stand
        // elsewhere.
        if by_whole.violations.is_empty() && by_whole.about.is_none() && !by_whole.asked.batch {
            let left = by_whole.asked.left(&arguments);
            let again = whole.read_arguments(&left);
            prop_assert!(again.violations.is_empty() && !again.asked.is_anything(), "{:?}", left);
            prop_assert_eq!(by_whole.command.map(|command| &command.name), again.command.map(|command| &command.name));
        }
        let decision = Gate::new(manifest, Some(whole)).decide(&arguments);
        prop_assert_eq!(&decision, &Gate::new(manifest, Some(&part)).decide(&arguments));
        let command = decision.command.as_ref().map(|command| command.as_str());
        for policy in [Guard::Strict, Guard::Text] {
            let (whole, part) = (Some(whole), Some(&part));
            prop_assert_eq!(
                guard::check(&arguments, policy, whole, command).map_err(|violation| violation.to_string()),
                guard::check(&arguments, policy, part, command).map_err(|violation| violation.to_string())
            );
        }
    }
}

//! Ranking, on the packages of this repository and on made ones.

use super::*;
use crate::package::{Outline, Source, open_folder};

fn todo() -> Vec<KnownCommand> {
    let folder = std::path::Path::new("../../packages/todo");
    let outline = Outline::open(Source::folder(open_folder(folder).unwrap())).unwrap();
    let contract = outline.contract().unwrap().unwrap();
    commands(outline.manifest(), Some(contract.contract()), "todo", "installed")
}

#[test]
fn natural_words_find_the_command() {
    let known = todo();
    for (question, expect) in [
        ("add", "add"),
        ("create a new task", "add"),
        ("note something to do", "add"),
        ("finish a task", "complete"),
        ("mark an item as done", "complete"),
        ("delete an item", "remove"),
        ("erase", "remove"),
        ("show all my tasks", "list"),
        ("remnder", "reminder list"),
        ("compelte", "complete"),
        ("set an alarm", "reminder set"),
        ("change the title", "update"),
        ("what is overdue", "due"),
    ] {
        let found = find(&known, question);
        let best: Vec<&str> = found.iter().take(3).map(|found| found.command.command.as_str()).collect();
        assert!(best.contains(&expect), "{question}: {best:?}");
        assert!(found.iter().all(|found| !found.reasons.is_empty()));
    }
}

#[test]
fn nothing_is_found_for_what_no_command_does() {
    assert!(find(&todo(), "quantum chromodynamics").is_empty());
    assert!(find(&todo(), "").is_empty());
    assert!(find(&[], "add").is_empty());
}

#[test]
fn the_reason_names_word_way_and_place() {
    let found = find(&todo(), "erase");
    let reason = &found[0].reasons[0];
    assert_eq!(
        (reason.asked.as_str(), reason.word.as_str(), reason.how, reason.field),
        ("erase", "remove", How::Synonym, Field::Name)
    );
}

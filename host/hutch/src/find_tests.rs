//! Ranking, on the packages of this repository and on made ones.

use super::*;
use crate::package::{Outline, Source, open_folder};

fn todo() -> Vec<KnownCommand> {
    let folder = std::path::Path::new("../../packages/todo");
    let outline = Outline::open(Source::folder(open_folder(folder).unwrap())).unwrap();
    let contract = outline.contract().unwrap().unwrap();
    commands(outline.manifest(), Some(contract.contract()), "todo", "installed")
}

/// What is found for a question that is one.
fn find(commands: &[KnownCommand], question: &str) -> Vec<Found> {
    super::find(commands, question).unwrap()
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
fn the_command_that_is_meant_comes_first() {
    let known = todo();
    for (question, expect) in [
        ("list", "list"),
        ("buy milk", "add"),
        ("tick off milk", "complete"),
        ("rm item", "remove"),
        ("reminder list", "reminder list"),
    ] {
        let found = find(&known, question);
        assert_eq!(found[0].command.command, expect, "{question}: {:?}", found[0]);
        assert!(found.iter().all(|one| one.score >= found[0].score * SHARE_MIN), "{question}");
    }
}

#[test]
fn what_takes_away_is_found_by_its_name_alone() {
    let known = todo();
    let first = |question: &str| find(&known, question)[0].command.clone();
    for question in ["several tasks at once", "a task and its reminder", "everything about an item"] {
        assert_ne!(first(question).effect, Some(Effect::Delete), "{question}");
    }
    for question in ["remove several tasks", "delete everything about an item"] {
        assert_eq!(first(question).effect, Some(Effect::Delete), "{question}");
    }
}

/// How often a question finds the command that it asks for. The questions were written down before they were first asked, and no word
/// or weight was chosen by them: who changes the ranking changes this measure, and no question.
#[test]
fn questions_that_nothing_was_chosen_by() {
    let known = todo();
    let (mut first, mut among_three, mut all) = (0, 0, 0);
    for line in include_str!("find_questions.txt").lines() {
        let (question, expect) = line.split_once(" | ").unwrap();
        let found = find(&known, question);
        let place = found.iter().position(|found| found.command.command == expect);
        all += 1;
        first += usize::from(place == Some(0));
        among_three += usize::from(place.is_some_and(|place| place < 3));
    }
    let told =
        format!("of {all} questions about the to-do application {first} find the command first, and {among_three}");
    let page = include_str!("../../docs/using.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&told), "host/docs/using.md says otherwise than: {told}");
}

#[test]
fn nothing_is_found_for_what_no_command_does() {
    assert!(find(&todo(), "quantum chromodynamics").is_empty());
    assert!(find(&todo(), "").is_empty());
    assert!(find(&[], "add").is_empty());
}

/// What a word costs is paid for by whoever is served beside.
#[test]
fn a_question_has_so_many_bytes_and_words() {
    let known = todo();
    let words = |count: usize| (0..count).map(|at| format!("erase{at} the")).collect::<Vec<_>>().join(" ");
    let most = format!("{}{}", "erase ".repeat(QUESTION_BYTES_MAX / 6), " ".repeat(QUESTION_BYTES_MAX % 6));
    assert_eq!(most.len(), QUESTION_BYTES_MAX);
    // A word that is said again counts once, and so does what says nothing.
    let scores = |question: &str| find(&known, question).iter().map(|found| found.score).collect::<Vec<_>>();
    assert_eq!(scores(&most), scores("erase"));
    find(&known, &format!("{0} {0}", words(QUESTION_WORDS_MAX)));
    for (question, said) in [
        (format!("{most} "), "at most 4096 bytes, found 4097"),
        ("x".repeat(1 << 20), "at most 4096 bytes, found 1048576"),
        (words(QUESTION_WORDS_MAX + 1), "at most 64 different words, found 65"),
    ] {
        let refused = super::find(&known, &question).unwrap_err();
        assert_eq!(check(&question).as_ref(), Err(&refused));
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn a_word_that_is_longer_than_any_is_compared_with_none() {
    let found = |letters: usize| {
        let (mut known, word) = (todo(), "x".repeat(letters));
        known[0].words.insert(Field::Name, vec![word.clone()]);
        // As it is written it is found, however long it is.
        assert_eq!(find(&known, &word).len(), 1);
        find(&known, &format!("{}y", "x".repeat(letters - 1))).len()
    };
    assert_eq!((found(COMPARED_LETTERS_MAX), found(COMPARED_LETTERS_MAX + 1)), (1, 0));
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

#[test]
fn two_words_that_mean_something_together_are_one() {
    let found = find(&todo(), "get rid of it");
    let reasons: Vec<(&str, &str)> =
        found[0].reasons.iter().map(|one| (one.asked.as_str(), one.word.as_str())).collect();
    assert_eq!((found[0].command.command.as_str(), reasons), ("remove", vec![("get rid", "remove")]));
}

#[test]
fn what_reads_comes_first_where_something_is_to_be_known() {
    let known = todo();
    for (question, expect) in [
        ("reminders of an item", "reminder set"),
        ("which reminders does an item have", "reminder list"),
        ("how many reminders has an item", "reminder list"),
        ("how can I have reminders of an item", "reminder set"),
    ] {
        assert_eq!(find(&known, question)[0].command.command, expect, "{question}");
    }
}

/// As the name of a flag that every writing command of a package has, beside what one of them is about.
#[test]
fn a_word_counts_in_each_place_by_how_few_have_it_there() {
    let mut known = todo();
    known.truncate(4);
    for one in &mut known {
        one.words = BTreeMap::from([(Field::Parameter, vec!["json".to_owned(), "page".to_owned()])]);
    }
    known[3].words.insert(Field::Description, vec!["json".to_owned()]);
    known[2].words.insert(Field::Example, vec!["page".to_owned()]);
    for (question, place) in [("json", 3), ("page", 2)] {
        let found = find(&known, question);
        assert_eq!(found[0].command.command, known[place].command);
        let others = found.iter().skip(1).map(|one| one.score).fold(0.0, f64::max);
        assert!(others * 4.0 < found[0].score, "{question}: {others} {}", found[0].score);
    }
}

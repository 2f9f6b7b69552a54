//! An application for hutch: two commands and the state that they share. Replace what is about notes; all else (reading arguments,
//! help, the contract, the forms of answers) follows from the types.

use hutch_guest::{Call, Changed, Command, Failure, Page, Reads, Row, Writes, table};
use serde::{Deserialize, Serialize};

hutch_guest::id!(pub NoteId, "note_");

/// What is kept and what is shown.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, Row)]
struct Note {
    id: NoteId,
    text: String,
}

impl table::Item for Note {
    type Id = NoteId;
    const FILE: &'static str = "notes.json";
    const NAME: &'static str = "note";
    fn id(&self) -> NoteId {
        self.id
    }
}

type Notes = table::Table<Note>;

/// Writes a note down.
#[derive(Command)]
#[command(write, errors(table::LIMIT_REACHED))]
#[example("write a note", ["Buy milk"])]
struct Add {
    /// what to note
    #[arg(positional, free_text, min_length = 1, max_length = 500)]
    text: String,
}

impl Writes for Add {
    type State = Notes;
    type Row = Note;
    fn run(self, notes: &mut Notes, _: &Call) -> Result<Changed<Note>, Failure> {
        notes.add(|id| Note { id, text: self.text })
    }
}

/// Shows the notes, in the order they were written.
#[derive(Command)]
#[example("show all", [])]
#[example("show the first", ["--limit", "1"])]
struct List {}

impl Reads for List {
    type State = Notes;
    type Answer = Page<Note>;
    fn run(self, notes: &Notes, call: &Call) -> Result<Page<Note>, Failure> {
        Ok(call.page(notes.items(), Note::clone))
    }
}

hutch_guest::application! {
    /// Keeps notes
    static NOTES: Notes = "SLUG";
    commands: [Add, List],
    package: "../../package",
    skills: ["usage"],
}

hutch_guest::main!(NOTES);

#[cfg(test)]
mod tests {
    use super::NOTES;
    use hutch_guest::testing::Harness;

    #[test]
    fn what_is_added_is_listed() {
        let notes = Harness::new(&NOTES);
        assert_eq!(notes.ok(&["add", "Buy milk"])["items"][0]["id"], "note_0001");
        notes.ok(&["add", "Call \"Ada\""]);
        assert_eq!(notes.ok(&["list"])["total"], 2);
        assert_eq!(notes.ok(&["list", "--limit", "1"])["items"][0]["text"], "Buy milk");
        assert_eq!(notes.refused(&["add", ""])["code"], "INVALID_VALUE");
    }

    #[test]
    fn the_contract_is_that_of_the_package_and_its_examples_hold() {
        let notes = Harness::new(&NOTES);
        notes.contract("../package/schemas/commands.json");
        notes.examples();
    }
}

//! The notes as SQLite keeps them, with an index of their words. Knows no command line.

use hutch_guest::sqlite::{Database, Schema, rusqlite, rusqlite::OptionalExtension, rusqlite::params};
use hutch_guest::{Call, Failure, Instant, Page, Row};

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag::CodeBlock, Tag::Link, TagEnd, TextMergeStream};

hutch_guest::codes! {
    pub(crate) NOT_FOUND = 20: "no note has that title", "call search for those that there are";
    pub(crate) NOTE_EXISTS = 30: "there is a note of that title", "choose another title, or add --append or --replace";
    pub(crate) QUERY_INVALID = 2: "the words are no question to FTS5", "put double quotes around a word with signs in it";
}

/// The state: at first without any note.
pub(crate) struct Notes;

impl Schema for Notes {
    const FILE: &'static str = "notes.sqlite";
    // The index has no texts of its own, and nothing of a note that is gone.
    const STEPS: &'static [&'static str] = &["
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT UNIQUE COLLATE NOCASE, text TEXT, changed TEXT) STRICT;
        CREATE TABLE parts (note INTEGER REFERENCES notes ON DELETE CASCADE, kind TEXT, name TEXT COLLATE NOCASE,
            PRIMARY KEY (note, kind, name)) STRICT, WITHOUT ROWID;
        CREATE VIRTUAL TABLE words USING fts5(title, text, content=notes, content_rowid=id, tokenize='unicode61 remove_diacritics 2');
        INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
        CREATE TRIGGER written AFTER INSERT ON notes BEGIN INSERT INTO words (rowid, title, text) VALUES (new.id, new.title, new.text); END;
        CREATE TRIGGER gone AFTER DELETE ON notes BEGIN
            INSERT INTO words (words, rowid, title, text) VALUES ('delete', old.id, old.title, old.text); END"];
}

/// A note, as `items[]` shows it.
#[derive(Row)]
pub(crate) struct Note {
    title: String,
    tags: Vec<String>,
    links: Vec<String>,
    missing: Vec<String>,
    backlinks: Vec<String>,
    changed: String,
    #[row(last)]
    pub(crate) text: String,
}

/// A note among others: its beginning, or the place where the words are that were looked for.
#[derive(Row)]
pub(crate) struct Found {
    title: String,
    tags: Vec<String>,
    changed: String,
    #[row(last)]
    excerpt: String,
}

const TAGS: &str = "SELECT name FROM parts WHERE note = ? AND kind = 'tag'";
const LINKS: &str = "SELECT name FROM parts WHERE note = ? AND kind = 'link'";
const MISSING: &str =
    "SELECT name FROM parts LEFT JOIN notes ON title = name WHERE note = ? AND id IS NULL AND kind = 'link'";
const BACKLINKS: &str = "SELECT title FROM parts JOIN notes ON id = note WHERE kind = 'link' AND
    name = (SELECT title FROM notes WHERE id = ?) ORDER BY title";

/// The one column of a statement about the note of a row.
fn texts(notes: &Database<Notes>, sql: &str, row: &rusqlite::Row<'_>) -> rusqlite::Result<Vec<String>> {
    notes.prepare(sql)?.query_map([row.get::<_, i64>(0)?], |row| row.get(0))?.collect()
}

pub(crate) fn find(notes: &Database<Notes>, title: &str) -> Result<Note, Failure> {
    let found = notes.query_row("SELECT id, title, changed, text FROM notes WHERE title = ?", [title], |row| {
        let texts = |sql| texts(notes, sql, row);
        let (tags, links, missing, backlinks) = (texts(TAGS)?, texts(LINKS)?, texts(MISSING)?, texts(BACKLINKS)?);
        Ok(Note { title: row.get(1)?, tags, links, missing, backlinks, changed: row.get(2)?, text: row.get(3)? })
    });
    found.optional()?.ok_or_else(|| Failure::new(NOT_FOUND, format!("no note is called {title}")))
}

pub(crate) fn write(notes: &Database<Notes>, title: &str, text: &str, now: Instant) -> Result<Note, Failure> {
    notes.execute("DELETE FROM notes WHERE title = ?", [title])?;
    notes.execute("INSERT INTO notes (title, text, changed) VALUES (?, ?, ?)", [title, text, &now.to_string()])?;
    let note = notes.last_insert_rowid();
    let mut put = notes.prepare("INSERT OR IGNORE INTO parts SELECT ?1, ?2, ?3 WHERE ?3 <> ''")?;
    parts(text).iter().try_for_each(|(kind, name)| put.execute(params![note, kind, name]).map(|_| ()))?;
    find(notes, title)
}

pub(crate) fn search(notes: &Database<Notes>, words: &str, tag: &str, call: &Call) -> Result<Page<Found>, Failure> {
    let (excerpt, from, order) = match words {
        "" => ("substr(notes.text, 1, 100)", "?1 = ''", "changed DESC"),
        _ => ("snippet(words, 1, '**', '**', '…', 24)", "words MATCH ?1", "rank"),
    };
    let mut asked = notes.prepare(&format!(
        "SELECT id, notes.title, changed, {excerpt} FROM notes JOIN words ON words.rowid = id WHERE {from} AND
        (?2 = '' OR id IN (SELECT note FROM parts WHERE kind = 'tag' AND name = ?2)) ORDER BY {order}, notes.title"
    ))?;
    let rows = asked.query_map([words, tag.trim_start_matches('#')], |row| {
        let tags = texts(notes, TAGS, row)?;
        Ok(Found { title: row.get(1)?, tags, changed: row.get(2)?, excerpt: row.get(3)? })
    })?;
    call.page_of(rows.map(|row| row.map_err(|error| Failure::new(QUERY_INVALID, error.to_string()))))
}

/// The tags of a text, in small letters, and the titles that it links to. What is code is neither.
fn parts(markdown: &str) -> Vec<(&'static str, String)> {
    let (mut parts, mut aside) = (Vec::new(), false);
    for event in TextMergeStream::new(Parser::new_ext(markdown, Options::ENABLE_WIKILINKS)) {
        match event {
            Event::Start(CodeBlock(_)) => aside = true,
            Event::End(TagEnd::CodeBlock | TagEnd::Link) => aside = false,
            Event::Start(Link { link_type: LinkType::WikiLink { .. }, dest_url, .. }) => {
                // [[Title#Part]] leads to the note.
                aside = true;
                parts.push(("link", dest_url.split('#').next().unwrap_or_default().trim().to_owned()));
            }
            Event::Text(text) if !aside => {
                let in_tag = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '/');
                let words = text.split_whitespace().filter_map(|word| word.trim_start_matches('(').strip_prefix('#'));
                let tags = words.filter_map(|word| word.split(|letter| !in_tag(letter)).next().map(str::to_lowercase));
                parts.extend(tags.filter(|tag| tag.starts_with(char::is_alphabetic)).map(|tag| ("tag", tag)));
            }
            _ => (),
        }
    }
    parts
}

//! The derives of `hutch-guest`, documented there: from a type to its contract and to the code that reads and shows it. What
//! is written here knows the names of that crate and nothing of any application.

mod choice;
mod command;
mod row;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use syn::{Attribute, DeriveInput, Expr, ExprLit, Lit, Meta, parse_macro_input};

/// A command: `hutch_guest::Command` for a struct with `Reads` or `Writes`.
///
/// The comment on the struct is the description of the command, that on a field the description of a parameter. A field of
/// the type `bool` is a flag, and gets its opposite `--no-…`; an `Option` need not be given; a `Vec` or `BTreeSet` may be given
/// several times; any other type is required, unless it has a default.
///
/// - `#[command(…)]`: `write` or `delete`, which needs `Writes`; `idempotent` for one of these that can be repeated; `confirm`, which
///   `delete` implies; `name = "reminder set"`, otherwise the words of the type's name; `errors(CODE, …)`, paths of constants.
/// - `#[arg(…)]`: `positional`; `free_text`; `required` for one that may be repeated; `default = "100"`; `name = "…"`; `minimum`,
///   `maximum`, `min_length`, `max_length`, which are held, and `pattern`, which the host holds.
/// - `#[example("what for", ["ARGUMENT", …])]`, with an exit status after it if that is not 0. The command's name is added.
#[proc_macro_derive(Command, attributes(command, arg, example))]
pub fn command(input: TokenStream) -> TokenStream {
    expand(command::derive, &parse_macro_input!(input))
}

/// What an answer shows of one thing: `hutch_guest::Row` for a struct. Its fields are shown in camelCase and in their order;
/// `#[row(last)]` puts one behind the others in tables for people, `#[row(aside)]` leaves it out there, `#[row(schema = "…")]` says
/// more about it in JSON Schema. `#[row(any_number)]` on the struct says that a call may have changed any number of them (feature `folder`).
#[proc_macro_derive(Row, attributes(row))]
pub fn row(input: TokenStream) -> TokenStream {
    expand(row::derive, &parse_macro_input!(input))
}

/// One of a few words: for an enum without fields, in arguments, answers and state alike.
#[proc_macro_derive(Choice)]
pub fn choice(input: TokenStream) -> TokenStream {
    expand(choice::derive, &parse_macro_input!(input))
}

/// The state as readable JSON in the file that `#[document("notes.json")]` names: `hutch_guest::Document` for a type that has
/// `Default` and the traits of `serde`.
#[proc_macro_derive(Document, attributes(document))]
pub fn document(input: TokenStream) -> TokenStream {
    expand(row::document, &parse_macro_input!(input))
}

fn expand(derive: fn(&DeriveInput) -> syn::Result<Tokens>, input: &DeriveInput) -> TokenStream {
    derive(input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// The comment on something, as one line.
fn comment(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
        let Meta::NameValue(doc) = &attribute.meta else { return None };
        let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &doc.value else { return None };
        Some(line.value().trim().to_owned())
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// `ReminderSet` and `due_at` as lower-case words.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.trim_start_matches("r#").chars() {
        match words.last_mut() {
            _ if letter == '_' => words.push(String::new()),
            Some(word) if !letter.is_uppercase() => word.push(letter),
            _ => words.push(letter.to_lowercase().collect()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// `due_at` as it is written in JSON.
fn camel_case(name: &str) -> String {
    let words = words(name).into_iter().enumerate().map(|(index, word)| match word.chars().next() {
        Some(first) if index > 0 => first.to_uppercase().chain(word.chars().skip(1)).collect(),
        _ => word,
    });
    words.collect()
}

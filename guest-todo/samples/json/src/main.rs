//! Questions about JSON documents: the language of jq, by jaq, and the shape of a document that is too long to read. It keeps
//! nothing, so that its state is `()`.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use hutch_guest::{Call, Command, Failure, InputFile, Page, Reads, Row};
use jaq_core::load::{Arena, Error, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::Value as Json;

/// Bytes of one document. In memory it takes several times as much.
const JSON_BYTES_MAX: usize = 16 << 20;

hutch_guest::codes! {
    JSON_INVALID = 2: "the file is no JSON", "mend the file at the place that the message names";
    FILTER_INVALID = 2: "the filter is none in the language of jq", "mend the filter at the place that the message names";
    FILTER_FAILED = 2:
        "the filter does not fit the document: it failed while it ran",
        "look at the document with shape; .name? passes over what has no name, and // says what to take instead";
}

/// The values of a file: one document, or several after each other as in a log of JSON lines.
fn values(file: &InputFile) -> Result<Vec<Val>, Failure> {
    let bytes = file.read(JSON_BYTES_MAX)?;
    let invalid = |error: read::Error| Failure::new(JSON_INVALID, format!("{} is no JSON: {error}", file.path()));
    read::parse_many(&bytes).collect::<Result<_, _>>().map_err(invalid)
}

/// Answers with the values that a filter of jq makes of each document in a file, in order, a page at a time.
#[derive(Command)]
#[command(errors(JSON_INVALID, FILTER_INVALID, FILTER_FAILED))]
#[example("take a part of every element", [".[] | {name, moons: (.moons | length)}", "samples/planets.json"])]
#[example("count", ["map(select(.rings)) | length", "samples/planets.json"])]
#[example("what is no filter", [".[", "samples/planets.json"], 2)]
#[example("a folder of the machine must be granted", [".", "data/orders.json"], 20)]
struct Query {
    /// a filter in the language of jq
    #[arg(positional, free_text, min_length = 1, max_length = 100_000)]
    filter: String,
    /// the JSON file, such as data/orders.json where the call grants the folder data, or - for standard input; at most 16 MiB
    #[arg(positional)]
    file: InputFile,
    /// take all documents of the file together, as one list
    slurp: bool,
}

/// One value.
#[derive(Row)]
struct Value {
    value: Json,
}

impl Reads for Query {
    type State = ();
    type Answer = Page<Value>;

    fn run(self, (): &(), call: &Call) -> Result<Page<Value>, Failure> {
        let mut inputs = values(&self.file)?;
        if self.slurp {
            inputs = vec![inputs.into_iter().collect()];
        }
        let arena = Arena::default();
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let program = File { code: self.filter.as_str(), path: () };
        let modules = Loader::new(definitions).load(&arena, program).map_err(|errors| match errors.first() {
            Some((_, Error::Lex(wrong))) => no_filter(wrong.first().map(|(expected, at)| (expected.as_str(), *at))),
            Some((_, Error::Parse(wrong))) => no_filter(wrong.first().map(|(expected, at)| (expected.as_str(), *at))),
            _ => Failure::new(FILTER_INVALID, "a filter imports nothing here"),
        })?;
        let filter = Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
            let unknown = errors.first().and_then(|(_, unknown)| unknown.first());
            let unknown = unknown.map(|(name, kind)| format!("there is no {} {name}", kind.as_str()));
            Failure::new(FILTER_INVALID, unknown.unwrap_or_default())
        })?;
        let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
        let answers = inputs.into_iter().flat_map(|input| filter.id.run((context.clone(), input)).map(unwrap_valr));
        call.page_of(answers.map(|answer| match answer {
            Ok(value) => Ok(Value { value: json(&value) }),
            // It may quote the whole document.
            Err(error) => Err(Failure::new(FILTER_FAILED, error.to_string().chars().take(200).collect::<String>())),
        }))
    }
}

/// What was expected, and what is there instead.
fn no_filter(wrong: Option<(&str, &str)>) -> Failure {
    let (expected, rest) = wrong.unwrap_or_default();
    let rest: String = rest.chars().take(40).collect();
    let there = if rest.is_empty() { "at the end".to_owned() } else { format!("at {rest:?}") };
    Failure::new(FILTER_INVALID, format!("expected {expected} {there}"))
}

/// A value as JSON. What jq has beyond JSON, such as NaN, or what is nested too deep, comes as the text that jq writes for it.
fn json(value: &Val) -> Json {
    let text = value.to_string();
    serde_json::from_str(&text).unwrap_or(Json::String(text))
}

/// Shows what a document is made of: every path that there is, with the elements of a list taken together, its types, how often it
/// occurs, and one value from there.
#[derive(Command)]
#[command(errors(JSON_INVALID))]
#[example("see what there is to ask for", ["samples/planets.json"])]
struct Shape {
    /// the JSON file, such as data/orders.json where the call grants the folder data, or - for standard input; at most 16 MiB
    #[arg(positional)]
    file: InputFile,
}

/// What is at a path.
#[derive(Clone, Row)]
struct Part {
    path: String,
    types: BTreeSet<String>,
    count: usize,
    #[row(last)]
    example: Option<String>,
}

impl Reads for Shape {
    type State = ();
    type Answer = Page<Part>;

    fn run(self, (): &(), call: &Call) -> Result<Page<Part>, Failure> {
        let mut parts = BTreeMap::new();
        values(&self.file)?.iter().for_each(|value| look(value, String::new(), &mut parts));
        let parts: Vec<Part> = parts.into_values().collect();
        Ok(call.page(&parts, Part::clone))
    }
}

/// Writes down what is at a path and below.
fn look(value: &Val, path: String, parts: &mut BTreeMap<String, Part>) {
    /// More of an example shows no more.
    const EXAMPLE_CHARS_MAX: usize = 60;
    let kind = match value {
        Val::Null => "null",
        Val::Bool(_) => "boolean",
        Val::Num(_) => "number",
        Val::BStr(_) | Val::TStr(_) => "string",
        Val::Arr(_) => "array",
        Val::Obj(_) => "object",
    };
    let shown = if path.is_empty() { "." } else { &path };
    let part = parts.entry(path.clone()).or_insert_with(|| Part {
        path: shown.to_owned(),
        types: BTreeSet::new(),
        count: 0,
        example: None,
    });
    part.types.insert(kind.to_owned());
    part.count += 1;
    match value {
        Val::Arr(elements) => elements.iter().for_each(|element| look(element, format!("{path}[]"), parts)),
        Val::Obj(members) => members.iter().for_each(|(name, member)| {
            let name = name.to_string();
            let plain = |name: &&str| {
                let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                word && !name.starts_with(|first: char| first.is_ascii_digit())
            };
            let bare = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).filter(plain);
            look(member, bare.map_or_else(|| format!("{path}[{name}]"), |bare| format!("{path}.{bare}")), parts);
        }),
        scalar if part.example.is_none() => {
            part.example = Some(scalar.to_string().chars().take(EXAMPLE_CHARS_MAX).collect());
        }
        _ => (),
    }
}

hutch_guest::application! {
    /// Answers questions about JSON documents
    static JSON: () = "json";
    commands: [Query, Shape],
    package: "../../../../packages/json",
    skills: ["json-usage"],
}

hutch_guest::main!(JSON);

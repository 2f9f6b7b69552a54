//! Commands found by what they do: a small BM25 index over the words that packages use of themselves. Words are reduced to their
//! stems; a word that nothing uses is taken for a misspelling of one that something does; common words for the same thing count.

use bm25::{Document, SearchEngineBuilder, Tokenizer};
use hutch_model::asks::Asks;
use hutch_model::contract::{Command, Contract};
use hutch_model::manifest::Manifest;
use rust_stemmers::{Algorithm, Stemmer};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Words that say nothing about what is wanted.
const EMPTY_WORDS: [&str; 35] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "how", "i", "in", "is", "it", "me",
    "my", "of", "on", "or", "please", "some", "that", "the", "this", "to", "want", "what", "which", "with", "would",
    "you", "your",
];

const SYNONYMS: &str = include_str!("synonyms.txt");

/// A command as discovery sees it.
#[derive(Clone, Debug, Serialize)]
pub struct KnownCommand {
    /// The package's slug.
    pub package: String,
    /// What to write for PACKAGE to call it.
    pub call: String,
    /// `local` or `installed`.
    pub trust: &'static str,
    /// The command's name.
    pub command: String,
    /// What it does.
    pub description: String,
    /// The most that it does to the state; `None` if the package does not say.
    pub effect: Option<hutch_model::contract::Effect>,
    /// Whether a person must have agreed.
    pub confirmation_required: bool,
    /// What its package asks of the operator.
    pub grants: Asks,
    #[serde(skip)]
    words: BTreeMap<Field, Vec<String>>,
}

/// Where a word stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// In the command's name.
    Name,
    /// In its description.
    Description,
    /// In a parameter's name, description or choices.
    Parameter,
    /// In an example.
    Example,
    /// In the package's name, slug, tags or description.
    Package,
}

impl Field {
    /// How often a word there counts.
    const fn weight(self) -> usize {
        match self {
            Field::Name => 4,
            Field::Description => 2,
            Field::Parameter | Field::Example | Field::Package => 1,
        }
    }
}

/// How a word of the question came to match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// The same word, or another form of it.
    Word,
    /// Another word for the same thing.
    Synonym,
    /// A word that looks like it.
    Spelling,
}

/// Why a command was found.
#[derive(Clone, Debug, Serialize)]
pub struct Match {
    /// The word that was asked for.
    pub asked: String,
    /// The word that matched.
    pub word: String,
    /// How.
    pub how: How,
    /// Where it stands.
    pub field: Field,
}

/// A command that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The command.
    #[serde(flatten)]
    pub command: KnownCommand,
    /// Its BM25 score, rounded to thousandths: comparable within one answer only.
    pub score: f64,
    /// Why it was found.
    pub reasons: Vec<Match>,
}

/// The commands of one package.
pub fn commands(
    manifest: &Manifest,
    contract: Option<&Contract>,
    call: &str,
    trust: &'static str,
) -> Vec<KnownCommand> {
    let package =
        format!("{} {} {} {}", manifest.slug(), manifest.name(), manifest.description(), manifest.tags().join(" "));
    let confirmed: BTreeSet<&str> = manifest.confirmation_required().iter().map(|path| path.as_str()).collect();
    let known = |name: &str, described: Option<&Command>| {
        let mut words = BTreeMap::from([(Field::Name, split(name)), (Field::Package, split(&package))]);
        if let Some(command) = described {
            words.insert(Field::Description, split(&command.description));
            let parameters = command.parameters.iter();
            let texts = parameters.flat_map(|one| {
                [one.name.as_str(), &one.description].into_iter().chain(one.choices.iter().map(String::as_str))
            });
            words.insert(Field::Parameter, texts.flat_map(split).collect());
            words.insert(
                Field::Example,
                command.examples.iter().flat_map(|example| split(&example.description)).collect(),
            );
        }
        KnownCommand {
            package: manifest.slug().to_string(),
            call: call.to_owned(),
            trust,
            command: name.to_owned(),
            description: described.map(|command| command.description.clone()).unwrap_or_default(),
            effect: described.map(|command| command.effect),
            confirmation_required: confirmed.contains(name) || described.is_some_and(|one| one.confirmation_required),
            grants: Asks::of(manifest),
            words,
        }
    };
    match contract {
        Some(contract) => contract.commands.iter().map(|command| known(&command.name, Some(command))).collect(),
        None => manifest.commands().iter().map(|name| known(name.as_str(), None)).collect(),
    }
}

/// The words are stems already, separated by spaces.
struct Stems;

impl Tokenizer for Stems {
    fn tokenize(&self, text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }
}

/// What one word of the question may mean.
struct Meaning {
    asked: String,
    /// By stem.
    stems: BTreeMap<String, How>,
}

/// Ranks commands by how well they fit a question, the best first. Those that share no word with it are left out.
pub fn find(commands: &[KnownCommand], question: &str) -> Vec<Found> {
    let stemmer = Stemmer::create(Algorithm::English);
    let stem = |word: &str| stemmer.stem(word).into_owned();
    let stems: Vec<BTreeMap<Field, BTreeMap<String, String>>> = commands
        .iter()
        .map(|command| {
            let fields = command.words.iter();
            fields
                .map(|(field, words)| (*field, words.iter().map(|word| (stem(word), word.clone())).collect()))
                .collect()
        })
        .collect();
    let vocabulary: BTreeMap<&str, &str> = stems
        .iter()
        .flat_map(BTreeMap::values)
        .flat_map(|words| words.iter().map(|(stem, word)| (stem.as_str(), word.as_str())))
        .collect();
    let meanings: Vec<Meaning> = split(question).into_iter().map(|asked| meaning(asked, &stem, &vocabulary)).collect();
    let documents: Vec<Document<usize>> = commands
        .iter()
        .enumerate()
        .map(|(at, command)| {
            let words = command
                .words
                .iter()
                .flat_map(|(field, words)| words.iter().flat_map(|word| vec![stem(word); field.weight()]));
            Document::new(at, words.collect::<Vec<_>>().join(" "))
        })
        .collect();
    // What was meant as written counts for more than what may have been meant.
    let query: Vec<String> = meanings
        .iter()
        .flat_map(|meaning| meaning.stems.iter())
        .flat_map(|(stem, how)| vec![stem.clone(); if *how == How::Synonym { 1 } else { 3 }])
        .collect();
    let engine = SearchEngineBuilder::<usize, u32, Stems>::with_tokenizer_and_documents(Stems, documents).build();
    let mut found: Vec<Found> = engine
        .search(&query.join(" "), None)
        .into_iter()
        .filter_map(|hit| {
            let (command, stems) = (commands.get(hit.document.id)?, stems.get(hit.document.id)?);
            let reasons = reasons(&meanings, stems);
            let score = (f64::from(hit.score) * 1000.0).round() / 1000.0;
            (!reasons.is_empty()).then(|| Found { command: command.clone(), score, reasons })
        })
        .collect();
    found.sort_by(|a, b| {
        let asked = |found: &Found| found.reasons.iter().map(|one| one.asked.as_str()).collect::<BTreeSet<_>>().len();
        let names = |found: &Found| (found.command.package.clone(), found.command.command.clone());
        asked(b).cmp(&asked(a)).then(b.score.total_cmp(&a.score)).then_with(|| names(a).cmp(&names(b)))
    });
    found
}

fn reasons(meanings: &[Meaning], stems: &BTreeMap<Field, BTreeMap<String, String>>) -> Vec<Match> {
    // One reason for each word asked for: the nearest meaning, in the field that counts most.
    let reason = |meaning: &Meaning| {
        let hits = meaning.stems.iter().flat_map(|(stem, how)| {
            stems.iter().filter_map(move |(field, words)| Some((*how, *field, words.get(stem)?)))
        });
        let best = hits.min_by_key(|(how, field, _)| (*how != How::Word, *field));
        best.map(|(how, field, word)| Match { asked: meaning.asked.clone(), word: word.clone(), how, field })
    };
    meanings.iter().filter_map(reason).collect()
}

fn meaning(asked: String, stem: &impl Fn(&str) -> String, vocabulary: &BTreeMap<&str, &str>) -> Meaning {
    let mut stems = BTreeMap::new();
    let own = stem(&asked);
    let is_synonym = |word: &str| SYNONYMS.lines().any(|group| group.split(' ').any(|one| stem(one) == word));
    let written = if vocabulary.contains_key(own.as_str()) || is_synonym(&own) {
        stems.insert(own.clone(), How::Word);
        own
    } else {
        let near = nearest(&asked, vocabulary.values().copied().chain(SYNONYMS.split_whitespace()));
        let near = near.map(stem).unwrap_or(own);
        stems.insert(near.clone(), How::Spelling);
        near
    };
    for group in SYNONYMS.lines() {
        let group: Vec<String> = group.split(' ').map(stem).collect();
        if group.contains(&written) {
            for other in group.into_iter().filter(|other| vocabulary.contains_key(other.as_str())) {
                stems.entry(other).or_insert(How::Synonym);
            }
        }
    }
    Meaning { asked, stems }
}

/// The word that looks most like `asked`: one letter off for short words, two for long ones, or a beginning of at least four.
fn nearest<'w>(asked: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let length = asked.chars().count();
    let allowed = match length {
        0..=2 => return None,
        3..=7 => 1,
        _ => 2,
    };
    words
        .filter(|word| word.chars().count() > 2)
        .filter_map(|word| {
            let distance = if word.starts_with(asked) { 1 } else { strsim::osa_distance(asked, word) };
            (distance <= allowed).then_some((distance, word.len().abs_diff(length), word))
        })
        .min()
        .map(|(_, _, word)| word)
}

/// The words of a text that say something, in lower case.
fn split(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !EMPTY_WORDS.contains(&word.as_str()))
        .collect()
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;

//! Commands found by what they do, by the words that packages use of themselves. Words are reduced to their stems; a word that nothing
//! uses is taken for a misspelling of one that something does; common words for the same thing count, two together ("get rid") as one.
//! Each word of a question counts for a command in each place where it stands, and the more the fewer commands have it there; a command
//! whose whole name was asked for comes before one that is named with other words besides, and where something is to be known, one that
//! reads before one that does something.

use hutch_model::asks::Asks;
use hutch_model::contract::{Command, Contract, Effect, Parameter};
use hutch_model::manifest::Manifest;
use rust_stemmers::{Algorithm, Stemmer};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Words that say nothing about what is wanted.
const EMPTY_WORDS: [&str; 54] = [
    "a", "about", "an", "and", "are", "as", "at", "be", "by", "can", "could", "do", "for", "from", "give", "has",
    "have", "how", "i", "in", "into", "is", "it", "its", "let", "me", "my", "need", "needs", "of", "off", "on", "or",
    "our", "out", "please", "should", "some", "that", "the", "there", "this", "to", "up", "us", "want", "was", "we",
    "what", "which", "with", "would", "you", "your",
];

/// What a question begins with where something is to be known, not done; so does "how" before [`MEASURES`].
const ASKING_WORDS: [&str; 14] =
    ["am", "are", "did", "does", "is", "was", "were", "what", "when", "where", "which", "who", "whose", "why"];
const MEASURES: [&str; 5] = ["big", "large", "long", "many", "much"];

/// How much of the best score a command must have to be among what was found.
const SHARE_MIN: f64 = 0.2;

/// The most bytes of a question.
const QUESTION_BYTES_MAX: usize = 4 << 10;
/// The most different words of a question that say something: a misspelt one is compared with every word that a command uses.
const QUESTION_WORDS_MAX: usize = 64;
/// The most letters of a word that is compared with others: what that takes grows with the square of them.
const COMPARED_LETTERS_MAX: usize = 48;

/// The most words that are searched, in all packages. What is said of a package is searched again with each of its commands. A word takes some
/// 200 bytes then.
#[cfg(feature = "machine")]
pub(crate) const SEARCHED_WORDS_MAX: usize = 1 << 20;
/// The most bytes of them.
#[cfg(feature = "machine")]
pub(crate) const SEARCHED_BYTES_MAX: usize = 64 << 20;

/// Words for the same thing, a group a line; between two that mean it together stands a `_`.
const SYNONYMS: &str = include_str!("synonyms.txt");

/// A command as discovery sees it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct KnownCommand {
    /// The package's slug.
    pub package: String,
    /// What to write for PACKAGE to call it.
    pub call: String,
    /// How far the package is trusted, in a word.
    pub trust: &'static str,
    /// The command's name.
    pub command: String,
    /// What it does.
    pub description: String,
    /// The most that it does to the state; `None` if the package does not say.
    pub effect: Option<Effect>,
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
#[non_exhaustive]
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
    /// How much a word there counts.
    const fn weight(self) -> f64 {
        match self {
            Field::Name => 3.0,
            Field::Description | Field::Package => 2.0,
            Field::Example => 1.5,
            Field::Parameter => 1.0,
        }
    }
}

/// How much of its score a command keeps that takes away, where the question has no word of its name.
const UNNAMED_DELETE: f64 = 0.5;

/// How a word of the question came to match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum How {
    /// The same word, or another form of it.
    Word,
    /// Another word for the same thing.
    Synonym,
    /// A word that looks like it.
    Spelling,
}

impl How {
    /// How much a word that matched so counts.
    const fn weight(self) -> f64 {
        match self {
            How::Word => 1.0,
            How::Spelling => 0.8,
            How::Synonym => 0.6,
        }
    }
}

/// Why a command was found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Match {
    /// The word that was asked for, or the two that mean something together.
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
#[non_exhaustive]
pub struct Found {
    /// The command.
    #[serde(flatten)]
    pub command: KnownCommand,
    /// How well it fits, rounded to thousandths: comparable within one answer only.
    pub score: f64,
    /// Why it was found.
    pub reasons: Vec<Match>,
}

/// What a package says of one command, as far as it is found by it.
pub(crate) struct Told<'t> {
    pub(crate) name: &'t str,
    pub(crate) description: &'t str,
    /// `None` if the package does not say.
    pub(crate) effect: Option<Effect>,
    pub(crate) confirmation_required: bool,
    pub(crate) parameters: &'t [Parameter],
    /// Words and meaning of each call that succeeds.
    pub(crate) examples: Vec<(&'t [String], &'t str)>,
}

impl<'t> Told<'t> {
    /// What is said of its parameters.
    fn parameters(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        self.parameters.iter().flat_map(|one| {
            [one.name.as_str(), &one.description].into_iter().chain(one.choices.iter().map(String::as_str))
        })
    }

    /// What its examples say.
    fn examples(&self) -> impl Iterator<Item = &'t str> {
        self.examples.iter().flat_map(|(words, description)| {
            let values = words.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
            values.chain([*description])
        })
    }

    /// All that it is found by.
    #[cfg(feature = "machine")]
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'t str> {
        [self.name, self.description].into_iter().chain(self.parameters()).chain(self.examples())
    }
}

/// The package of a command, as far as it is found by it.
pub(crate) struct About<'a> {
    pub(crate) slug: &'a str,
    /// Its name, description and tags.
    pub(crate) texts: Vec<&'a str>,
    pub(crate) grants: Asks,
    pub(crate) call: &'a str,
    pub(crate) trust: &'static str,
}

impl<'a> About<'a> {
    fn of(manifest: &'a Manifest, call: &'a str, trust: &'static str) -> About<'a> {
        let texts = [manifest.name(), manifest.description()].into_iter();
        let texts = texts.chain(manifest.tags().iter().map(String::as_str)).collect();
        About { slug: manifest.slug().as_str(), texts, grants: Asks::of(manifest), call, trust }
    }

    /// A command of it.
    pub(crate) fn command(&self, told: &Told<'_>) -> KnownCommand {
        KnownCommand {
            package: self.slug.to_owned(),
            call: self.call.to_owned(),
            trust: self.trust,
            command: told.name.to_owned(),
            description: told.description.to_owned(),
            effect: told.effect,
            confirmation_required: told.confirmation_required,
            grants: self.grants.clone(),
            words: BTreeMap::from([
                (Field::Name, split(told.name)),
                (Field::Package, [self.slug].iter().chain(&self.texts).flat_map(|text| split(text)).collect()),
                (Field::Description, split(told.description)),
                (Field::Parameter, told.parameters().flat_map(split).collect()),
                (Field::Example, told.examples().flat_map(split).collect()),
            ]),
        }
    }
}

/// How much there is to search: words take memory, and whoever writes packages may write many.
#[cfg(feature = "machine")]
#[derive(Default)]
pub struct Searched {
    words: usize,
    bytes: usize,
}

#[cfg(feature = "machine")]
impl Searched {
    /// Counts the commands of one more package; says whether there is room to search them too. Where there is none they are not counted.
    pub fn add(&mut self, manifest: &Manifest, contract: Option<&Contract>, call: &str) -> bool {
        self.take(&About::of(manifest, call, ""), &told(manifest, contract))
    }

    /// The same, of commands and their package.
    pub(crate) fn take(&mut self, about: &About<'_>, told: &[Told<'_>]) -> bool {
        let (words, bytes) = counted([about.slug].into_iter().chain(about.texts.iter().copied()));
        let grants = serde_json::to_vec(&about.grants).map_or(0, |grants| grants.len());
        let each = (words.saturating_mul(told.len()), (bytes + grants + about.call.len()).saturating_mul(told.len()));
        let own = told.iter().map(|told| counted(told.texts()));
        let (words, bytes) = own.fold(added((self.words, self.bytes), each), added);
        let has_room = words <= SEARCHED_WORDS_MAX && bytes <= SEARCHED_BYTES_MAX;
        if has_room {
            (self.words, self.bytes) = (words, bytes);
        }
        has_room
    }
}

/// The words and bytes of texts.
#[cfg(feature = "machine")]
fn counted<'t>(texts: impl Iterator<Item = &'t str>) -> (usize, usize) {
    texts.map(|text| (words(text).count(), text.len())).fold((0, 0), added)
}

#[cfg(feature = "machine")]
fn added(one: (usize, usize), other: (usize, usize)) -> (usize, usize) {
    (one.0.saturating_add(other.0), one.1.saturating_add(other.1))
}

/// The commands of one package.
pub fn commands(
    manifest: &Manifest,
    contract: Option<&Contract>,
    call: &str,
    trust: &'static str,
) -> Vec<KnownCommand> {
    let about = About::of(manifest, call, trust);
    told(manifest, contract).iter().map(|told| about.command(told)).collect()
}

/// What a package says of its commands: by their description, else by the manifest alone.
pub(crate) fn told<'t>(manifest: &'t Manifest, contract: Option<&'t Contract>) -> Vec<Told<'t>> {
    let confirmed: BTreeSet<&str> = manifest.confirmation_required().iter().map(|path| path.as_str()).collect();
    let by_name = |name: &'t str| Told {
        name,
        description: "",
        effect: None,
        confirmation_required: confirmed.contains(name),
        parameters: &[],
        examples: Vec::new(),
    };
    let described = |command: &'t Command| {
        let examples = command.examples.iter().filter(|example| example.exit_status == 0);
        Told {
            description: &command.description,
            effect: Some(command.effect),
            confirmation_required: command.confirmation_required || confirmed.contains(command.name.as_str()),
            parameters: &command.parameters,
            examples: examples.map(|one| (one.args.as_slice(), one.description.as_str())).collect(),
            ..by_name(&command.name)
        }
    };
    match contract {
        Some(contract) => contract.commands.iter().map(described).collect(),
        None => manifest.commands().iter().map(|name| by_name(name.as_str())).collect(),
    }
}

/// What one word of the question may mean.
struct Meaning {
    asked: String,
    /// By stem.
    stems: BTreeMap<String, How>,
}

/// Whether something is a question that [`find`] takes; nothing is looked for.
///
/// # Errors
/// As of [`find`].
pub fn check(question: &str) -> Result<(), String> {
    asked(question).map(drop)
}

/// The different words of a question, two that mean something together as one.
fn asked(question: &str) -> Result<Vec<String>, String> {
    if question.len() > QUESTION_BYTES_MAX {
        return Err(format!("a question has at most {QUESTION_BYTES_MAX} bytes, found {}", question.len()));
    }
    let pairs: BTreeSet<&str> = SYNONYMS.split_whitespace().filter(|word| word.contains('_')).collect();
    let mut words = words(question).map(str::to_lowercase).peekable();
    let (mut asked, mut seen) = (Vec::new(), BTreeSet::new());
    while let Some(word) = words.next() {
        let pair = words.peek().map(|next| format!("{word}_{next}")).filter(|pair| pairs.contains(pair.as_str()));
        if pair.is_some() {
            words.next();
        }
        let word = pair.unwrap_or(word);
        if !EMPTY_WORDS.contains(&word.as_str()) && seen.insert(word.clone()) {
            asked.push(word);
        }
    }
    if asked.len() > QUESTION_WORDS_MAX {
        return Err(format!("a question has at most {QUESTION_WORDS_MAX} different words, found {}", asked.len()));
    }
    Ok(asked)
}

/// Whether a question is one, and not a wish.
fn asks(question: &str) -> bool {
    let first: Vec<String> = words(question).take(2).map(str::to_lowercase).collect();
    match first.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["how", second] => MEASURES.contains(&second),
        [first, ..] => ASKING_WORDS.contains(&first),
        [] => false,
    }
}

/// Ranks commands by how well they fit a question, the best first. Those that share no word with it are left out.
///
/// # Errors
/// The question is longer, or has more words, than one may; in words.
pub fn find(commands: &[KnownCommand], question: &str) -> Result<Vec<Found>, String> {
    let asked = asked(question)?;
    let stemmer = Stemmer::create(Algorithm::English);
    let stem = |word: &str| stemmer.stem(word).into_owned();
    let stems: Vec<Stems> = commands
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
    let synonyms: Vec<Vec<String>> = SYNONYMS.lines().map(|group| group.split(' ').map(stem).collect()).collect();
    let meanings: Vec<Meaning> = asked.into_iter().map(|asked| meaning(asked, &stem, &synonyms, &vocabulary)).collect();
    let rarity = |meaning: &Meaning| -> BTreeMap<Field, f64> {
        let mut users: BTreeMap<Field, usize> = BTreeMap::new();
        for (field, _) in stems.iter().flat_map(|stems| hits(meaning, stems)) {
            *users.entry(field).or_default() += 1;
        }
        let rare = |users: usize| (1.0 + commands.len() as f64 / users as f64).ln();
        users.into_iter().map(|(field, users)| (field, rare(users))).collect()
    };
    let rarities: Vec<_> = meanings.iter().map(rarity).collect();
    let asks = asks(question);
    let mut found: Vec<(usize, Found)> = commands
        .iter()
        .zip(&stems)
        .filter_map(|(command, stems)| {
            let told = meanings
                .iter()
                .zip(&rarities)
                .flat_map(|(meaning, rarity)| hits(meaning, stems).map(move |(field, weight)| weight * rarity[&field]));
            let reads = if asks && command.effect == Some(Effect::Read) { 1.5 } else { 1.0 };
            let named = named(&meanings, stems);
            // What takes away is meant by its name alone: "all invoices of a folder" asks for no removal of them.
            let takes = if named == 0.0 && command.effect == Some(Effect::Delete) { UNNAMED_DELETE } else { 1.0 };
            let score = told.sum::<f64>() * (1.0 + named / 4.0) * reads * takes;
            let reasons = reasons(&meanings, stems);
            let score = (score * 1000.0).round() / 1000.0;
            (!reasons.is_empty())
                .then(|| (verbatim(&meanings, stems), Found { command: command.clone(), score, reasons }))
        })
        .collect();
    let enough = found.iter().map(|(_, found)| found.score).fold(0.0, f64::max) * SHARE_MIN;
    found.retain(|(_, found)| found.score >= enough);
    found.sort_by(|(mine, a), (others, b)| {
        let names = |found: &Found| (found.command.package.clone(), found.command.command.clone());
        b.score.total_cmp(&a.score).then(others.cmp(mine)).then_with(|| names(a).cmp(&names(b)))
    });
    Ok(found.into_iter().map(|(_, found)| found).collect())
}

/// In how many places words of the question stand in the very form that was asked for: between equals that decides.
fn verbatim(meanings: &[Meaning], stems: &Stems) -> usize {
    let has = |words: &&BTreeMap<String, String>, asked: &String| words.values().any(|word| word == asked);
    meanings.iter().map(|meaning| stems.values().filter(|words| has(words, &meaning.asked)).count()).sum()
}

/// The stems of a command's words, each with the word, by where they stand.
type Stems = BTreeMap<Field, BTreeMap<String, String>>;

/// How much a word of the question counts for a command, in each place where it stands: by the best match there.
fn hits(meaning: &Meaning, stems: &Stems) -> impl Iterator<Item = (Field, f64)> {
    stems.iter().filter_map(move |(field, words)| {
        let hows = meaning.stems.iter().filter(|(stem, _)| words.contains_key(*stem)).map(|(_, how)| how.weight());
        Some((*field, hows.reduce(f64::max)? * field.weight()))
    })
}

/// How much of a command's name was asked for, from 0 to 1.
fn named(meanings: &[Meaning], stems: &Stems) -> f64 {
    let Some(name) = stems.get(&Field::Name).filter(|name| !name.is_empty()) else { return 0.0 };
    let asked = |stem: &String| {
        let hows = meanings.iter().filter_map(|meaning| meaning.stems.get(stem)).map(|how| how.weight());
        hows.fold(0.0, f64::max)
    };
    name.keys().map(asked).sum::<f64>() / name.len() as f64
}

fn reasons(meanings: &[Meaning], stems: &Stems) -> Vec<Match> {
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

/// What a word means, by the stems of the words that are there and of those that are for the same thing.
fn meaning(
    asked: String,
    stem: &impl Fn(&str) -> String,
    synonyms: &[Vec<String>],
    vocabulary: &BTreeMap<&str, &str>,
) -> Meaning {
    let mut stems = BTreeMap::new();
    let own = stem(&asked);
    let written = if vocabulary.contains_key(own.as_str()) || synonyms.iter().any(|group| group.contains(&own)) {
        stems.insert(own.clone(), How::Word);
        own
    } else {
        let near = nearest(&asked, vocabulary.values().copied().chain(SYNONYMS.split_whitespace()));
        let near = near.map(stem).unwrap_or(own);
        stems.insert(near.clone(), How::Spelling);
        near
    };
    for group in synonyms.iter().filter(|group| group.contains(&written)) {
        for other in group.iter().filter(|other| vocabulary.contains_key(other.as_str())) {
            stems.entry(other.clone()).or_insert(How::Synonym);
        }
    }
    Meaning { asked: asked.replace('_', " "), stems }
}

/// The word that looks most like `asked`: one letter off for short words, two for long ones, or a beginning of at least four.
fn nearest<'w>(asked: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let length = asked.chars().count();
    let allowed = match length {
        0..=2 => return None,
        3..=7 => 1,
        8..=COMPARED_LETTERS_MAX => 2,
        _ => return None,
    };
    words
        .filter_map(|word| {
            let letters = word.chars().count();
            let distance = match word.starts_with(asked) {
                true => 1,
                // A word of another length is further off, and what others wrote may be long.
                false if letters.abs_diff(length) > allowed => return None,
                false => strsim::osa_distance(asked, word),
            };
            (letters > 2 && distance <= allowed).then_some((distance, word.len().abs_diff(length), word))
        })
        .min()
        .map(|(_, _, word)| word)
}

/// The words of a text that say something, in lower case.
fn split(text: &str) -> Vec<String> {
    words(text).map(str::to_lowercase).filter(|word| !EMPTY_WORDS.contains(&word.as_str())).collect()
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;

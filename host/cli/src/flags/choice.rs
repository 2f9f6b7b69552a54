//! Words that stand for something of the libraries': read as that, and shown with what each means.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A word, what it means to people, and what it stands for.
pub(crate) type Choice<T> = (&'static str, &'static str, T);

/// Reads one of these words.
pub(crate) fn one_of<T>(all: &'static [Choice<T>]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let words = all.iter().map(|(word, about, _)| PossibleValue::new(*word).help(*about));
    PossibleValuesParser::new(words).try_map(move |word: String| {
        let meant = all.iter().find(|(known, ..)| *known == word).map(|(.., meant)| meant.clone());
        meant.ok_or("no such word")
    })
}

//! One element of `items[]`: its fields, how each looks in JSON and in text for people. The derive `Row` writes all of it.

use std::collections::BTreeSet;

use crate::calendar::{Date, Due, Instant};
use crate::schema::Field;

/// What an answer shows of one thing.
pub trait Row: 'static {
    /// Its fields, in the order to show them.
    const FIELDS: &'static [Field];

    /// Appends the JSON of one field.
    ///
    /// # Errors
    /// When its value has no JSON form.
    fn write(&self, field: usize, json: &mut Vec<u8>) -> serde_json::Result<()>;

    /// One field as text for people.
    fn shown(&self, field: usize) -> String;

    /// How many there are at most in an answer of what changed: one for each call of a batch, unless a call may have any number.
    #[cfg(feature = "folder")]
    const CHANGED_MAX: Option<u32> = Some(1000);
}

impl Row for () {
    const FIELDS: &'static [Field] = &[];

    fn write(&self, _: usize, _: &mut Vec<u8>) -> serde_json::Result<()> {
        Ok(())
    }

    fn shown(&self, _: usize) -> String {
        String::new()
    }
}

/// A value as text for people.
pub trait Shown {
    /// That text; `-` when there is no value.
    fn shown(&self) -> String;
}

macro_rules! shown {
    ($($kind:ty),*) => {$(
        impl Shown for $kind {
            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

shown!(String, bool, i64, u64, u32, usize, f64, Date, Instant, Due);

/// A text as it is, all else as JSON writes it.
impl Shown for serde_json::Value {
    fn shown(&self) -> String {
        self.as_str().map_or_else(|| self.to_string(), str::to_owned)
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "-".to_owned(), Shown::shown)
    }
}

fn several<'a, T: Shown + 'a>(values: impl Iterator<Item = &'a T>) -> String {
    let shown: Vec<String> = values.map(Shown::shown).collect();
    if shown.is_empty() { "-".to_owned() } else { shown.join(" ") }
}

impl<T: Shown> Shown for Vec<T> {
    fn shown(&self) -> String {
        several(self.iter())
    }
}

impl<T: Shown> Shown for BTreeSet<T> {
    fn shown(&self) -> String {
        several(self.iter())
    }
}

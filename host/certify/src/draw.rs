//! What is other at each run: the words, the moments and the chances that calls are made with. All follow from one seed, which the report
//! tells, so a run can be repeated. Whoever knew them before could behave for them alone.

use crate::target::Moment;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use serde_json::Value;

/// Letters of words that nobody has a meaning for, in turn.
const CONSONANTS: &[u8; 19] = b"bcdfghjkmnpqrstvwxz";
const VOWELS: &[u8; 5] = b"aeiou";
/// The fewest letters of a word, and how many more there may be.
const WORD_LETTERS: (u64, u64) = (6, 5);
const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;
const HOUR_NS: u64 = 60 * MINUTE_NS;
const DAY_NS: u64 = 24 * HOUR_NS;
/// All moments are of these days: from 1990-01-01 to the end of 2099.
const DAYS: std::ops::Range<u64> = 7_305..47_482;
/// How far calls are apart at most, about: 22 years.
const SPAN_DAYS: u64 = 1 << 13;
/// The day that examples are written for: 2026-04-01. Dates within a year of it are near it.
const EXAMPLES_DAY: i64 = 20_544;
const NEAR_DAYS: i64 = 366;

/// The draws of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Draws(pub Seed);

impl Draws {
    /// The word for a purpose: some small letters, of which every other one is a vowel.
    pub fn word(self, purpose: &str) -> String {
        let (fewest, more) = WORD_LETTERS;
        let letters = fewest + self.below(&format!("letters of {purpose}"), more);
        let begins = usize::from(self.below(&format!("beginning of {purpose}"), 2) == 0);
        let of = |(at, byte): (usize, &u8)| {
            let nth = usize::from(*byte);
            char::from(if at % 2 == begins { VOWELS[nth % VOWELS.len()] } else { CONSONANTS[nth % CONSONANTS.len()] })
        };
        self.bytes(purpose).iter().take(letters as usize).enumerate().map(of).collect()
    }

    /// A number below a limit, which is not 0.
    pub fn below(self, purpose: &str, limit: u64) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes(purpose);
        u64::from_le_bytes([a, b, c, d, e, f, g, h]) % limit
    }

    /// What follows the beginning of a credential: letters and digits in turn, `capitals` alone or of both kinds.
    pub fn credential(self, purpose: &str, length: usize, capitals: bool) -> String {
        let bytes = self.bytes(purpose);
        let of = |(at, byte): (usize, &u8)| match at % 4 {
            1 | 3 => char::from(b'0' + byte % 10),
            2 if !capitals => char::from(b'a' + byte % 26),
            _ => char::from(b'A' + byte % 26),
        };
        bytes.iter().cycle().take(length).enumerate().map(of).collect()
    }

    /// When a call happens, in nanoseconds since 1970, and by which chance; `nth` tells the later ones apart.
    pub fn moment(self, moment: Moment, nth: usize) -> (u64, Seed) {
        // A moment later is another minute of the same day.
        let same = self.day() * DAY_NS + self.below("time", DAY_NS - HOUR_NS);
        let chance = |purpose: &str| Seed(self.bytes(purpose));
        match moment {
            Moment::Same => (same, chance("chance")),
            Moment::Later => (same + MINUTE_NS + self.below("later", HOUR_NS - MINUTE_NS), chance("later chance")),
            // A day to twenty years, and each length as likely as its double.
            Moment::MuchLater => {
                let span = DAY_NS << self.below(&format!("span {nth}"), 13);
                let later = span + self.below(&format!("within it {nth}"), span);
                (same + later, chance(&format!("chance of {nth}")))
            }
            // Each of a later day than the one before, as long as there are days between.
            Moment::Earlier => {
                let before = SPAN_DAYS * DAY_NS / (nth as u64 + 1);
                (same - before, chance(&format!("chance of {nth}")))
            }
        }
    }

    /// The day of most calls, since 1970: what happens earlier or later is within the days, too.
    fn day(self) -> u64 {
        let first = DAYS.start + SPAN_DAYS;
        first + self.below("day", DAYS.end - SPAN_DAYS - first)
    }

    /// Moves the dates that examples of a description show along with the day of the calls: what is near for whoever wrote them is as near on
    /// it. A date begins an argument, or the value in one.
    pub fn move_examples(self, description: &mut Value) {
        let days = self.day() as i64 - EXAMPLES_DAY;
        for command in description.get_mut("commands").and_then(Value::as_array_mut).into_iter().flatten() {
            command.get_mut("examples").into_iter().for_each(|examples| move_dates(examples, days));
        }
    }

    fn bytes(self, purpose: &str) -> [u8; 32] {
        self.0.of_call(purpose.as_bytes()).0
    }
}

/// Moves every date in the arguments of examples.
fn move_dates(value: &mut Value, days: i64) {
    match value {
        Value::String(argument) => *argument = argument.split_inclusive('=').map(|part| moved(part, days)).collect(),
        Value::Array(values) => values.iter_mut().for_each(|value| move_dates(value, days)),
        Value::Object(fields) => fields.values_mut().for_each(|value| move_dates(value, days)),
        _ => {}
    }
}

/// A text with the date that it is or begins with so many days later, if that is near: `2026-04-01`, or `20260401T` as calendars write it.
fn moved(text: &str, days: i64) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let (date, behind) = text.split_at(end);
    let is_compact = date.len() == 8 && behind.starts_with('T');
    let spelled = match is_compact {
        true => [date.get(..4), date.get(4..6), date.get(6..)].map(Option::unwrap_or_default).join("-"),
        false => date.to_owned(),
    };
    let day = format!("{spelled}T00:00:00Z").parse::<Instant>().map(|at| (at.unix_ns() / DAY_NS) as i64);
    match day {
        // What goes on in another way is a name that begins so.
        Ok(day) if (day - EXAMPLES_DAY).abs() <= NEAR_DAYS && (behind.is_empty() || behind.starts_with(['T', ' '])) => {
            let there = u64::try_from(day + days).unwrap_or_default() * DAY_NS;
            let there = Instant::from_unix_ns(there).to_string();
            let there = there.split('T').next().unwrap_or_default();
            let there = if is_compact { there.replace('-', "") } else { there.to_owned() };
            there + behind
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn another_seed_draws_other_words_moments_and_chances_and_the_same_one_the_same() {
        let drawn = |number: u8| {
            let draws = Draws(Seed([number; 32]));
            let moments = [Moment::Same, Moment::Later, Moment::MuchLater, Moment::Earlier];
            let moments = moments.map(|moment| draws.moment(moment, 7));
            (draws.word("flag"), draws.credential("secret", 36, false), moments.map(|(at_ns, seed)| (at_ns, seed.0)))
        };
        assert_eq!(drawn(1), drawn(1));
        let all: BTreeSet<_> = (0..100).map(drawn).collect();
        assert_eq!(all.iter().map(|(word, ..)| word).collect::<BTreeSet<_>>().len(), 100);
        assert_eq!(all.iter().map(|(_, secret, _)| secret).collect::<BTreeSet<_>>().len(), 100);
        let days: BTreeSet<u64> = all.iter().map(|(_, _, [same, ..])| same.0 / DAY_NS).collect();
        assert!(days.len() > 90, "{days:?}");
        for (word, secret, [same, later, much_later, earlier]) in &all {
            assert!((6..=10).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
            assert!(secret.len() == 36 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{secret}");
            assert!(later.0 / MINUTE_NS > same.0 / MINUTE_NS && later.0 / DAY_NS == same.0 / DAY_NS);
            assert!((DAY_NS..DAY_NS << 13).contains(&(much_later.0 - same.0)));
            assert!(earlier.0 / DAY_NS < same.0 / DAY_NS);
            for (at_ns, _) in [same, later, much_later, earlier] {
                assert!(DAYS.contains(&(at_ns / DAY_NS)), "{at_ns}");
            }
            assert!(same.1 != later.1 && later.1 != much_later.1);
        }
    }

    #[test]
    fn calls_that_are_kept_happen_one_after_the_other() {
        let draws = Draws(Seed([3; 32]));
        let at = |nth| draws.moment(Moment::Earlier, nth).0;
        assert!((0..5000).all(|nth| at(nth) < at(nth + 1)));
        assert!((0..50).all(|nth| at(nth) / DAY_NS < at(nth + 1) / DAY_NS));
    }

    #[test]
    fn dates_of_examples_move_with_the_day() {
        for (text, expect) in [
            ("2026-04-01", "2026-05-01"),
            ("2026-04-02T18:00:00+02:00", "2026-05-02T18:00:00+02:00"),
            ("--due-at=2025-12-31", "--due-at=2026-01-30"),
            ("FREQ=WEEKLY;INTERVAL=2;UNTIL=20260630T220000Z", "FREQ=WEEKLY;INTERVAL=2;UNTIL=20260730T220000Z"),
            ("2026-04-01.md", "2026-04-01.md"),
            ("20260401", "20260401"),
            ("1999-12-31", "1999-12-31"),
            ("2026-04-31", "2026-04-31"),
            ("samples/2026-04-01", "samples/2026-04-01"),
            ("Buy milk & eggs", "Buy milk & eggs"),
            ("", ""),
        ] {
            let mut examples = serde_json::json!([{"args": [text], "before": [[text]]}]);
            move_dates(&mut examples, 30);
            assert_eq!(examples, serde_json::json!([{"args": [expect], "before": [[expect]]}]), "{text}");
        }
    }
}

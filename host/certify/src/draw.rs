//! What is other at each run: the words, the moments and the chances that calls are made with. All follow from one seed, which the report
//! tells, so a run can be repeated. Whoever knew them before could behave for them alone.

use crate::target::Moment;
use hutch_model::invocation::Seed;

/// Letters of words that nobody has a meaning for.
const LETTERS: &[u8; 19] = b"bcdfghjkmnpqrstvwxz";
const WORD_LETTERS: usize = 6;
/// The day of the calls: 2026-04-01. What examples show as near is near on it.
const DAY_STARTS_NS: u64 = 1_775_001_600_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;
const DAY_NS: u64 = 24 * 60 * MINUTE_NS;

/// The draws of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Draws(pub Seed);

impl Draws {
    /// The word for a purpose: small letters, of which none is a vowel.
    pub fn word(self, purpose: &str) -> String {
        let bytes = self.bytes(purpose);
        bytes.iter().take(WORD_LETTERS).map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
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
        // A moment later is the same minute.
        let minute = self.below("minute", DAY_NS / MINUTE_NS) * MINUTE_NS;
        let same = DAY_STARTS_NS + minute + self.below("second", 30 * SECOND_NS);
        let chance = |purpose: &str| Seed(self.bytes(purpose));
        match moment {
            Moment::Same => (same, chance("chance")),
            Moment::Later => (same + SECOND_NS + self.below("later", 20 * SECOND_NS), chance("later chance")),
            // A day to twenty years, and each length as likely as its double.
            Moment::MuchLater => {
                let span = DAY_NS << self.below(&format!("span {nth}"), 13);
                let later = span + self.below(&format!("within it {nth}"), span);
                (same + later, chance(&format!("chance of {nth}")))
            }
        }
    }

    fn bytes(self, purpose: &str) -> [u8; 32] {
        self.0.of_call(purpose.as_bytes()).0
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
            let moments = [Moment::Same, Moment::Later, Moment::MuchLater].map(|moment| draws.moment(moment, 7));
            (draws.word("flag"), draws.credential("secret", 36, false), moments.map(|(at_ns, seed)| (at_ns, seed.0)))
        };
        assert_eq!(drawn(1), drawn(1));
        let all: BTreeSet<_> = (0..100).map(drawn).collect();
        assert_eq!(all.iter().map(|(word, ..)| word).collect::<BTreeSet<_>>().len(), 100);
        assert_eq!(all.iter().map(|(_, secret, _)| secret).collect::<BTreeSet<_>>().len(), 100);
        for (word, secret, [same, later, much_later]) in &all {
            assert!(word.len() == WORD_LETTERS && word.bytes().all(|byte| LETTERS.contains(&byte)), "{word}");
            assert!(secret.len() == 36 && secret.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{secret}");
            assert!((DAY_STARTS_NS..DAY_STARTS_NS + DAY_NS).contains(&same.0));
            assert!(later.0 > same.0 && later.0 / MINUTE_NS == same.0 / MINUTE_NS);
            assert!((DAY_NS..DAY_NS << 13).contains(&(much_later.0 - same.0)));
            assert!(same.1 != later.1 && later.1 != much_later.1);
        }
    }
}

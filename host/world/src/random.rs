//! Randomness: one ChaCha20 key from the invocation's seed, one stream for each interface, so that what one interface is asked
//! does not change what another answers.

use core::cell::Cell;
use hutch_model::invocation::Seed;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// All random streams of a run. Whoever asks for one has seen the seed.
#[derive(Debug)]
pub struct Random {
    secure: ChaCha20Rng,
    insecure: ChaCha20Rng,
    insecure_seed: (u64, u64),
    is_seed_seen: Cell<bool>,
}

impl Random {
    /// The streams that `seed` starts.
    pub fn new(seed: Seed) -> Random {
        let stream = |number| {
            let mut rng = ChaCha20Rng::from_seed(seed.0);
            rng.set_stream(number);
            rng
        };
        let mut seeds = stream(3);
        Random {
            secure: stream(1),
            insecure: stream(2),
            insecure_seed: (seeds.next_u64(), seeds.next_u64()),
            is_seed_seen: Cell::new(false),
        }
    }

    /// Whether anything that was shown or kept may follow from the seed.
    pub fn is_seed_seen(&self) -> bool {
        self.is_seed_seen.get()
    }

    /// The stream of `wasi:random/random`.
    pub fn secure(&mut self) -> &mut impl Rng {
        self.is_seed_seen.set(true);
        &mut self.secure
    }

    /// The stream of `wasi:random/insecure`.
    pub fn insecure(&mut self) -> &mut impl Rng {
        self.is_seed_seen.set(true);
        &mut self.insecure
    }

    /// The value of `wasi:random/insecure-seed`: the same each time it is asked for.
    pub fn insecure_seed(&self) -> (u64, u64) {
        self.is_seed_seen.set(true);
        self.insecure_seed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn each_interface_has_its_own_stream_and_a_seed_fixes_all() {
        let mut bytes = [[0u8; 40]; 4];
        let (mut a, mut b) = (Random::new(Seed([7; 32])), Random::new(Seed([7; 32])));
        a.secure().fill_bytes(&mut bytes[0]);
        b.insecure().fill_bytes(&mut bytes[1]);
        b.secure().fill_bytes(&mut bytes[2]);
        Random::new(Seed([8; 32])).secure().fill_bytes(&mut bytes[3]);
        assert_eq!(bytes[0], bytes[2]);
        assert_ne!(bytes[0], bytes[1]);
        assert_ne!(bytes[0], bytes[3]);
        assert_eq!(a.insecure_seed(), b.insecure_seed());
    }

    #[test]
    fn parts_of_any_size_are_the_whole_word_by_word() {
        const WORD: usize = 4;
        let mut whole = [0u8; 16 << 10];
        Random::new(Seed([7; 32])).secure().fill_bytes(&mut whole);
        for order in [[1, 3, 4, 5, 8, 64, 255, 256, 257, 4096], [4096, 257, 256, 255, 64, 8, 5, 4, 3, 1]] {
            let (mut random, mut at) = (Random::new(Seed([7; 32])), 0);
            for size in order {
                let mut part = vec![0; size];
                random.secure().fill_bytes(&mut part);
                assert_eq!(part, whole[at..at + size], "{size} bytes from {at}");
                // What is left of a word is nobody's, and what another interface is asked takes nothing.
                at += size.next_multiple_of(WORD);
                random.insecure().fill_bytes(&mut part);
                assert_eq!(random.secure().next_u64().to_le_bytes(), whole[at..at + 2 * WORD], "from {at}");
                at += 2 * WORD;
            }
        }
    }

    #[test]
    fn whoever_asks_for_any_stream_has_seen_the_seed() {
        let asked = |ask: fn(&mut Random) -> u64| {
            let mut random = Random::new(Seed([7; 32]));
            ask(&mut random);
            random.is_seed_seen()
        };
        assert!(!asked(|_| 0));
        assert!(asked(|random| random.secure().next_u64()));
        assert!(asked(|random| random.insecure().next_u64()));
        assert!(asked(|random| random.insecure_seed().0));
    }
}

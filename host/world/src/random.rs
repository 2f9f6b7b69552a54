//! Randomness: one ChaCha20 key from the invocation's seed, one stream for each interface, so that what one interface is asked
//! does not change what another answers.

use hutch_model::invocation::Seed;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// All random streams of a run.
#[derive(Debug)]
pub struct Random {
    secure: ChaCha20Rng,
    insecure: ChaCha20Rng,
    insecure_seed: (u64, u64),
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
        Random { secure: stream(1), insecure: stream(2), insecure_seed: (seeds.next_u64(), seeds.next_u64()) }
    }

    /// The stream of `wasi:random/random`.
    pub fn secure(&mut self) -> &mut impl Rng {
        &mut self.secure
    }

    /// The stream of `wasi:random/insecure`.
    pub fn insecure(&mut self) -> &mut impl Rng {
        &mut self.insecure
    }

    /// The value of `wasi:random/insecure-seed`: the same each time it is asked for.
    pub fn insecure_seed(&self) -> (u64, u64) {
        self.insecure_seed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

//! Everything that reaches a guest besides its state. Two runs of one component with equal invocations and equal states have
//! equal outcomes; so nothing runs without one, and there is one way to make one.

use crate::digest::{Hasher, Kind};
use crate::instant::Instant;
use crate::limits::{Limit, Limits};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What a guest may do with a preopened folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Look, and change nothing.
    ReadOnly,
    /// Look and change.
    ReadWrite,
}

/// The start of all randomness: 32 bytes, written as 64 hexadecimal digits. A decimal number is taken too, as 8 bytes (little
/// endian) followed by zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// The seed of one of many calls that have this one in common: it follows from the call's name, and not from which others there are,
    /// in which order.
    #[must_use]
    pub fn of_call(&self, name: &[u8]) -> Seed {
        let mut hasher = Hasher::new(Kind::Seed);
        hasher.update(&self.0);
        hasher.update(name);
        Seed(*hasher.finish().as_bytes())
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::digest::Digest::from_bytes(self.0).fmt(f)
    }
}

/// The text is no seed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a seed: expected a decimal number below 2^64, or 64 lower-case hexadecimal digits")]
pub struct NotASeed(String);

impl FromStr for Seed {
    type Err = NotASeed;

    fn from_str(text: &str) -> Result<Seed, NotASeed> {
        if let Ok(digest) = text.parse::<crate::digest::Digest>() {
            return Ok(Seed(*digest.as_bytes()));
        }
        let number: u64 = text.parse().map_err(|_| NotASeed(text.chars().take(80).collect()))?;
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        Ok(Seed(seed))
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seed, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The parts of an invocation, not yet checked.
#[derive(Clone, Debug, Default)]
pub struct InvocationParts {
    /// The program's name, then its arguments.
    pub argv: Vec<String>,
    /// The environment; empty unless package and operator agree on more.
    pub environment: BTreeMap<String, String>,
    /// Everything there is to read on standard input.
    pub stdin: Vec<u8>,
    /// The wall clock at the start.
    pub clock_start: Instant,
    /// The start of all randomness.
    pub seed: Seed,
    /// What the run may use.
    pub limits: Limits,
    /// The folders that are open when the guest starts, by the name it sees.
    pub preopens: BTreeMap<String, Access>,
    /// Those of them that are real folders: what such a run comes to depends on more than its invocation and state.
    pub mounts: BTreeSet<String>,
}

/// A checked invocation. Clones share what is in it, standard input too.
#[derive(Clone, Debug)]
pub struct Invocation(Arc<InvocationParts>);

/// Why parts make no invocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvocationError {
    /// NUL ends a string in many languages; what follows would be lost silently.
    #[error("argument {at} holds a NUL character")]
    ArgumentNul {
        /// Its place, 0 for the program's name.
        at: usize,
    },
    /// A name is empty, or name or value hold what they may not.
    #[error("environment name {name:?} is empty or holds '=' or NUL, or its value holds NUL")]
    Environment {
        /// The name.
        name: String,
    },
    /// There is more than the limit allows.
    #[error("{} is {size}, more than the limit of {limit_value}", .limit.name())]
    TooLarge {
        /// The limit.
        limit: Limit,
        /// What was given.
        size: u64,
        /// What is allowed.
        limit_value: u64,
    },
}

impl Invocation {
    /// Checks the parts.
    ///
    /// # Errors
    /// A string can't be passed to a guest as it is, or a limit on the input is exceeded.
    pub fn new(parts: InvocationParts) -> Result<Invocation, InvocationError> {
        if let Some(at) = parts.argv.iter().position(|arg| arg.contains('\0')) {
            return Err(InvocationError::ArgumentNul { at });
        }
        for (name, value) in &parts.environment {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(InvocationError::Environment { name: name.clone() });
            }
        }
        let fits = |limit: Limit, size: u64| {
            let limit_value = parts.limits.get(limit);
            if size <= limit_value { Ok(()) } else { Err(InvocationError::TooLarge { limit, size, limit_value }) }
        };
        let argument_bytes = parts.argv.iter().map(|arg| arg.len() + 1).sum::<usize>()
            + parts.environment.iter().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>();
        fits(Limit::Arguments, argument_bytes as u64)?;
        fits(Limit::Stdin, parts.stdin.len() as u64)?;
        Ok(Invocation(Arc::new(parts)))
    }

    /// The program's name, then its arguments.
    pub fn argv(&self) -> &[String] {
        &self.0.argv
    }

    /// The environment, by name.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.0.environment
    }

    /// Everything there is to read on standard input.
    pub fn stdin(&self) -> &[u8] {
        &self.0.stdin
    }

    /// The wall clock at the start.
    pub fn clock_start(&self) -> Instant {
        self.0.clock_start
    }

    /// The start of all randomness.
    pub fn seed(&self) -> Seed {
        self.0.seed
    }

    /// What the run may use.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Those preopened folders that are real.
    pub fn mounts(&self) -> &BTreeSet<String> {
        &self.0.mounts
    }

    /// The folders that are open when the guest starts, by the name it sees.
    pub fn preopens(&self) -> &BTreeMap<String, Access> {
        &self.0.preopens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> InvocationParts {
        InvocationParts { argv: vec!["app".to_owned(), "list".to_owned()], ..Default::default() }
    }

    #[test]
    fn seeds_of_calls_follow_from_seed_and_name_alone() {
        let seed: Seed = "7".parse().unwrap();
        let (one, other) = (seed.of_call(b"\"a\""), seed.of_call(b"\"b\""));
        // Never another one: lines that were answered would be answered otherwise.
        assert_eq!(one.to_string(), "54ae37da73dfb0068283d64dc7aa6dd6ff2feca69138b23e1e356050bc3c01dc");
        assert_ne!(one, other);
        assert_ne!(one, Seed::default().of_call(b"\"a\""));
    }

    #[test]
    fn strings_that_would_be_cut_are_refused() {
        let mut nul = parts();
        nul.argv.push("a\0b".to_owned());
        assert_eq!(Invocation::new(nul).err(), Some(InvocationError::ArgumentNul { at: 2 }));
        for (name, value) in [("", "v"), ("A=B", "v"), ("A\0", "v"), ("A", "\0")] {
            let mut bad = parts();
            bad.environment.insert(name.to_owned(), value.to_owned());
            assert!(matches!(Invocation::new(bad), Err(InvocationError::Environment { .. })), "{name:?} was taken");
        }
    }

    #[test]
    fn input_is_held_to_its_limits_exactly() {
        for (limit, size) in [(Limit::Arguments, 9), (Limit::Stdin, 3)] {
            let mut parts = InvocationParts { stdin: b"abc".to_vec(), ..parts() };
            parts.limits.set(limit, size);
            assert!(Invocation::new(parts.clone()).is_ok());
            parts.limits.set(limit, size - 1);
            let error = Invocation::new(parts).err();
            assert_eq!(error, Some(InvocationError::TooLarge { limit, size, limit_value: size - 1 }));
        }
    }

    #[test]
    fn a_seed_is_a_number_or_all_its_digits() {
        let seed: Seed = "258".parse().unwrap();
        assert_eq!(&seed.0[..3], &[2, 1, 0]);
        assert_eq!(seed.to_string().parse(), Ok(seed));
        for bad in ["", "-1", "0x10", "18446744073709551616"] {
            assert!(bad.parse::<Seed>().is_err(), "{bad:?} was taken");
        }
    }
}

//! Every limit a run has: one table with name, unit, default and ceiling. The documentation is tested against it.
//! Knows no engine: `sandbox` and `world` look values up here and enforce them.

use crate::error_code::ErrorCode;
use serde::ser::SerializeMap;

/// One row of the table.
#[derive(Debug)]
#[non_exhaustive]
pub struct LimitInfo {
    /// The name in manifests, on the command line and in envelopes; the unit comes last.
    pub name: &'static str,
    /// The value if neither package nor operator says anything.
    pub default: u64,
    /// The most a package can ask for; only the operator can go higher.
    pub ceiling: u64,
    /// The most there is, for the operator too: what is said beyond it is as much. Sums of such numbers stay within what a machine
    /// counts with.
    pub most: u64,
    /// What is counted.
    pub counts: &'static str,
    /// The error code of a run that this limit ended.
    pub code: ErrorCode,
}

macro_rules! limits {
    ($($variant:ident $name:literal $default:expr, $ceiling:expr, $most:expr, $code:ident, $counts:literal;)*) => {
        /// Something a run can use only so much of.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Limit { $(#[doc = $counts] $variant,)* }

        impl Limit {
            /// All limits, in the order of the table.
            pub const ALL: &'static [Limit] = &[$(Limit::$variant),*];

            /// This limit's row of the table.
            pub const fn info(self) -> &'static LimitInfo {
                match self {
                    $(Limit::$variant => &LimitInfo {
                        name: $name,
                        default: $default,
                        ceiling: $ceiling,
                        most: $most,
                        counts: $counts,
                        code: ErrorCode::$code,
                    },)*
                }
            }
        }
    };
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// Where nothing else bounds what an operator may say.
const COUNT_MAX: u64 = 1 << 60;

limits! {
    Fuel "fuel" 10_000_000_000, 1_000_000_000_000, COUNT_MAX, FuelLimit,
        "work: one unit for a simple instruction, one for each byte of a bulk one, the price of each host call, and of naming the state";
    WallTime "wall_time_ms" 10_000, 600_000, COUNT_MAX, WallTimeLimit,
        "milliseconds on the host's clock from the start of the guest until its state has its name";
    Memory "memory_bytes" 256 * MIB, 4 * GIB, COUNT_MAX, MemoryLimit,
        "bytes of all linear memories and tables, and of files, folders and handles that the host holds for the guest; captured output has limits of its own";
    Tables "table_elements" 1_000_000, 10_000_000, COUNT_MAX, TableLimit,
        "elements of all tables";
    Instances "instances" 100, 1_000, 100_000, InstanceLimit,
        "core instances, and likewise component instances, resource types, memories and tables, of the component";
    Stack "stack_bytes" 512 * KIB, 8 * MIB, 64 * MIB, StackLimit,
        "bytes of the guest's call stack, rounded up to a power of two from 64 KiB on";
    Stdout "stdout_bytes" 8 * MIB, 256 * MIB, COUNT_MAX, StdoutLimit,
        "bytes written to standard output";
    Stderr "stderr_bytes" MIB, 256 * MIB, COUNT_MAX, StderrLimit,
        "bytes written to standard error";
    Stdin "stdin_bytes" 16 * MIB, GIB, COUNT_MAX, StdinLimit,
        "bytes given on standard input";
    Arguments "argument_bytes" 256 * KIB, 4 * MIB, COUNT_MAX, ArgumentLimit,
        "bytes of arguments and environment, each with its end";
    StateBytes "state_bytes" GIB, 64 * GIB, COUNT_MAX, StateBytesLimit,
        "bytes of all files in all volumes, by their sizes";
    StateFiles "state_files" 200_000, 10_000_000, COUNT_MAX, StateFilesLimit,
        "files, folders and links in all volumes";
    FileBytes "file_bytes" GIB, 64 * GIB, COUNT_MAX, FileBytesLimit,
        "bytes of one file, by its size";
    FolderDepth "folder_depth" 128, 1_024, 1_024, FolderDepthLimit,
        "folders within folders, from the volume's root";
    Handles "handles" 4_096, 65_536, 1_000_000, HandleLimit,
        "descriptors, streams, pollables and errors that the guest holds at once";
    HostCall "host_call_bytes" 4 * MIB, 64 * MIB, GIB, HostCallLimit,
        "bytes that one call may carry between guest and host";
    Component "component_bytes" 64 * MIB, GIB, COUNT_MAX, ComponentLimit,
        "bytes of the component";
    CompileTime "compile_time_ms" 120_000, 600_000, COUNT_MAX, CompileTimeLimit,
        "milliseconds on the host's clock to compile the component";
}

impl Limit {
    /// The limit's name: `memory_bytes`.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// What it counts.
    pub fn unit(self) -> Unit {
        match self.name() {
            name if name.ends_with("_bytes") => Unit::Bytes,
            name if name.ends_with("_ms") => Unit::Milliseconds,
            _ => Unit::Count,
        }
    }

    /// The limit with this name.
    pub fn from_name(name: &str) -> Option<Limit> {
        Limit::ALL.iter().copied().find(|limit| limit.name() == name)
    }
}

/// What a limit counts, as its name ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
// Exhaustive: each is read and written in its own way.
pub enum Unit {
    /// Bytes: `_bytes`.
    Bytes,
    /// Milliseconds: `_ms`.
    Milliseconds,
    /// Things.
    Count,
}

impl Unit {
    /// How an amount is written, for messages.
    pub const fn expected(self) -> &'static str {
        match self {
            Unit::Bytes => "a positive whole number of bytes or a size like 64MiB",
            Unit::Milliseconds => "a positive whole number of milliseconds or a duration like 2s",
            Unit::Count => "a positive whole number",
        }
    }

    /// Reads an amount: digits, and a suffix if the unit has some.
    pub fn parse(self, text: &str) -> Option<u64> {
        let (digits, suffix) = text.split_at_checked(text.bytes().take_while(u8::is_ascii_digit).count())?;
        let factor = match suffix {
            "" => 1,
            _ => self.suffixes().iter().find(|(name, _)| *name == suffix)?.1,
        };
        digits.parse::<u64>().ok()?.checked_mul(factor).filter(|amount| *amount > 0)
    }

    const fn suffixes(self) -> &'static [(&'static str, u64)] {
        match self {
            Unit::Bytes => &[
                ("KiB", KIB),
                ("MiB", MIB),
                ("GiB", GIB),
                ("kB", 1_000),
                ("MB", 1_000_000),
                ("GB", 1_000_000_000),
                ("B", 1),
            ],
            Unit::Milliseconds => &[("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000)],
            Unit::Count => &[],
        }
    }
}

/// A value for each limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits([u64; Limit::ALL.len()]);

impl Default for Limits {
    fn default() -> Limits {
        Limits(std::array::from_fn(|at| Limit::ALL[at].info().default))
    }
}

impl Limits {
    /// The limits of a run: what the operator says holds; else what the package asks for, up to the ceiling;
    /// else the default.
    pub fn granted(
        asked: impl IntoIterator<Item = (Limit, u64)>,
        operator: impl IntoIterator<Item = (Limit, u64)>,
    ) -> Limits {
        let mut limits = Limits::default();
        for (limit, value) in asked {
            limits.set(limit, value.min(limit.info().ceiling));
        }
        for (limit, value) in operator {
            limits.set(limit, value);
        }
        limits
    }

    /// The value of one limit.
    pub const fn get(&self, limit: Limit) -> u64 {
        self.0[limit as usize]
    }

    /// Changes the value of one limit, to no more than the most there is.
    pub fn set(&mut self, limit: Limit, value: u64) {
        self.0[limit as usize] = value.min(limit.info().most);
    }
}

impl serde::Serialize for Limits {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Limit::ALL.len()))?;
        for limit in Limit::ALL {
            map.serialize_entry(limit.name(), &self.get(*limit))?;
        }
        map.end()
    }
}

impl<'de> serde::Deserialize<'de> for Limits {
    /// Names that are absent have their default: an older ledger entry knows fewer limits.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
        let map = std::collections::BTreeMap::<String, u64>::deserialize(deserializer)?;
        let mut limits = Limits::default();
        for (name, value) in map {
            let limit = Limit::from_name(&name)
                .ok_or_else(|| serde::de::Error::custom(format!("there is no limit {name:?}")))?;
            limits.set(limit, value);
        }
        Ok(limits)
    }
}

impl serde::Serialize for Limit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
        let name = String::deserialize(deserializer)?;
        Limit::from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("there is no limit {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_own_index_and_names_are_unique() {
        for (at, limit) in Limit::ALL.iter().enumerate() {
            assert_eq!(*limit as usize, at);
            assert_eq!(Limit::from_name(limit.name()), Some(*limit));
            assert!(limit.info().default <= limit.info().ceiling, "{}", limit.name());
            assert!(limit.info().ceiling <= limit.info().most, "{}", limit.name());
        }
    }

    #[test]
    fn amounts_have_units() {
        let cases = [
            (Unit::Bytes, "64MiB", Some(64 << 20)),
            (Unit::Bytes, "3kB", Some(3_000)),
            (Unit::Bytes, "7", Some(7)),
            (Unit::Milliseconds, "2s", Some(2_000)),
            (Unit::Milliseconds, "1h", Some(3_600_000)),
            (Unit::Count, "7", Some(7)),
            (Unit::Count, "7s", None),
            (Unit::Bytes, "2s", None),
            (Unit::Bytes, "", None),
            (Unit::Bytes, "0", None),
            (Unit::Bytes, "-1", None),
            (Unit::Bytes, "1.5MiB", None),
            (Unit::Bytes, "99999999999GiB", None),
        ];
        for (unit, text, expect) in cases {
            assert_eq!(unit.parse(text), expect, "{text}");
        }
    }

    #[test]
    fn a_package_is_held_to_the_ceiling_and_the_operator_is_not() {
        let ceiling = Limit::Memory.info().ceiling;
        let asked = Limits::granted([(Limit::Memory, u64::MAX)], []);
        assert_eq!(asked.get(Limit::Memory), ceiling);
        let said = Limits::granted([(Limit::Memory, 1)], [(Limit::Memory, ceiling + 1)]);
        assert_eq!(said.get(Limit::Memory), ceiling + 1);
        assert_eq!(said.get(Limit::Fuel), Limit::Fuel.info().default);
        for limit in Limit::ALL {
            assert_eq!(Limits::granted([], [(*limit, u64::MAX)]).get(*limit), limit.info().most);
        }
    }
}

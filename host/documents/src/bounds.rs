//! How much goes into an answer. What a guest prints or changes can be larger than anybody reads, and a byte of JSON takes more than a
//! hundred in memory, so each of these is looked at before the work begins. The table in `host/docs/limits.md` is made of them.

use hutch_model::limits::Unit;

/// The most there may be of something in one answer.
#[derive(Debug)]
pub struct Bound {
    /// How much, in its unit.
    pub max: u64,
    unit: Unit,
    /// What is counted.
    of: &'static str,
    /// What becomes of more than that.
    #[cfg(test)]
    beyond: &'static str,
}

impl Bound {
    /// Whether so much is too much.
    pub const fn is_below(&self, amount: u64) -> bool {
        self.max < amount
    }

    /// What is too much, for a message: `1000 lines …, more than 400`.
    pub fn passed(&self, amount: u64) -> String {
        let unit = match self.unit {
            Unit::Bytes => " bytes",
            Unit::Milliseconds | Unit::Count => "",
        };
        format!("{}: {amount}{unit}, more than {}", self.of, self.max)
    }
}

/// Adds to what is bounded; too much is not added.
pub fn spend(spent: &mut u64, amount: u64, bound: &Bound) -> Result<(), String> {
    let sum = spent.saturating_add(amount);
    if bound.is_below(sum) {
        return Err(bound.passed(sum));
    }
    *spent = sum;
    Ok(())
}

macro_rules! bounds {
    ($($name:ident = $max:expr, $unit:ident, $of:literal, $beyond:literal;)*) => {
        $(#[doc = concat!("The most of this: ", $of, ".")]
        pub const $name: Bound = Bound {
            max: $max,
            unit: Unit::$unit,
            of: $of,
            #[cfg(test)]
            beyond: $beyond,
        };)*
        /// All of them, in the order of the table.
        #[cfg(test)]
        const ALL: &[Bound] = &[$($name),*];
    };
}

bounds! {
    STREAM_BYTES = 16 << 20, Bytes, "standard output and error in documents about runs", "`ANSWER_LOST`, with `kept` and `entry`";
    OUTPUT_MEMORY = 128 << 20, Bytes, "memory for what of it is JSON, by an estimate before it is read", "`ANSWER_LOST`, with `kept` and `entry`";
    DRAWN_MEMORY = 64 << 20, Bytes, "memory for an answer that `--human` draws, by an estimate before it is read", "printed as it is";
    DRAWN_CELLS = 100_000, Count, "cells of the table of a list that `--human` draws", "printed as it is";
    DRAWN_BYTES = 16 << 20, Bytes, "text of the fields that `--human` draws", "printed as it is";
    FILE_BYTES = 16 << 20, Bytes, "a file in the answer of `state cat`", "`USAGE`; `--raw` writes any file";
    COMPARED_FILE_BYTES = 256 << 10, Bytes, "a file whose content a plan compares", "`omitted` says so in place of the difference";
    COMPARED_BYTES = 8 << 20, Bytes, "all files whose content a plan compares", "`omitted` says so in place of the difference";
    COMPARED_MEMORY = 128 << 20, Bytes, "memory for those that are JSON, by an estimate before", "compared as text alone";
    COMPARED_STEPS = 100_000_000, Count, "the square of the differing lines of a file, summed over all files", "`omitted` says so in place of the difference";
    SHOWN_LINES = 400, Count, "lines of the difference of a text", "`omitted` says so in place of the difference";
    SHOWN_PARTS = 400, Count, "differing parts of a JSON document", "compared as text alone";
    CHECKED_BYTES = 4 << 30, Bytes, "databases that one `doctor` looks through", "named in `left_out`, for `doctor PACKAGE`";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_page_about_limits() {
        let mut table = "| in one answer | most | beyond |\n|---|---|---|\n".to_owned();
        for Bound { max, unit, of, beyond } in ALL {
            let max = match unit {
                Unit::Bytes if max.is_multiple_of(1 << 30) => format!("{}GiB", max >> 30),
                Unit::Bytes if max.is_multiple_of(1 << 20) => format!("{}MiB", max >> 20),
                Unit::Bytes => format!("{}KiB", max >> 10),
                _ => max.to_string(),
            };
            table.push_str(&format!("| {of} | {max} | {beyond} |\n"));
        }
        let page = include_str!("../../docs/limits.md");
        assert!(page.contains(&table), "host/docs/limits.md holds another table than this:\n{table}");
    }
}

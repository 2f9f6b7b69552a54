//! The parameters and failures that commands have without declaring them. The derive `Command` puts them into contracts.

use crate::argv::BATCH;
use crate::contract::{Constraints, FailureCode, Parameter, ValueType};

/// The opposite of a flag, which says what a call without the flag means.
#[doc(hidden)]
#[macro_export]
macro_rules! opposite {
    ($flag:expr) => {
        $crate::contract::Parameter::flag(
            ::std::concat!("no-", $flag),
            ::std::concat!("not --", $flag, ", as in a call with neither"),
        )
    };
}

/// What every command takes.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::flag("help", "describe the application, or the command it is given with, and do nothing else"),
    Parameter::flag("version", "print the version and do nothing else"),
    Parameter::flag("brief", "say in one paragraph what the application is for and do nothing else"),
    Parameter::flag("human", "print text for people instead of JSON; failures then go to stderr"),
    opposite!("human"),
    Parameter::flag("agent", "print JSON, which is the default; contradicts --human"),
    opposite!("agent"),
    Parameter::flag("quiet", "print no notes on stderr"),
    opposite!("quiet"),
    Parameter::option(
        "fields",
        ValueType::String,
        "names of the fields to keep in items[], separated by commas, such as id,title",
    ),
];

/// Of commands that change the state.
pub const JSON_INPUT: Parameter = Parameter::flag(
    BATCH,
    "take the parameters from standard input instead, where a batch stands: [{\"PARAMETER\":VALUE}, …] with at most 1000 entries and 1 MiB; all of them are done or none",
);
/// Its opposite.
pub const NO_JSON_INPUT: Parameter = opposite!("json-input");
/// Of commands that change the state.
pub const DRY_RUN: Parameter = Parameter::flag(
    "dry-run",
    "do all but write: the answer is the same with dryRun: true, and the state stays as it is",
);
/// Its opposite.
pub const NO_DRY_RUN: Parameter = opposite!("dry-run");
/// Of commands that a person must have agreed to.
pub const CONFIRM: Parameter = Parameter::flag("confirm", "the user agreed to it; without it nothing is done");
/// Its opposite.
pub const NO_CONFIRM: Parameter = opposite!("confirm");
/// Of commands that answer with a page.
pub const LIMIT: Parameter = Parameter {
    default: Some("100"),
    constraints: Constraints { minimum: Some("1"), maximum: Some("10000"), ..Constraints::NONE },
    ..Parameter::option("limit", ValueType::Integer, "how many to show at most, 1 to 10000")
};
/// Of commands that answer with a page.
pub const OFFSET: Parameter = Parameter {
    default: Some("0"),
    constraints: Constraints { minimum: Some("0"), maximum: Some("2147483647"), ..Constraints::NONE },
    ..Parameter::option("offset", ValueType::Integer, "how many to pass over first, from 0")
};

/// How many different codes these lists have.
#[must_use]
pub const fn count_codes(lists: &[&[FailureCode]]) -> usize {
    let (mut count, mut place) = (0, 0);
    while let Some(code) = nth(lists, place) {
        count += is_new(lists, place, code) as usize;
        place += 1;
    }
    count
}

/// Those codes, each once, in the order in which they come up.
#[must_use]
pub const fn codes<const N: usize>(lists: &[&[FailureCode]]) -> [FailureCode; N] {
    let mut codes = [crate::failure::INTERNAL_ERROR; N];
    let (mut count, mut place) = (0, 0);
    while let Some(code) = nth(lists, place) {
        if is_new(lists, place, code) {
            codes[count] = code;
            count += 1;
        }
        place += 1;
    }
    codes
}

/// The code at a place of all, one list after the other.
const fn nth(lists: &[&[FailureCode]], mut place: usize) -> Option<FailureCode> {
    let mut list = 0;
    while list < lists.len() {
        if place < lists[list].len() {
            return Some(lists[list][place]);
        }
        place -= lists[list].len();
        list += 1;
    }
    None
}

const fn is_new(lists: &[&[FailureCode]], place: usize, code: FailureCode) -> bool {
    let mut earlier = 0;
    while earlier < place {
        if let Some(other) = nth(lists, earlier)
            && equal(other.code.as_bytes(), code.code.as_bytes())
        {
            return false;
        }
        earlier += 1;
    }
    true
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut place = 0;
    while place < one.len() {
        if one[place] != other[place] {
            return false;
        }
        place += 1;
    }
    true
}

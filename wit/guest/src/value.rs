//! From the values that arguments were read as to the types that an application has for them.

use crate::argv::{Arguments, Value};
use crate::calendar::{Date, Due, Expected, Instant};
use crate::contract::{Constraints, FailureCode, Parameter, ValueType};
use crate::failure::{Failure, INVALID_VALUE, MISSING_ARGUMENT};

/// A type of which one argument can be. [`text_value!`](crate::text_value), [`id!`](crate::id) and the derive
/// [`Choice`](crate::Choice) implement it for types of an application's own.
pub trait Argument: Sized {
    /// What an argument of it is written as.
    const TYPE: ValueType;
    /// The only values, unless empty.
    const CHOICES: &'static [&'static str] = &[];
    /// What its text or number must keep.
    const CONSTRAINTS: Constraints = Constraints::NONE;
    /// How a command that uses it can fail: those of a file that it names.
    const CODES: &'static [FailureCode] = &[];

    /// Reads it further.
    ///
    /// # Errors
    /// What was expected, to follow "expected".
    fn of(value: &Value) -> Result<Self, Expected>;
}

macro_rules! arguments {
    ($($kind:ty, $value_type:ident, $constraints:expr, $variant:ident($value:ident) => $read:expr;)*) => {$(
        impl Argument for $kind {
            const TYPE: ValueType = ValueType::$value_type;
            const CONSTRAINTS: Constraints = $constraints;

            fn of(value: &Value) -> Result<Self, Expected> {
                match value {
                    Value::$variant($value) => $read,
                    _ => Err(concat!("a value of the type ", stringify!($variant))),
                }
            }
        }
    )*};
}

const NOT_NEGATIVE: Constraints = Constraints { minimum: Some("0"), ..Constraints::NONE };

arguments! {
    String, String, Constraints::NONE, Text(text) => Ok(text.clone());
    i64, Integer, Constraints::NONE, Integer(number) => Ok(*number);
    u64, Integer, NOT_NEGATIVE, Integer(number) => (*number).try_into().map_err(|_| "a number from 0");
    u32, Integer, Constraints { maximum: Some("4294967295"), ..NOT_NEGATIVE }, Integer(number) =>
        (*number).try_into().map_err(|_| "a number from 0 to 4294967295");
    usize, Integer, NOT_NEGATIVE, Integer(number) => (*number).try_into().map_err(|_| "a number from 0");
    f64, Number, Constraints::NONE, Number(number) => Ok(*number);
    bool, Boolean, Constraints::NONE, Boolean(truth) => Ok(*truth);
    Date, Date, Constraints::NONE, Date(date) => Ok(*date);
    Instant, Instant, Constraints::NONE, Instant(instant) => Ok(*instant);
    Due, DateOrInstant, Constraints::NONE, Due(due) => Ok(*due);
}

/// The values of a parameter, in the order given. The derive `Command` calls this and the two below.
///
/// # Errors
/// `INVALID_VALUE`.
pub fn all<T: Argument, C: FromIterator<T>>(arguments: &Arguments, parameter: &Parameter) -> Result<C, Failure> {
    arguments.all(parameter.name).iter().map(|value| read(parameter, value)).collect()
}

/// The value of a parameter that need not be there.
///
/// # Errors
/// `INVALID_VALUE`.
pub fn optional<T: Argument>(arguments: &Arguments, parameter: &Parameter) -> Result<Option<T>, Failure> {
    arguments.one(parameter.name).map(|value| read(parameter, value)).transpose()
}

/// The value of a parameter that is required or has a default.
///
/// # Errors
/// `INVALID_VALUE`, or `MISSING_ARGUMENT`.
pub fn required<T: Argument>(arguments: &Arguments, parameter: &Parameter) -> Result<T, Failure> {
    optional(arguments, parameter)?
        .ok_or_else(|| Failure::new(MISSING_ARGUMENT, format!("{} is missing", parameter.name)))
}

fn read<T: Argument>(parameter: &Parameter, value: &Value) -> Result<T, Failure> {
    let invalid = |expected: &str| invalid(parameter.name, &value.to_string(), expected);
    let read = T::of(value).map_err(invalid)?;
    if let Value::Text(text) = value
        && let Some(expected) = out_of_length(text, &parameter.constraints)
    {
        return Err(invalid(&expected).suggest(parameter.description));
    }
    Ok(read)
}

fn out_of_length(text: &str, constraints: &Constraints) -> Option<String> {
    let (least, most) = (constraints.min_length.unwrap_or(0), constraints.max_length.unwrap_or(u32::MAX));
    // Counted no further than it matters.
    let counted = text.chars().take(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1)).count();
    let fits = u32::try_from(counted).is_ok_and(|counted| (least..=most).contains(&counted));
    (!fits).then(|| match constraints.max_length {
        None => format!("a text of at least {least} characters"),
        Some(most) => format!("a text of {least} to {most} characters"),
    })
}

/// A value that is refused, cut so that it does not hide the rest of the message.
#[must_use]
pub fn invalid(name: &str, text: &str, expected: &str) -> Failure {
    const SHOWN_CHARS_MAX: usize = 80;
    let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    Failure::new(INVALID_VALUE, format!("{name} is {shown:?}{more}, expected {expected}"))
}

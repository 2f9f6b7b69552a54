//! A JSON value whose every look costs steps, as the library for schemas sees one. What it does with a value it does through here, so the work
//! is counted where it is done, and when there are no steps left each value is null and each list is at its end: what the library has still
//! to do is then nothing. What that comes to is no verdict: who asks looks at what is left. Knows nothing of schemas.
//!
//! The steps are a thread's: the library gives the names of properties to be judged as values of their own, with nothing beside them.

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::iter::zip;

/// The bytes of a text that are one step where they are only compared or counted.
const STEP_BYTES: usize = 16;
/// The steps of a pattern for each byte that it is held against. Most take one; the worst that fits its memory takes some hundred.
const PATTERN_STEPS: u64 = 32;
/// The steps of a division of numbers that are far from each other: a microsecond.
const DIVISION_STEPS: u64 = 64;
/// The steps of an error, which takes some hundred bytes.
const ERROR_STEPS: u64 = 100;

/// What is looked for in values, by what it costs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Costs {
    /// Whether texts are held against patterns.
    pub(super) has_patterns: bool,
    /// How many patterns the names of fields are held against.
    pub(super) name_patterns: u64,
    /// Whether numbers are divided.
    pub(super) has_divisions: bool,
    /// How many schemas that need not look at it one value is held against at most, but one: `true`, or a choice of such.
    pub(super) beside: u64,
}

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static COSTS: Cell<Costs> = const { Cell::new(Costs { has_patterns: false, name_patterns: 0, has_divisions: false, beside: 0 }) };
}

/// What `work` comes to, and how many of these steps it took; nothing if they were too few.
pub(super) fn within<T>(steps: u64, costs: Costs, work: impl FnOnce() -> T) -> Option<(T, u64)> {
    LEFT.set(steps);
    COSTS.set(costs);
    let done = work();
    let left = LEFT.take();
    (left > 0).then(|| (done, steps - left))
}

/// Takes steps, and says whether there are any left.
fn take(steps: u64) -> bool {
    let left = LEFT.get().saturating_sub(steps);
    LEFT.set(left);
    left > 0
}

fn bytes(text: &str) -> u64 {
    (1 + text.len() / STEP_BYTES) as u64
}

/// Values that are counted.
pub(super) struct Counting;

impl Json for Counting {
    type Node<'a> = Counted<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, name: &str, judge: impl FnOnce(Counted<'_>) -> T) -> T {
        *buffer = if take(bytes(name) + COSTS.get().beside) { name.into() } else { Value::Null };
        judge(Counted(buffer))
    }
}

/// One of them, or a list of them, or an object.
pub(super) struct Counted<'a, T = Value>(pub(super) &'a T);

impl<T> Clone for Counted<'_, T> {
    fn clone(&self) -> Self {
        Counted(self.0)
    }
}

const NOTHING: &Value = &Value::Null;

impl<'a> Counted<'a> {
    /// The value, for so many steps.
    fn look(&self, steps: u64) -> &'a Value {
        if take(steps) { self.0 } else { NOTHING }
    }
}

impl<'a> Node<'a, Counting> for Counted<'a> {
    type Object = Counted<'a, Map<String, Value>>;
    type Array = Counted<'a, Vec<Value>>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Counted<'a, Map<String, Value>>> {
        self.look(1).as_object().map(Counted)
    }

    fn as_array(&self) -> Option<Counted<'a, Vec<Value>>> {
        self.look(1).as_array().map(Counted)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.look(1).as_str()?;
        let read = if COSTS.get().has_patterns { text.len() as u64 * PATTERN_STEPS } else { bytes(text) };
        take(read).then_some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        let steps = if COSTS.get().has_divisions { DIVISION_STEPS } else { 1 };
        match self.look(steps) {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        self.look(1).as_bool()
    }

    fn is_null(&self) -> bool {
        self.look(1).is_null()
    }

    fn is_number(&self) -> bool {
        self.look(1).is_number()
    }

    fn json_type(&self) -> JsonType {
        Node::<SerdeJson>::json_type(&self.look(1))
    }

    fn string_length(&self) -> Option<u64> {
        let text = self.look(1).as_str()?;
        take(bytes(text)).then(|| text.chars().count() as u64)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        let own = self.look(1);
        rank(own) == rank(expected) && weigh(expected, 1) && order(own, expected).is_eq()
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self.look(ERROR_STEPS))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Node::<SerdeJson>::identity(&self.0)
    }
}

impl<'a> Object<'a, Counting> for Counted<'a, Map<String, Value>> {
    type Node = Counted<'a>;
    type MemberName = &'a str;
    type MembersIter = Box<dyn Iterator<Item = (&'a str, Counted<'a>)> + 'a>;

    fn len(&self) -> usize {
        if take(1) { self.0.len() } else { 0 }
    }

    fn get(&self, name: &String) -> Option<Counted<'a>> {
        // A look-up compares some names, from their beginnings.
        take(4 * bytes(name) + COSTS.get().beside).then(|| self.0.get(name).map(Counted)).flatten()
    }

    fn members(&self) -> Self::MembersIter {
        let Costs { name_patterns, beside, .. } = COSTS.get();
        let each = name_patterns * PATTERN_STEPS;
        let members = self.0.iter().map(|(name, value)| (name.as_str(), Counted(value)));
        Box::new(members.take_while(move |(name, _)| take(bytes(name) + each * name.len() as u64 + beside)))
    }
}

impl<'a> Array<'a, Counting> for Counted<'a, Vec<Value>> {
    type Node = Counted<'a>;
    type ElementsIter = std::iter::MapWhile<std::slice::Iter<'a, Value>, fn(&'a Value) -> Option<Counted<'a>>>;

    fn len(&self) -> usize {
        if take(1) { self.0.len() } else { 0 }
    }

    fn elements(&self) -> Self::ElementsIter {
        self.0.iter().map_while(|value| take(1 + COSTS.get().beside).then_some(Counted(value)))
    }

    /// By their order, and not by hashes as the library does it: those of `[[],1]` and `[1,[]]` are one, and so are those of as many lists as
    /// somebody likes to write.
    fn is_unique(&self) -> bool {
        let rounds = 2 * (1 + u64::from(self.0.len().max(1).ilog2()));
        if !self.0.iter().all(|item| weigh(item, rounds)) {
            return true;
        }
        let mut all: Vec<&Value> = self.0.iter().collect();
        all.sort_unstable_by(|a, b| order(a, b));
        all.windows(2).all(|pair| matches!(pair, [a, b] if order(a, b).is_ne()))
    }
}

/// Takes the steps of going through a value, so many times.
fn weigh(value: &Value, times: u64) -> bool {
    let here = match value {
        Value::String(text) => bytes(text),
        Value::Object(all) => 1 + all.keys().map(|name| bytes(name)).sum::<u64>(),
        _ => 1,
    };
    take(here.saturating_mul(times))
        && match value {
            Value::Array(items) => items.iter().all(|item| weigh(item, times)),
            Value::Object(all) => all.values().all(|value| weigh(value, times)),
            _ => true,
        }
}

/// How two values stand in an order of all of them in which those are equal that JSON Schema takes for equal.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => order_of_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let first = || zip(a, b).map(|(a, b)| order(a, b)).find(|found| found.is_ne());
            a.len().cmp(&b.len()).then_with(|| first().unwrap_or(Ordering::Equal))
        }
        // The fields of both stand in the order of their names.
        (Value::Object(a), Value::Object(b)) => {
            let both = zip(a, b).map(|((a, of_a), (b, of_b))| a.cmp(b).then_with(|| order(of_a, of_b)));
            a.len().cmp(&b.len()).then_with(|| both.into_iter().find(|found| found.is_ne()).unwrap_or(Ordering::Equal))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// As numbers, whatever they are written as.
fn order_of_numbers(a: &Number, b: &Number) -> Ordering {
    let (whole_a, whole_b) = (whole(a), whole(b));
    if let (Some(a), Some(b)) = (whole_a, whole_b) {
        return a.cmp(&b);
    }
    // One of them has a fraction, or is beyond all whole ones: rounding the other brings it past none.
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal)
}

/// A number's value if it has no fraction and is within 2^64.
fn whole(number: &Number) -> Option<i128> {
    let written = number.as_i128();
    written.or_else(|| {
        number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e37).map(|float| float as i128)
    })
}

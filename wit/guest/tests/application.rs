//! Applications made for these tests: every kind of field, answer and state, and what is held of each.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;

use hutch_guest::failure::INVALID_VALUE;
use hutch_guest::testing::Harness;
use hutch_guest::{
    Call, Changed, Choice, Command, Date, Document, Failure, FailureCode, InputFile, One, Page, Reads, Row, Rows,
    Writes,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const FULL: FailureCode =
    FailureCode { code: "FULL", exit_status: 30, description: "no more fit", fix: "take some out" };
const SECRET: FailureCode = FailureCode { code: "SECRET", exit_status: 40, description: "not said", fix: "none" };

/// How ripe it is.
#[derive(Clone, Copy, Choice, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Ripe {
    Green,
    VeryRipe,
}

/// What is in the basket.
#[derive(Debug, Default, Deserialize, Document, Serialize)]
#[document("basket.json")]
struct Basket {
    fruits: Vec<Fruit>,
}

#[derive(Clone, Debug, Deserialize, Row, Serialize)]
struct Fruit {
    #[row(last)]
    name: String,
    grams: f64,
    ripe: Ripe,
    eat_by: Option<Date>,
    #[row(aside)]
    tags: BTreeSet<String>,
}

/// Puts a fruit in.
#[derive(Command)]
#[command(write, errors(FULL))]
#[example("put an apple in", ["150", "apple", "--ripe", "very-ripe"])]
#[example("what weighs nothing is none", ["0", "apple"], 2)]
struct FruitPut {
    /// how much it weighs
    #[arg(positional, minimum = 0.5, maximum = 5_000)]
    grams: f64,
    /// its name
    #[arg(positional, free_text, min_length = 2, max_length = 10)]
    name: String,
    /// how ripe it is
    #[arg(default = "green")]
    ripe: Ripe,
    /// until when it is good
    eat_by: Option<Date>,
    /// words on it
    #[arg(name = "tag")]
    tags: BTreeSet<String>,
    /// how many of it
    #[arg(default = "1", maximum = 9)]
    times: u32,
    /// say nothing of it
    hidden: bool,
}

impl Writes for FruitPut {
    type State = Basket;
    type Row = Fruit;

    fn check(&self) -> Result<(), Failure> {
        let together = self.hidden && !self.tags.is_empty();
        if together { Err(Failure::contradiction("--hidden", "--tag")) } else { Ok(()) }
    }

    fn run(self, basket: &mut Basket, _: &Call) -> Result<Changed<Fruit>, Failure> {
        let Self { grams, name, ripe, eat_by, tags, times, .. } = self;
        let fruit = Fruit { name, grams, ripe, eat_by, tags };
        for _ in 0..times {
            basket.fruits.push(fruit.clone());
        }
        match basket.fruits.len() {
            0 => Ok(Changed::no(fruit, "none was put in")),
            1..=9 => Ok(Changed::yes(fruit)),
            _ => Err(Failure::new(FULL, "the basket is full")),
        }
    }
}

/// Shows what is in.
#[derive(Command)]
struct Look;

impl Reads for Look {
    type State = Basket;
    type Answer = Rows<Fruit>;

    fn run(self, basket: &Basket, _: &Call) -> Result<Rows<Fruit>, Failure> {
        Ok(Rows(basket.fruits.clone()))
    }
}

/// Shows what is in, from a page on.
#[derive(Command)]
struct Pages {
    /// what ends it
    #[arg(positional)]
    fail: Option<bool>,
}

#[derive(Row)]
struct Weight {
    total_grams: f64,
}

impl Reads for Pages {
    type State = Basket;
    type Answer = Page<Fruit, Weight>;

    fn run(self, basket: &Basket, call: &Call) -> Result<Page<Fruit, Weight>, Failure> {
        if self.fail == Some(true) {
            return Err(Failure::new(SECRET, "it is not told"));
        }
        let total_grams = basket.fruits.iter().map(|fruit| fruit.grams).sum();
        Ok(call.page(&basket.fruits, Fruit::clone).with(Weight { total_grams }))
    }
}

hutch_guest::application! {
    /// Keeps fruit
    static FRUIT: Basket = "fruit";
    commands: [FruitPut, Look, Pages],
    brief: "A basket.\n",
}

/// Adds two numbers.
#[derive(Command)]
#[example("one and two", ["1", "2"])]
struct Add {
    /// one of them
    #[arg(positional)]
    one: i64,
    /// the other
    #[arg(positional)]
    other: i64,
}

#[derive(Row)]
struct Sum {
    sum: i64,
}

impl Reads for Add {
    type State = ();
    type Answer = One<Sum>;

    fn run(self, (): &(), _: &Call) -> Result<One<Sum>, Failure> {
        let sum = self.one.checked_add(self.other);
        sum.map(|sum| One(Sum { sum })).ok_or_else(|| Failure::new(INVALID_VALUE, "the sum is too great"))
    }
}

hutch_guest::application! {
    /// Calculates
    static SUMS: () = "sums";
    commands: [Add]
}

/// Says how much two files hold.
#[derive(Command)]
struct Weigh {
    /// one of them
    #[arg(positional)]
    one: InputFile,
    /// the other
    #[arg(positional)]
    other: InputFile,
}

impl Reads for Weigh {
    type State = ();
    type Answer = One<Sum>;

    fn run(self, (): &(), _: &Call) -> Result<One<Sum>, Failure> {
        let bytes = self.one.read(1000)?.len() + self.other.read(1000)?.len();
        Ok(One(Sum { sum: i64::try_from(bytes).unwrap_or(i64::MAX) }))
    }
}

hutch_guest::application! {
    /// Weighs files
    static SCALES: () = "scales";
    commands: [Weigh]
}

#[test]
fn a_file_brings_the_codes_that_it_can_fail_with_and_each_once() {
    let of_files = |codes: &'static [FailureCode]| codes.iter().filter(|code| code.code.starts_with("FILE_")).count();
    assert_eq!((of_files(SCALES.description.commands[0].errors), of_files(SCALES.description.errors)), (3, 3));
    assert_eq!(Harness::new(&SCALES).refused(&["weigh", "clippy.toml", "nothing"])["code"], "FILE_NOT_FOUND");
}

/// The parameter of a command in the contract.
fn parameter(command: &str, name: &str) -> Value {
    let contract: Value = serde_json::from_str(&FRUIT.description.to_json().unwrap()).unwrap();
    let find = |list: &Value, name: &str| list.as_array().unwrap().iter().find(|it| it["name"] == name).cloned();
    find(&find(&contract["commands"], command).unwrap()["parameters"], name).unwrap()
}

#[test]
fn every_example_ends_as_it_says() {
    Harness::new(&FRUIT).examples();
    Harness::new(&SUMS).examples();
}

#[test]
fn fields_become_parameters() {
    let given = |command, name| {
        let it = parameter(command, name);
        (
            it["position"].clone(),
            it["valueType"].clone(),
            it["required"].clone(),
            it["repeated"].clone(),
            it["default"].clone(),
        )
    };
    let text = |text: &str| json!(text);
    for (name, expected) in [
        ("grams", (json!(0), text("number"), json!(true), json!(false), Value::Null)),
        ("name", (json!(1), text("string"), json!(true), json!(false), Value::Null)),
        ("ripe", (Value::Null, text("string"), json!(false), json!(false), text("green"))),
        ("eat-by", (Value::Null, text("date"), json!(false), json!(false), Value::Null)),
        ("tag", (Value::Null, text("string"), json!(false), json!(true), Value::Null)),
        ("times", (Value::Null, text("integer"), json!(false), json!(false), text("1"))),
        ("hidden", (Value::Null, text("boolean"), json!(false), json!(false), Value::Null)),
        ("no-hidden", (Value::Null, text("boolean"), json!(false), json!(false), Value::Null)),
    ] {
        assert_eq!(given("fruit put", name), expected, "{name}");
    }
    assert_eq!(parameter("fruit put", "ripe")["choices"], json!(["green", "very-ripe"]));
    assert_eq!(parameter("fruit put", "name")["freeText"], true);
    assert_eq!(parameter("pages", "fail")["valueType"], "boolean");
    let constraints = |name: &str| {
        let all = FRUIT.description.commands[0].parameters;
        let it = all.iter().find(|parameter| parameter.name == name).unwrap().constraints;
        (it.minimum, it.maximum, it.min_length, it.max_length)
    };
    assert_eq!(constraints("grams"), (Some("0.5"), Some("5000"), None, None));
    assert_eq!(constraints("name"), (None, None, Some(2), Some(10)));
    assert_eq!(constraints("times"), (Some("0"), Some("9"), None, None), "what a type bounds, an attribute narrows");
}

#[test]
fn bounds_and_choices_are_held() {
    let fruit = Harness::new(&FRUIT);
    for (args, code, message) in [
        (
            &["fruit", "put", "0.4", "apple"][..],
            "INVALID_VALUE",
            "GRAMS is \"0.4\", expected a number from 0.5 to 5000",
        ),
        (&["fruit", "put", "5001", "apple"], "INVALID_VALUE", "GRAMS is \"5001\", expected a number from 0.5 to 5000"),
        (&["fruit", "put", "1", "a"], "INVALID_VALUE", "name is \"a\", expected a text of 2 to 10 characters"),
        (&["fruit", "put", "1", "ääääääääääb"], "INVALID_VALUE", "name is \"ääääääääääb\", expected a text of 2 to 10"),
        (
            &["fruit", "put", "1", "apple", "--ripe", "red"],
            "INVALID_VALUE",
            "--ripe is \"red\", expected one of: green, very-ripe",
        ),
        (
            &["fruit", "put", "1", "apple", "--times", "10"],
            "INVALID_VALUE",
            "--times is \"10\", expected a number from 0 to 9",
        ),
        (
            &["fruit", "put", "1", "apple", "--times", "-1"],
            "INVALID_VALUE",
            "--times is \"-1\", expected a number from 0 to 9",
        ),
        (&["fruit", "put", "1", "apple", "--eat-by", "soon"], "INVALID_VALUE", "--eat-by is \"soon\", expected a date"),
        (&["fruit", "put", "1"], "MISSING_ARGUMENT", "fruit put needs NAME: its name"),
        (
            &["fruit", "put", "1", "apple", "--hidden", "--tag", "x"],
            "UNEXPECTED_ARGUMENT",
            "--hidden and --tag contradict",
        ),
        (&["pages", "maybe"], "INVALID_VALUE", "FAIL is \"maybe\", expected true or false"),
        (&["look", "--limit", "1"], "UNKNOWN_FLAG", "look takes no flag \"--limit\""),
        (&["look", "--dry-run"], "UNKNOWN_FLAG", "look takes no flag \"--dry-run\""),
    ] {
        let error = fruit.refused(args);
        assert_eq!(error["code"], code, "{args:?}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(message), "{args:?}: {error}");
    }
    assert_eq!(fruit.ok(&["fruit", "put", "1", "ääääääääää"])["count"], 1, "characters are counted, not bytes");
}

#[test]
fn answers_have_the_form_that_the_contract_says() {
    let fruit = Harness::new(&FRUIT);
    fruit.ok(&["fruit", "put", "150", "apple", "--tag", "b", "--tag", "a", "--eat-by", "2026-04-05"]);
    fruit.ok(&["fruit", "put", "1.5", "grape", "--times", "2"]);
    for command in FRUIT.description.commands {
        let schema = serde_json::from_str(&command.output_schema.to_text()).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let args: &[&str] =
            if command.name == "fruit put" { &["fruit", "put", "2", "plum", "--dry-run"] } else { &[command.name] };
        let answer = fruit.ok(args);
        let problems: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{args:?}: {problems:?} in {answer}");
        let mut more = answer.clone();
        more["more"] = json!(1);
        assert!(!validator.is_valid(&more), "{} is closed", command.name);
    }
    let page = fruit.ok(&["pages", "--limit", "2", "--offset", "1", "--fields", "name"]);
    let expected = json!({"ok": true, "command": "pages", "totalGrams": 153.0, "count": 2, "total": 3, "limit": 2, "offset": 1, "hasMore": false, "items": [{"name": "grape"}, {"name": "grape"}]});
    assert_eq!(page, expected);
    let first = &fruit.ok(&["look"])["items"][0];
    assert_eq!(
        first,
        &json!({"name": "apple", "grams": 150.0, "ripe": "green", "eatBy": "2026-04-05", "tags": ["a", "b"]})
    );
    let table = fruit.call(&["look", "--human"], std::io::empty()).stdout;
    assert_eq!(
        table,
        "GRAMS  RIPE   EATBY       NAME\n150    green  2026-04-05  apple\n1.5    green  -           grape\n1.5    green  -           grape\n"
    );
}

#[test]
fn a_state_is_written_by_a_success_alone() {
    let fruit = Harness::new(&FRUIT);
    fruit.ok(&["fruit", "put", "1", "fig", "--times", "9", "--dry-run"]);
    assert_eq!(fruit.state(), None);
    fruit.ok(&["fruit", "put", "1", "fig", "--times", "0"]);
    assert_eq!(fruit.state(), None, "what changed nothing is not written");
    fruit.ok(&["fruit", "put", "1", "fig", "--times", "9"]);
    assert_eq!(fruit.refused(&["fruit", "put", "1", "fig"])["code"], "FULL");
    let batch = fruit.call(&["fruit", "put", "--json-input"], &br#"[{"grams":1,"name":"fig"}]"#[..]);
    let error: Value = serde_json::from_str(&batch.stdout).unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["index"]), (&json!("FULL"), &json!(0)));
    assert!(fruit.state().unwrap().starts_with("{\n  \"fruits\": [\n"));
}

#[test]
fn a_code_that_is_not_declared_is_a_defect() {
    let error = Harness::new(&FRUIT).refused(&["pages", "true"]);
    assert_eq!(error["code"], "INTERNAL_ERROR");
    assert_eq!(error["message"], "pages ended with SECRET, which its contract does not name: it is not told");
}

#[test]
fn an_application_without_state_has_no_failures_of_one() {
    let codes = |errors: &[FailureCode]| errors.iter().map(|error| error.code).collect::<Vec<_>>();
    let sums = codes(SUMS.description.errors);
    assert_eq!(
        sums,
        [
            "UNKNOWN_COMMAND",
            "UNKNOWN_FLAG",
            "MISSING_ARGUMENT",
            "UNEXPECTED_ARGUMENT",
            "INVALID_VALUE",
            "INTERNAL_ERROR"
        ]
    );
    let fruit = codes(FRUIT.description.errors);
    for code in ["FULL", "INVALID_BATCH", "STATE_CORRUPT", "STATE_UNAVAILABLE"] {
        assert_eq!(fruit.iter().filter(|known| **known == code).count(), 1, "{code} once");
    }
    let answer = Harness::new(&SUMS).ok(&["add", "2", "-3"]);
    assert_eq!(answer, json!({"ok": true, "command": "add", "count": 1, "items": [{"sum": -1}]}));
    assert_eq!(Harness::new(&SUMS).ok(&["--version"])["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(Harness::new(&FRUIT).ok(&["--brief"])["brief"], "A basket.");
    assert_eq!(Harness::new(&SUMS).ok(&["--brief"])["brief"], "Calculates", "the summary, where nothing else is said");
}

/// Writes labels.
#[derive(Command)]
#[command(write, errors(hutch_guest::storage::STATE_UNAVAILABLE))]
#[example("write one", ["a"])]
struct Print {
    /// what is on it
    #[arg(positional)]
    text: String,
}

impl Writes for Print {
    type State = ();
    type Row = Word;
    fn run(self, (): &mut (), _: &Call) -> Result<Changed<Word>, Failure> {
        let bytes = self.text.clone().into_bytes();
        Ok(Changed::yes(Word { word: self.text.clone() }).with_file(format!("{}.txt", self.text), bytes))
    }
}

/// Counts down from a number; never from 13.
#[derive(Command)]
#[command(errors(FULL))]
#[example("count down", ["3"])]
struct Down {
    /// from where
    #[arg(positional)]
    from: u32,
}

impl Reads for Down {
    type State = ();
    type Answer = Page<Word>;
    fn run(self, (): &(), call: &Call) -> Result<Page<Word>, Failure> {
        call.page_of((0..self.from).rev().map(|number| match number {
            13 => Err(Failure::new(FULL, "13")),
            number => Ok(Word { word: number.to_string() }),
        }))
    }
}

#[derive(Row)]
struct Word {
    word: String,
}

hutch_guest::application! {
    /// Prints
    static PRINTER: () = "printer";
    commands: [Print, Down]
}

#[test]
fn files_beside_the_state_are_written_by_a_success_alone() {
    let printer = Harness::new(&PRINTER);
    printer.ok(&["print", "tried", "--dry-run"]);
    assert_eq!((printer.file("tried.txt"), printer.state()), (None, None));
    printer.batch(&["print", "--json-input"], r#"[{"text":"a"},{"text":"b"}]"#);
    assert_eq!((printer.file("a.txt"), printer.file("b.txt")), (Some(b"a".to_vec()), Some(b"b".to_vec())));
    assert_eq!(printer.state(), None, "an application without state writes none");
    for name in ["../a", "a/b", ".a", "-a", "a b", "ä", &"a".repeat(97)] {
        assert_eq!(printer.refused(&["print", "--", name])["code"], "INVALID_VALUE", "{name}");
    }
    let reply = printer.call(&["print", "--json-input"], r#"[{"text":"c"},{"text":1}]"#.as_bytes());
    assert_eq!((reply.exit_status, printer.file("c.txt")), (2, None));
}

#[test]
fn what_comes_one_by_one_comes_in_pages() {
    let printer = Harness::new(&PRINTER);
    let page = printer.ok(&["down", "10", "--limit", "2", "--offset", "3"]);
    assert_eq!((&page["items"], &page["total"]), (&json!([{"word": "6"}, {"word": "5"}]), &json!(10)));
    assert_eq!(page["hasMore"], true);
    assert_eq!(printer.ok(&["down", "10", "--offset", "12"])["items"], json!([]));
    assert_eq!(printer.refused(&["down", "20", "--limit", "1"])["code"], "FULL", "what is not shown is looked at");
}

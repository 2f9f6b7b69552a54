//! The application as its callers see it. Paths are those of the package, as in a run of the host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use hutch_guest::{Document, testing::Harness};
use serde_json::{Value, json};

use super::*;

fn books() -> Harness<Journal> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/books")).unwrap();
    Harness::new(&BOOKS)
}

/// A journal of this text, as a file; no two tests have the same name.
fn file(name: &str, text: &str) -> String {
    let path = std::env::temp_dir().join(format!("hutch-books-{}-{name}.journal", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// What is wrong with a journal.
fn wrong(books: &Harness<Journal>, name: &str, text: &str) -> String {
    let path = file(name, text);
    let error = books.refused(&["balance", "--journal", &path]);
    assert_eq!(error["code"], "TRANSACTION_INVALID", "{text}: {error}");
    std::fs::remove_file(&path).unwrap();
    error["message"].as_str().unwrap().strip_prefix(&format!("{path}: ")).unwrap().to_owned()
}

/// `ACCOUNT AMOUNT COMMODITY` of each sum.
fn sums(answer: &Value) -> Vec<String> {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    let row = |row| format!("{} {} {}", text(row, "account"), text(row, "amount"), text(row, "commodity"));
    answer["items"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    books().contract("schemas/commands.json");
}

#[test]
fn every_example_ends_as_it_says() {
    books().examples();
}

#[test]
fn the_amount_that_is_left_out_is_the_rest() {
    let books = books();
    let add = |args: &[&str]| books.ok(&[&["add", "--date", "2026-04-01", "Test"], args].concat());
    for (postings, written) in [
        (&["a 5 EUR", "b"][..], json!(["a  5 EUR", "b  -5 EUR"])),
        (&["a", "b 5.00"], json!(["b  5.00", "a  -5.00"])),
        (&["a $5", "b €-1", "c"], json!(["a  5 $", "b  -1 €", "c  -5 $", "c  1 €"])),
        (&["a -$5", "b $ 2", "c $3"], json!(["a  -5 $", "b  2 $", "c  3 $"])),
        (&["a EUR 5", "b -5.000 EUR"], json!(["a  5 EUR", "b  -5.000 EUR"])),
        (&["a and b  5EUR", "c\t - 5 EUR "], json!(["a and b  5 EUR", "c  -5 EUR"])),
        (&["a 999999999999.99999999", "b"], json!(["a  999999999999.99999999", "b  -999999999999.99999999"])),
        (&["a 0 EUR", "b"], json!(["a  0 EUR"])),
        (&["Bücher:Ulm  5 kg", "b c"], json!(["Bücher:Ulm  5 kg", "b c  -5 kg"])),
    ] {
        let answer = add(postings);
        assert_eq!(answer["items"][0]["postings"], written, "{postings:?}");
        // What is shown is what can be given.
        let shown = answer.to_string();
        let again = &books.batch(&["add", "--json-input"], &shown)["items"];
        assert_eq!(again, &answer["items"], "{postings:?}");
    }
    assert_eq!(books.ok(&["report"])["total"], 18);
}

#[test]
fn what_does_not_balance_or_could_be_read_in_two_ways_is_refused() {
    let books = books();
    for (postings, told) in [
        (&["a 5 EUR"][..], "come to 5 EUR"),
        (&["a 5 EUR", "b -4.99 EUR"], "come to 0.01 EUR, expected 0"),
        (&["a 5 EUR", "b -5 USD"], "come to 5 EUR"),
        (&["a", "b"], "only one amount"),
        (&["a 5", "b", "c"], "only one amount"),
        (&["a 999999999999", "b 999999999999", "c"], "at most 12 digits"),
    ] {
        let error = books.refused(&[&["add", "Test"], postings].concat());
        assert_eq!(error["code"], "TRANSACTION_INVALID", "{postings:?}");
        assert!(error["message"].as_str().unwrap().contains(told), "{postings:?}: {error}");
    }
    for posting in [
        "a 1,000 EUR",
        "a 1.000,00 EUR",
        "a 1_000 EUR",
        "a 1e3 EUR",
        "a 1000000000000 EUR",
        "a 0.000000001 EUR",
        "a 99999999999999999999999999999999999 EUR",
        "a 5 EUR @ 2 USD",
        "a 5 EUR = 7 EUR",
        "a = 5 EUR",
        "a 5 EUR 3",
        "a EUR 5 EUR",
        "a --5 EUR",
        "a 5- EUR",
        "a 0x5 EUR",
        "a \u{665} EUR  \u{665} EUR",
        "my bank 5",
        "(a) 5 EUR",
        "[a] 5 EUR",
        "* a 5 EUR",
        " a 5 EUR",
        "a; b  5 EUR",
        "a\n2026-04-01 Other\n  b  5 EUR",
        "a\rb  5 EUR",
        "a\u{a0}\u{a0}b  5 EUR",
        "",
        "  ",
        "-5 EUR",
    ] {
        let error = books.refused(&["add", "Test", "--", posting, "z"]);
        assert_eq!(error["code"], "INVALID_VALUE", "{posting:?}: {error}");
    }
    for description in ["one; two", "one\ntwo", "one\r\n2026-04-01 two"] {
        assert_eq!(books.refused(&["add", description, "a 5 EUR", "b"])["code"], "TRANSACTION_INVALID");
    }
    assert_eq!(books.state(), None);
}

#[test]
fn accounts_are_summed_by_what_they_are_below_of_and_when() {
    let books = books();
    for (date, postings) in [
        ("2026-03-31", ["assets:bank 100 EUR", "equity:opening"]),
        ("2026-04-02", ["expenses:food:out 20 EUR", "assets:bank"]),
        ("2026-04-01", ["expenses:food 1.50 EUR", "assets:cash"]),
        ("2026-04-30", ["expenses 0.01 EUR", "assets:cash"]),
        ("2026-05-01", ["expensesnot 7 $", "assets:cash"]),
    ] {
        books.ok(&[&["add", "Test", "--date", date], &postings[..]].concat());
    }
    let balance = |args: &[&str]| sums(&books.ok(&[&["balance"], args].concat()));
    assert_eq!(balance(&["expenses"]), ["expenses 0.01 EUR", "expenses:food 1.50 EUR", "expenses:food:out 20 EUR"]);
    assert_eq!(balance(&["expenses:food", "--until", "2026-04-01"]), ["expenses:food 1.50 EUR"]);
    assert_eq!(balance(&["assets", "--since", "2026-04-30"]), ["assets:cash -7 $", "assets:cash -0.01 EUR"]);
    assert_eq!(balance(&["assets:bank"]), ["assets:bank 80 EUR"]);
    assert_eq!((balance(&["expenses:"]), balance(&["expense"])), (vec![], vec![]));
    assert_eq!(balance(&["--limit", "1", "--offset", "3"]), ["equity:opening -100 EUR"]);
    let report = |args: &[&str]| {
        let answer = books.ok(&[&["report"], args].concat());
        answer["items"].as_array().unwrap().iter().map(|it| it["date"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(report(&[]), ["2026-03-31", "2026-04-01", "2026-04-02", "2026-04-30", "2026-05-01"]);
    assert_eq!(report(&["assets:bank", "--since", "2026-04-01"]), ["2026-04-02"]);
    assert_eq!(report(&["expenses", "--until", "2026-04-01"]), ["2026-04-01"]);
}

#[test]
fn a_journal_of_others_is_read_and_taken_over() {
    let books = books();
    let read = ["--journal", "samples/2026.journal"];
    assert_eq!(
        sums(&books.ok(&[&["balance"], &read[..]].concat())),
        [
            "assets:bank 3304.10 EUR",
            "assets:cash 20.00 EUR",
            "assets:purse 50 $",
            "equity:exchange -50 $",
            "equity:exchange 46.15 EUR",
            "equity:opening -1260.00 EUR",
            "expenses:food 31.40 EUR",
            "expenses:house 8.60 EUR",
            "expenses:rent 800.00 EUR",
            "income:salary -2950.25 EUR",
        ]
    );
    let report = books.ok(&[&["report"], &read[..]].concat());
    assert_eq!((&report["total"], &report["items"][1]["description"]), (&json!(5), &json!("* Rent for March")));
    assert_eq!(books.state(), None);
    books.batch(&["add", "--json-input"], &report.to_string());
    assert_eq!(books.ok(&["balance"])["items"], books.ok(&[&["balance"], &read[..]].concat())["items"]);
    let state = books.state().unwrap();
    assert!(state.starts_with("2026-03-01 Opening\n    assets:bank  1200.00 EUR\n"), "{state}");
    // The state is a journal as any other.
    let path = file("state", &format!("\u{feff}{}", state.replace('\n', "\r\n")));
    assert_eq!(books.ok(&["report", "--journal", &path])["items"], report["items"]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_wrong_with_a_journal_is_told_with_its_line() {
    let books = books();
    for (text, told) in [
        ("  a  5\n", "line 1: expected a date"),
        ("2026-02-30 x\n  a  5\n", "line 1: expected a day that exists"),
        ("\n2026-4-1 x\n", "line 2: expected a date YYYY-MM-DD"),
        ("2026-04-01=2026-04-02 x\n  a  5\n  b\n", "line 1: expected a date"),
        ("include other.journal\n", "line 1: expected a date"),
        ("alias a=b\n", "line 1: expected a date"),
        ("~ monthly\n  a  5\n  b\n", "line 1: expected a date"),
        ("= expenses\n  a  5\n  b\n", "line 1: expected a date"),
        ("P 2026-04-01 USD 0.9 EUR\n", "line 1: expected a date"),
        ("D $1,000.00\n", "line 1: expected a date"),
        ("2026-04-01 x\n  a  5\n  b  5 @ 3 EUR\n", "line 3: expected an account and an amount"),
        ("2026-04-01 x\n  (a)  5\n", "line 2: expected an account and an amount"),
        ("; one\n2026-04-01 x\n  a  5\n\n  b  -6\n", "line 2: the amounts come to -1 , expected 0"),
        ("2026-04-01 x\n", "line 1: only one amount"),
        ("2026-04-01\n  a 5 EUR\n  b 1,000 EUR\n", "line 3: expected an account and an amount"),
        ("PK\u{3}\u{4}", "line 1: expected a date"),
    ] {
        let message = wrong(&books, "wrong", text);
        assert!(message.starts_with(told), "{text:?}: {message}");
    }
    for text in ["", "\n\n", "; nothing\n# nothing\n* nothing\n%\n\naccount a\n  b  5\n\tc\n\n", "\u{feff}"] {
        let path = file("nothing", text);
        assert_eq!(books.ok(&["report", "--journal", &path])["total"], 0, "{text:?}");
    }
    let path = file("large", &"a".repeat((4 << 20) + 1));
    assert_eq!(books.refused(&["report", "--journal", &path])["code"], "FILE_TOO_LARGE");
    std::fs::write(&path, b"2026-04-01 \xff\n").unwrap();
    assert_eq!(books.refused(&["report", "--journal", &path])["code"], "FILE_UNREADABLE");
    std::fs::remove_file(path).unwrap();
    // As many lines as there can be, and one that is as long as all.
    assert_eq!(wrong(&books, "many", &"2026-04-01\n".repeat(380_000)), "line 1: only one amount can be left out");
    let long = format!("2026-04-01 x\n  a  5 {}\n  b\n", "E".repeat(4_000_000));
    let path = file("long", &long);
    books.ok(&["balance", "--journal", &path]);
    std::fs::write(&path, format!("2026-04-01 x\n  {}\n", "a ".repeat(2_000_000))).unwrap();
    books.refused(&["balance", "--journal", &path]);
    std::fs::remove_file(path).unwrap();
}

/// Numbers as good as drawn, the same in every run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A journal, and what each account has, in hundredths: counted in whole numbers, on another way than the application's.
    fn journal(&mut self) -> (String, BTreeMap<(String, &'static str), i128>) {
        let (mut text, mut sums) = (String::new(), BTreeMap::new());
        for _ in 0..self.below(30) {
            text += &format!("2026-{:02}-{:02} Draw\n", 1 + self.below(12), 1 + self.below(28));
            let mut off = BTreeMap::<&'static str, i128>::new();
            for _ in 0..=self.below(4) {
                let commodity = ["EUR", "$", "", "kg"][self.below(4) as usize];
                let account = ["assets:bank", "assets:bank:old", "expenses", "income of all"][self.below(4) as usize];
                let hundredths = i128::from(self.below(1 << 31)) - (1 << 30);
                let (sign, size) = (if hundredths < 0 { "-" } else { "" }, hundredths.abs());
                let number = format!("{sign}{}.{:02}", size / 100, size % 100);
                let amount = if commodity == "$" { format!("$ {number}") } else { format!("{number} {commodity}") };
                text += &format!("  {account}  {}\n", amount.trim());
                *sums.entry((account.to_owned(), commodity)).or_default() += hundredths;
                *off.entry(commodity).or_default() += hundredths;
            }
            text += "  equity\n\n";
            off.into_iter().for_each(|(it, sum)| *sums.entry(("equity".to_owned(), it)).or_default() -= sum);
        }
        sums.retain(|_, sum| *sum != 0);
        (text, sums)
    }
}

#[test]
fn all_that_is_kept_comes_to_nothing_and_every_sum_is_right() {
    let mut drawn = Drawn(7);
    for _ in 0..200 {
        let (text, counted) = drawn.journal();
        let journal = parse(&text).unwrap();
        let mut all = BTreeMap::<String, Decimal>::new();
        for posting in journal.0.iter().flat_map(|transaction| &transaction.postings) {
            let (number, commodity) = posting.amount.clone().unwrap();
            *all.entry(commodity).or_default() += number;
        }
        assert!(all.values().all(Decimal::is_zero), "{text}\n{all:?}");
        let written = journal.encode().unwrap();
        let read = Journal::decode(&written).unwrap();
        assert_eq!(read, parse(&text).unwrap());
        assert_eq!(read.encode().unwrap(), written);
        let path = file("drawn", &text);
        let answer = books().ok(&["balance", "--limit", "10000", "--journal", &path]);
        let hundredths = |text: &str| text.replacen('.', "", 1).parse::<i128>().unwrap();
        let shown: BTreeMap<_, _> = answer["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let [account, amount, commodity] =
                    ["account", "amount", "commodity"].map(|it| row[it].as_str().unwrap());
                ((account.to_owned(), commodity.to_owned()), hundredths(amount))
            })
            .collect();
        let counted: BTreeMap<_, _> =
            counted.into_iter().map(|((account, it), sum)| ((account, it.to_owned()), sum)).collect();
        assert_eq!(shown, counted, "{text}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn no_text_brings_the_reader_down_and_what_it_takes_it_writes_and_reads_again() {
    let mut drawn = Drawn(11);
    let parts = [
        "2026-04-01",
        " ",
        "  ",
        "\t",
        "\n",
        "\n  ",
        "a",
        "b:c",
        "5",
        "-",
        ".",
        ",",
        "$",
        "EUR",
        "é",
        ";",
        "*",
        "=",
        "@",
        "(",
        "\r",
        "\u{a0}",
        "0.1",
        "x y",
        "account ",
        "\n2026-04-01 d\n  a  5 EUR\n  b",
    ];
    let mut taken = 0;
    for _ in 0..20_000 {
        let text: String = (0..drawn.below(24)).map(|_| parts[drawn.below(parts.len() as u64) as usize]).collect();
        let Ok(journal) = parse(&text) else { continue };
        taken += usize::from(!journal.0.is_empty());
        let written = journal.encode().unwrap();
        let read = Journal::decode(&written).unwrap_or_else(|why| panic!("{text:?}: {why}"));
        assert_eq!(read.encode().unwrap(), written, "{text:?}");
    }
    assert!(taken > 500, "{taken}");
}

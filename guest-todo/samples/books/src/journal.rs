//! A journal as ledger and hledger have it: its text, its transactions, and what an amount is. Knows no command line.

use std::{collections::BTreeMap, fmt};

use hutch_guest::{Date, Document, Row, calendar::Expected};
use rust_decimal::Decimal;

/// So much and more is no amount: sums of what is less are exact, however many there are.
const AMOUNT_END: u64 = 1_000_000_000_000;
const POSTING: Expected = "an account and an amount, as in expenses:rent 12.50 EUR: of at most 12 digits before the point and 8 behind, without commas and prices";

/// What comes to an account. Of one posting of a transaction the amount may be left out, until the transaction is balanced.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Posting {
    pub(crate) account: String,
    pub(crate) amount: Option<(Decimal, String)>,
}

/// Postings that come to nothing in each commodity, as the journal has them and `items[]` shows them.
#[derive(Clone, Debug, PartialEq, Row)]
pub(crate) struct Transaction {
    pub(crate) date: Date,
    pub(crate) description: String,
    #[row(last)]
    pub(crate) postings: Vec<Posting>,
}

/// The state: transactions by date.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Journal(pub(crate) Vec<Transaction>);

impl Document for Journal {
    const FILE: Option<&'static str> = Some("books.journal");

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        parse(std::str::from_utf8(bytes).map_err(|error| error.to_string())?)
    }

    fn encode(self) -> hutch_guest::serde_json::Result<Vec<u8>> {
        let lines = |postings: &[Posting]| postings.iter().map(|it| format!("    {it}\n")).collect::<String>();
        let text = |it: &Transaction| format!("{} {}\n{}\n", it.date, it.description, lines(&it.postings));
        Ok(self.0.iter().map(text).collect::<String>().into_bytes())
    }
}

impl fmt::Display for Posting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.amount.as_ref().map(|(number, commodity)| format!("  {number} {commodity}"));
        write!(f, "{}{}", self.account, amount.unwrap_or_default().trim_end())
    }
}

impl Posting {
    /// Two spaces or a tab stand before the amount, or one space if there is none in the account.
    fn parse(text: &str) -> Result<Self, Expected> {
        let gap = text.find("  ").into_iter().chain(text.find('\t')).min();
        let narrow = || text.find(' ').filter(|at| text[*at..].contains(|c: char| c.is_ascii_digit()));
        let (account, sum) = text.split_at(gap.or_else(narrow).unwrap_or(text.len()));
        let strange = |c: char| c == ';' || c.is_control() || c.is_whitespace() && c != ' ';
        let amount = if sum.trim().is_empty() { None } else { Some(amount(sum.trim()).ok_or(POSTING)?) };
        let plain = account.starts_with(char::is_alphanumeric) && !account.contains(strange);
        plain.then(|| Self { account: account.trim_end().to_owned(), amount }).ok_or(POSTING)
    }
}

hutch_guest::text_value!(Posting, min_length = 1);

/// A number with a sign or a commodity at one of its sides: -12.50 EUR, $-5 or 7.
fn amount(text: &str) -> Option<(Decimal, String)> {
    let number = text.trim_matches(|c: char| !c.is_ascii_digit());
    let (before, after) = text.split_once(number)?;
    let (sign, after) = (before.replacen('-', "", 1), after.trim());
    let commodity = format!("{}{after}", sign.trim());
    let known = commodity.chars().all(|c| c.is_alphabetic() || "$€£¥₹₽₩₺₿".contains(c)) && !number.contains('_');
    let apart = sign.trim().is_empty() || after.is_empty() && !sign.contains(char::is_lowercase);
    let exact = Decimal::from_str_exact(number).ok().filter(|it| it.scale() <= 8 && *it < AMOUNT_END.into())?;
    (known && apart).then(|| (if sign == before { exact } else { -exact }, commodity))
}

/// The transaction with the amount that is left out, or what is wrong.
pub(crate) fn balanced(date: Date, description: &str, postings: Vec<Posting>) -> Result<Transaction, String> {
    let (mut postings, open): (Vec<_>, Vec<_>) = postings.into_iter().partition(|posting| posting.amount.is_some());
    let mut off = BTreeMap::<_, Decimal>::new();
    for (number, commodity) in postings.iter().filter_map(|posting| posting.amount.clone()) {
        *off.entry(commodity).or_default() += number;
    }
    off.retain(|_, sum| !sum.is_zero());
    match (&open[..], off.first_key_value()) {
        _ if postings.is_empty() || open.len() > 1 => return Err("only one amount can be left out".to_owned()),
        _ if description.contains([';', '\n', '\r']) => return Err("a description is one line without ;".to_owned()),
        ([], Some((commodity, sum))) => return Err(format!("the amounts come to {sum} {commodity}, expected 0")),
        _ if off.values().any(|sum| sum.abs() >= AMOUNT_END.into()) => return Err(format!("the rest is no {POSTING}")),
        _ => (),
    }
    for (commodity, sum) in off {
        postings.extend(open.iter().map(|it| Posting { amount: Some((-sum, commodity.clone())), ..it.clone() }));
    }
    Ok(Transaction { date, description: description.to_owned(), postings })
}

/// The transactions of a journal, or what is wrong at which line.
pub(crate) fn parse(text: &str) -> Result<Journal, String> {
    let (mut blocks, mut aside) = (Vec::<(usize, Date, &str, Vec<Posting>)>::new(), false);
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let content = line.split(';').next().unwrap_or_default().trim();
        let (first, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
        let expected = |expected| format!("line {number}: expected {expected}");
        if !first.is_empty() && !line.starts_with([' ', '\t']) {
            // What is below a directive says more about it.
            aside = matches!(first, "account" | "commodity" | "payee" | "tag") || first.starts_with(['#', '*', '%']);
            let date = || Date::parse(&first.replace(['/', '.'], "-")).map_err(expected);
            blocks.extend((!aside).then(date).transpose()?.map(|date| (number, date, rest.trim(), Vec::new())));
        } else if !first.is_empty() && !aside {
            let posting = Posting::parse(content.trim_start_matches(['*', '!', ' '])).map_err(expected)?;
            blocks.last_mut().ok_or_else(|| expected("a date"))?.3.push(posting);
        }
    }
    blocks.sort_by_key(|(_, date, ..)| *date);
    let whole = |(at, date, text, postings)| balanced(date, text, postings).map_err(|why| format!("line {at}: {why}"));
    blocks.into_iter().map(whole).collect::<Result<_, _>>().map(Journal)
}

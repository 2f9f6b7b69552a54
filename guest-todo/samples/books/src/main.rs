//! Double entry in plain text: a journal that ledger and hledger read, exact to the last digit. The struct of a command is its contract,
//! so that this file and `journal` are all there is.

mod journal;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hutch_guest::{Call, Changed, Command, Date, Failure, InputFile, Page, Reads, Row, Writes};
use journal::{Journal, Posting, Transaction, balanced, parse};
use rust_decimal::Decimal;

/// Bytes of one journal.
const JOURNAL_BYTES_MAX: usize = 4 << 20;

hutch_guest::codes! {
    TRANSACTION_INVALID = 2: "the amounts of a transaction do not come to nothing, or a line of a journal is none", "mend what the message names, or leave out the amount of one account";
}

/// Writes a transaction down: which amounts come to which accounts. They add up to nothing, or one is left out and is the rest.
#[derive(Command)]
#[command(write, errors(TRANSACTION_INVALID))]
#[example("an account that has nothing yet", ["Purse for the journey", "assets:purse 0 EUR", "--date", "2026-04-01"])]
#[example("pay the rent", ["Rent", "expenses:rent 800.00 EUR", "assets:bank", "--date", "2026-04-01"])]
#[example("what does not balance", ["Shop", "expenses:food 31.40 EUR", "assets:cash -31 EUR"], 2)]
#[example("see what a transaction of three accounts would be", ["Shop", "expenses:food 31.40 EUR", "expenses:house 8.60 EUR", "assets:cash", "--dry-run"])]
struct Add {
    /// what it was, such as Rent
    #[arg(positional, free_text, max_length = 200)]
    description: String,
    /// an account and an amount, such as "expenses:food 12.50 EUR"; two spaces stand between them if one is in the account
    #[arg(positional, free_text, required)]
    postings: Vec<Posting>,
    /// when it was; today if it is not given
    date: Option<Date>,
}

impl Writes for Add {
    type State = Journal;
    type Row = Transaction;

    fn run(self, journal: &mut Journal, call: &Call) -> Result<Changed<Transaction>, Failure> {
        let transaction = balanced(self.date.unwrap_or(call.now.date()), self.description.trim(), self.postings)
            .map_err(|why| Failure::new(TRANSACTION_INVALID, why))?;
        journal.0.insert(journal.0.partition_point(|other| other.date <= transaction.date), transaction.clone());
        Ok(Changed::yes(transaction))
    }
}

/// How much of a commodity an account has.
#[derive(Row)]
struct Sum {
    account: String,
    amount: String,
    commodity: String,
}

/// Shows how much each account has, or how much came to it within some days, such as what was spent in a month. What came to nothing is
/// left out.
#[derive(Command)]
#[command(errors(TRANSACTION_INVALID))]
#[example("all accounts", [])]
#[example("what was spent in March, of a file in the package", ["expenses", "--since", "2026-03-01", "--until", "2026-03-31", "--journal", "samples/2026.journal"])]
#[example("a transaction in the file does not balance", ["--journal", "samples/broken.journal"], 2)]
struct Balance {
    /// only this account and those below it, such as expenses
    #[arg(positional, free_text, max_length = 200, default = "")]
    account: String,
    /// from this day on
    since: Option<Date>,
    /// up to this day
    until: Option<Date>,
    /// a journal to read instead of the one that is kept, such as data/2026.journal, or - for standard input; at most 4 MiB
    journal: Option<InputFile>,
}

impl Reads for Balance {
    type State = Journal;
    type Answer = Page<Sum>;

    fn run(self, kept: &Journal, call: &Call) -> Result<Page<Sum>, Failure> {
        let mut sums = BTreeMap::<_, Decimal>::new();
        let Journal(found) = within(kept, self.journal, [self.since, self.until])?;
        let postings = found.into_iter().flat_map(|it| it.postings).filter(|posting| below(posting, &self.account));
        for (account, (number, commodity)) in postings.filter_map(|posting| Some((posting.account, posting.amount?))) {
            *sums.entry((account, commodity)).or_default() += number;
        }
        let sums = sums.into_iter().filter(|(_, sum)| !sum.is_zero());
        call.page_of(sums.map(|((account, commodity), sum)| Ok(Sum { account, amount: sum.to_string(), commodity })))
    }
}

/// Reports the transactions by date, all or those of an account: what was paid, when, and from where to where. The answer is a batch for
/// add, which so takes in a file.
#[derive(Command)]
#[command(errors(TRANSACTION_INVALID))]
#[example("everything that is kept", [])]
#[example("what happened at the bank in April", ["assets:bank", "--since", "2026-04-01", "--until", "2026-04-30"])]
#[example("a folder of the machine must be granted", ["--journal", "data/2026.journal"], 20)]
struct Report {
    /// only transactions of this account and those below it, such as assets:bank
    #[arg(positional, free_text, max_length = 200, default = "")]
    account: String,
    /// from this day on
    since: Option<Date>,
    /// up to this day
    until: Option<Date>,
    /// a journal to read instead of the one that is kept, such as data/2026.journal, or - for standard input; at most 4 MiB
    journal: Option<InputFile>,
}

impl Reads for Report {
    type State = Journal;
    type Answer = Page<Transaction>;

    fn run(self, kept: &Journal, call: &Call) -> Result<Page<Transaction>, Failure> {
        let Journal(mut found) = within(kept, self.journal, [self.since, self.until])?;
        found.retain(|transaction| transaction.postings.iter().any(|posting| below(posting, &self.account)));
        call.page_of(found.into_iter().map(Ok))
    }
}

/// The transactions of a file, or those that are kept, that were within some days.
fn within(kept: &Journal, file: Option<InputFile>, [since, until]: [Option<Date>; 2]) -> Result<Journal, Failure> {
    let wrong = |file: &InputFile, why| Failure::new(TRANSACTION_INVALID, format!("{}: {why}", file.path()));
    let read = |file: InputFile| parse(&file.read_text(JOURNAL_BYTES_MAX)?).map_err(|why| wrong(&file, why));
    let mut found = file.map_or_else(|| Ok(Journal(kept.0.clone())), read)?;
    found.0.retain(|it| since.is_none_or(|since| since <= it.date) && until.is_none_or(|until| it.date <= until));
    Ok(found)
}

/// Whether a posting is to this account or to one below it.
fn below(posting: &Posting, account: &str) -> bool {
    account.is_empty() || format!("{}:", posting.account).starts_with(&format!("{account}:"))
}

hutch_guest::application! {
    /// Keeps books in double entry, as a plain text that ledger and hledger read
    static BOOKS: Journal = "books";
    commands: [Add, Balance, Report],
    package: "../../../../packages/books",
    skills: ["books-usage"],
}

hutch_guest::main!(BOOKS);

//! The words for this program, or of `HUTCH_FLAGS` where all words are the guest's. Outside text becomes types here and nowhere else.

use crate::input::Source;
use crate::report::usage;
use crate::surroundings::variable;
use hutch::EnvironmentValue;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::limits::{Limit, Unit};
use hutch_model::manifest::Guard;
use hutch_model::outcome::Contract;
use hutch_store::InstanceName;
use lexopt::{Arg, Parser, ValueExt};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
Runs an application that hutch pack --compiled wrote

hutch-edge run [FLAGS] BUNDLE [ARGUMENTS…]
hutch-edge verify --state FILE BUNDLE
hutch-edge undo --state FILE [--at INSTANT] [--instance NAME] BUNDLE

  --state FILE         where state and ledger are kept; nothing is kept without it
  --now INSTANT        the guest's clock at the start; that of --at if absent
  --seed SEED          the guest's seed: a number or 64 hexadecimal digits; else random
  --stdin              give the guest standard input; never a terminal
  --stdin-file FILE    give the guest this file on standard input
  --stdin-text TEXT    give the guest this text on standard input
  --wait DURATION      how long that may take to come and to end; else 10s
  --env NAME=TEXT      give a value of the environment that it asks for
  --limit NAME=VALUE   set a limit; may be repeated
  --contract CONTRACT  what output is held to: json, schema, any
  --guard GUARD        how strictly arguments are judged: strict, text, off
  --unchecked          hold arguments and effect to no contract
  --yes                confirm a command that asks for it

What the ledger says, where an entry is to be that of another host:

  --at INSTANT         when it was; now if absent
  --instance NAME      whose state it was; else default
  --wall-time-us N     how many microseconds the run took; else what it took
";

/// What is asked of a run, beside the guest's arguments.
#[derive(Default)]
pub(crate) struct Asked {
    /// Where state is kept, if it is.
    pub(crate) state: Option<PathBuf>,
    /// What the ledger says: when it was, whose state, and how long it took.
    pub(crate) at: Option<Instant>,
    pub(crate) instance: InstanceName,
    pub(crate) wall_time_us: Option<u64>,
    pub(crate) now: Option<Instant>,
    pub(crate) seed: Option<Seed>,
    pub(crate) stdin: Option<Source>,
    pub(crate) wait: Option<Duration>,
    pub(crate) environment: BTreeMap<String, EnvironmentValue>,
    pub(crate) limits: BTreeMap<Limit, u64>,
    pub(crate) contract: Option<Contract>,
    pub(crate) guard: Option<Guard>,
    pub(crate) unchecked: bool,
    pub(crate) confirmed: bool,
}

/// What the program is to do.
pub(crate) enum Command {
    Run { asked: Asked, bundle: PathBuf, arguments: Vec<String> },
    Verify { asked: Asked, bundle: PathBuf },
    Undo { asked: Asked, bundle: PathBuf },
    Say(String),
}

fn wrong(error: lexopt::Error) -> ErrorReport {
    usage(error.to_string()).suggest("call hutch-edge --help for the flags there are")
}

impl Command {
    /// # Errors
    /// The words are not of the form that `--help` states.
    pub(crate) fn read(words: Vec<String>) -> Result<Command, ErrorReport> {
        let mut words = Parser::from_args(words);
        let command = match words.next().map_err(wrong)? {
            Some(Arg::Long("help") | Arg::Short('h')) => return Ok(Command::Say(HELP.to_owned())),
            Some(Arg::Long("version") | Arg::Short('V')) => {
                return Ok(Command::Say(format!("hutch-edge {}\n", env!("CARGO_PKG_VERSION"))));
            }
            Some(Arg::Value(word)) if word == "run" || word == "verify" || word == "undo" => word,
            Some(other) => return Err(wrong(other.unexpected())),
            None => return Err(usage("no command is given").suggest("call hutch-edge --help for those there are")),
        };
        let mut asked = Asked::default();
        let bundle = loop {
            match words.next().map_err(wrong)? {
                Some(Arg::Value(bundle)) => break PathBuf::from(bundle),
                Some(Arg::Long("help")) => return Ok(Command::Say(HELP.to_owned())),
                Some(Arg::Long("state")) => asked.state = Some(words.value().map_err(wrong)?.into()),
                // All else is about a run.
                Some(flag) if command != "run" && !(command == "undo" && is_of_entries(&flag)) => {
                    return Err(wrong(flag.unexpected()));
                }
                Some(Arg::Long(flag)) => {
                    let flag = flag.to_owned();
                    asked.take(&flag, &mut words)?;
                }
                Some(other) => return Err(wrong(other.unexpected())),
                None => return Err(usage("no bundle is named").suggest("make one with hutch pack --compiled")),
            }
        };
        if command != "run" {
            return match words.next().map_err(wrong)? {
                Some(more) => Err(wrong(more.unexpected())),
                None if command == "undo" => Ok(Command::Undo { asked, bundle }),
                None => Ok(Command::Verify { asked, bundle }),
            };
        }
        let rest = words.raw_args().map_err(wrong)?.map(|word| word.string());
        let arguments = rest.collect::<Result<_, _>>().map_err(wrong)?;
        Ok(Command::Run { asked, bundle, arguments })
    }
}

/// Whether a flag is about any entry, and not about a run alone.
fn is_of_entries(flag: &Arg) -> bool {
    matches!(flag, Arg::Long("at" | "instance"))
}

impl Asked {
    /// What variables ask of an application: `HUTCH_STATE`, and `HUTCH_FLAGS` with white space between words.
    ///
    /// # Errors
    /// The flags are not of the form that `--help` states.
    pub(crate) fn of_environment() -> Result<Asked, ErrorReport> {
        let mut asked = Asked { state: variable("HUTCH_STATE").map(PathBuf::from), ..Asked::default() };
        let flags = variable("HUTCH_FLAGS").unwrap_or_default().into_string();
        let flags = flags.map_err(|flags| usage(format!("HUTCH_FLAGS is not UTF-8: {}", flags.display())))?;
        let mut words = Parser::from_args(flags.split_whitespace());
        let of_flags = |report: ErrorReport| report.of("HUTCH_FLAGS");
        while let Some(word) = words.next().map_err(wrong).map_err(of_flags)? {
            match word {
                Arg::Long(flag) => {
                    let flag = flag.to_owned();
                    asked.take(&flag, &mut words).map_err(of_flags)?;
                }
                other => return Err(of_flags(wrong(other.unexpected()))),
            }
        }
        Ok(asked)
    }

    fn take(&mut self, flag: &str, words: &mut Parser) -> Result<(), ErrorReport> {
        let invalid = |error: String| usage(format!("--{flag}: {error}"));
        let text = |words: &mut Parser| words.value().and_then(ValueExt::string).map_err(wrong);
        let pair = |text: &str| match text.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(invalid("expected NAME=VALUE".to_owned())),
        };
        match flag {
            "yes" => self.confirmed = true,
            "unchecked" => self.unchecked = true,
            "stdin" | "stdin-file" | "stdin-text" => {
                let source = match flag {
                    "stdin" => Source::Stdin,
                    "stdin-file" => Source::File(words.value().map_err(wrong)?.into()),
                    _ => Source::Text(text(words)?),
                };
                if self.stdin.replace(source).is_some() {
                    return Err(invalid("standard input is given twice".to_owned()));
                }
            }
            "at" => self.at = Some(text(words)?.parse().map_err(|error| invalid(format!("{error}")))?),
            "instance" => self.instance = text(words)?.parse().map_err(|error| invalid(format!("{error}")))?,
            "wall-time-us" => {
                let microseconds = text(words)?.parse();
                self.wall_time_us =
                    Some(microseconds.map_err(|_| invalid("expected a number of microseconds".to_owned()))?);
            }
            "now" => self.now = Some(text(words)?.parse().map_err(|error| invalid(format!("{error}")))?),
            "seed" => self.seed = Some(text(words)?.parse().map_err(|error| invalid(format!("{error}")))?),
            "wait" => {
                let milliseconds = Unit::Milliseconds.parse(&text(words)?);
                let expected = || invalid(format!("expected {}", Unit::Milliseconds.expected()));
                self.wait = Some(Duration::from_millis(milliseconds.ok_or_else(expected)?));
            }
            "env" => {
                let (name, value) = pair(&text(words)?)?;
                self.environment.insert(name, EnvironmentValue { value, secret: false });
            }
            "limit" => {
                let (name, value) = pair(&text(words)?)?;
                let limit = Limit::from_name(&name).ok_or_else(|| invalid(format!("there is no limit {name:?}")))?;
                let amount = limit.unit().parse(&value);
                let expected = || invalid(format!("expected {}", limit.unit().expected()));
                self.limits.insert(limit, amount.ok_or_else(expected)?);
            }
            "contract" => {
                self.contract =
                    Some(named(&text(words)?).ok_or_else(|| invalid("expected json, schema or any".to_owned()))?)
            }
            "guard" => {
                self.guard =
                    Some(named(&text(words)?).ok_or_else(|| invalid("expected strict, text or off".to_owned()))?)
            }
            _ => return Err(wrong(Arg::Long(flag).unexpected())),
        }
        Ok(())
    }
}

/// The variant of this name.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(name.into()).ok()
}

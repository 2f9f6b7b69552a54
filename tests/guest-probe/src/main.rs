//! The probe as a component; natively, a program that prints what `tests/packages/probe/schemas/commands.json` must hold.
//!
//! Whatever a command finds goes to stdout as one JSON document. Memory, tables and WASI functions that std does not
//! have are reached directly, so this crate has unsafe code where the behaviour asks for it.
#![cfg_attr(target_family = "wasm", feature(asm_experimental_arch))]

#[cfg(not(target_family = "wasm"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Write;
    Ok(std::io::stdout().write_all(guest_probe::PROBE.to_json()?.as_bytes())?)
}

#[cfg(target_family = "wasm")]
mod endings;
#[cfg(target_family = "wasm")]
mod files;
#[cfg(target_family = "wasm")]
mod given;
#[cfg(target_family = "wasm")]
mod outside;
#[cfg(target_family = "wasm")]
mod resources;
#[cfg(target_family = "wasm")]
mod wasi;

#[cfg(target_family = "wasm")]
mod component {
    use std::io::{self, Write};
    use std::process::ExitCode;

    use guest_probe::{IO_ERROR, PROBE};
    use hutch_guest::argv::{self, Arguments, Value as Argument};
    use hutch_guest::component::exports::hutch::app::contract;
    use hutch_guest::failure::{Failure, INVALID_VALUE, UNKNOWN_COMMAND};
    use serde_json::{Value, json};

    use crate::{endings, files, given, outside, resources};

    struct Probe;

    impl contract::Guest for Probe {
        fn describe() -> contract::Description {
            hutch_guest::component::describe(&PROBE)
        }
    }

    hutch_guest::component::export!(Probe with_types_in hutch_guest::component);

    /// Why there is no observation.
    pub(crate) enum Trouble {
        /// The call is wrong.
        Usage(Failure),
        /// A file operation failed.
        Io { what: String, error: io::Error },
    }

    impl From<Failure> for Trouble {
        fn from(failure: Failure) -> Self {
            Self::Usage(failure)
        }
    }

    /// What a behaviour leaves to print; `None` when it has printed, or must not.
    pub(crate) type Observation = Result<Option<Value>, Trouble>;

    pub(crate) fn main() -> ExitCode {
        let args: Vec<String> = std::env::args().skip(1).collect();
        match observe(&args) {
            Ok(None) => ExitCode::SUCCESS,
            Ok(Some(document)) => {
                print(&document);
                ExitCode::SUCCESS
            }
            Err(Trouble::Usage(failure)) => {
                print(&json!({
                    "ok": false,
                    "error": {"code": failure.code.code, "message": failure.message, "suggestion": failure.suggestion},
                }));
                end(failure.code.exit_status)
            }
            Err(Trouble::Io { what, error }) => {
                let message = format!("{what}: {error}");
                print(
                    &json!({"ok": false, "error": {"code": IO_ERROR.code, "message": message, "errno": errno(&error)}}),
                );
                end(IO_ERROR.exit_status)
            }
        }
    }

    fn observe(args: &[String]) -> Observation {
        // Its arguments are anyone's, so they are not read against the table.
        if let Some((word, rest)) = args.split_first()
            && word == "args"
        {
            return Ok(Some(json!({"ok": true, "command": "args", "args": rest})));
        }
        let arguments = argv::parse(&PROBE, args)?;
        if arguments.flag("help") {
            let help: Value = serde_json::from_str(&PROBE.to_json().unwrap_or_default()).unwrap_or_default();
            return Ok(Some(json!({"ok": true, "help": PROBE.summary, "description": help})));
        }
        let command = arguments.complete(&PROBE)?;
        let observed = endings::observe(command.name, &arguments)
            .or_else(|| resources::observe(command.name, &arguments))
            .or_else(|| files::observe(command.name, &arguments))
            .or_else(|| outside::observe(command.name, &arguments))
            .or_else(|| given::observe(command.name, &arguments));
        match observed {
            Some(observation) => Ok(observation?.map(|observed| document(command.name, observed))),
            None => Err(Failure::new(UNKNOWN_COMMAND, format!("{} has no behaviour", command.name)).into()),
        }
    }

    /// The observation with `ok` and `command`; what is not an object is printed as it is.
    fn document(command: &str, mut observed: Value) -> Value {
        if let Value::Object(object) = &mut observed {
            object.insert("ok".to_owned(), json!(true));
            object.insert("command".to_owned(), json!(command));
        }
        observed
    }

    /// Prints one document. A stdout that cannot be written has nobody to tell.
    pub(crate) fn print(document: &Value) {
        let mut stdout = io::stdout().lock();
        let _ = writeln!(stdout, "{document}").and_then(|()| stdout.flush());
    }

    /// Ends with any status.
    pub(crate) fn end(status: u8) -> ExitCode {
        if status > 1 {
            hutch_guest::component::exit(status);
        }
        ExitCode::from(status)
    }

    /// The error's name in WASI, as far as it can be told from its number in wasi-libc.
    pub(crate) fn errno(error: &io::Error) -> String {
        let name = match error.raw_os_error() {
            Some(2) => "acces",
            Some(6) => "again",
            Some(8) => "badf",
            Some(10) => "busy",
            Some(19) => "dquot",
            Some(20) => "exist",
            Some(22) => "fbig",
            Some(25) => "ilseq",
            Some(28) => "inval",
            Some(29) => "io",
            Some(31) => "isdir",
            Some(32) => "loop",
            Some(33) => "mfile",
            Some(34) => "mlink",
            Some(37) => "nametoolong",
            Some(41) => "nfile",
            Some(44) => "noent",
            Some(48) => "nomem",
            Some(51) => "nospc",
            Some(52) => "nosys",
            Some(54) => "notdir",
            Some(55) => "notempty",
            Some(58) => "notsup",
            Some(61) => "overflow",
            Some(63) => "perm",
            Some(64) => "pipe",
            Some(69) => "rofs",
            Some(70) => "spipe",
            Some(74) => "txtbsy",
            Some(75) => "xdev",
            Some(76) => "notcapable",
            Some(other) => return other.to_string(),
            None => return format!("{:?}", error.kind()),
        };
        name.to_owned()
    }

    /// The number of an integer parameter that must not be negative, 0 if it was not given.
    pub(crate) fn size(arguments: &Arguments, name: &str) -> Result<u64, Trouble> {
        let given = arguments.integer(name).unwrap_or(0);
        u64::try_from(given)
            .map_err(|_| Failure::new(INVALID_VALUE, format!("{name} is {given}, expected 0 or more")).into())
    }

    /// The numbers of a repeated integer parameter.
    pub(crate) fn sizes(arguments: &Arguments, name: &str) -> Vec<u64> {
        let number = |value: &Argument| match value {
            Argument::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        arguments.all(name).iter().filter_map(number).collect()
    }

    /// The number of a `byte` parameter.
    pub(crate) fn status(arguments: &Arguments) -> Result<u8, Trouble> {
        let given = size(arguments, "status")?;
        u8::try_from(given).map_err(|_| {
            Failure::new(INVALID_VALUE, format!("status is {given}, expected a number from 0 to 255")).into()
        })
    }

    /// The text of a parameter that is required or has a default.
    pub(crate) fn text<'a>(arguments: &'a Arguments, name: &str) -> &'a str {
        arguments.text(name).unwrap_or_default()
    }

    /// FNV-1a, 64 bits, in hexadecimal: to compare long contents by; not a digest that resists anybody.
    pub(crate) fn fnv1a(bytes: &[u8]) -> String {
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    /// Lower-case hexadecimal.
    pub(crate) fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(target_family = "wasm")]
fn main() -> std::process::ExitCode {
    component::main()
}

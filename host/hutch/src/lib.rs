//! The library embedders use: open a package, run it, keep its state.
//!
//! A [`Package`](package::Package) is opened and a [`Call`] is made from what the operator says; [`Host::run`] checks the call
//! against what the package declares, runs the guest over the state of an instance, judges its end and keeps the state, or not, in
//! one transaction with the ledger's entry. Because a run is a pure function, the same parts give previews ([`Host::plan`],
//! [`Host::apply`]), history ([`Session::undo`], [`Session::restore`]) and exact re-execution ([`Host::replay`],
//! [`Host::verify`]).
//!
//! ```no_run
#![doc = include_str!("../examples/embed.rs")]
//! ```
//!
//! It prints nothing and reads no clock, no environment and no randomness: those are in the call.
//!
//! What follows is the page for builders, on all crates.
#![doc = include_str!("../../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod again;
mod answer;
#[cfg(feature = "machine")]
pub mod backup;
mod bundles;
mod call;
#[cfg(feature = "machine")]
mod carried;
#[cfg(feature = "machine")]
pub mod case;
mod describe;
#[cfg_attr(not(feature = "machine"), path = "nowhere/edits.rs")]
mod edits;
#[cfg_attr(not(feature = "machine"), path = "nowhere/enclosed.rs")]
mod enclosed;
mod entries;
mod execute;
mod expected;
mod exported;
mod failure;
pub mod find;
#[cfg_attr(not(feature = "machine"), path = "nowhere/grants.rs")]
mod grants;
mod history;
mod host;
#[cfg(feature = "machine")]
pub mod index;
#[cfg(feature = "machine")]
pub mod installed;
mod instance;
#[cfg(feature = "machine")]
pub mod instances;
mod map;
mod memo;
#[cfg_attr(not(feature = "machine"), path = "nowhere/mount.rs")]
mod mount;
mod output_schema;
pub mod package;
mod plan;
mod prepare;
pub mod proof;
mod remembered;
mod requests;
mod risk;
mod run;
mod session;
#[cfg(feature = "machine")]
mod settling;
mod shown;
mod state;
#[cfg_attr(not(feature = "machine"), path = "nowhere/taken_back.rs")]
mod taken_back;
mod turns;

pub use again::Verified;
pub use answer::{Answer, Edits, VolumeChange, WITHHELD_MAX};
pub use bundles::TakenIn;
pub use call::{Call, EnvironmentValue, Grants};
#[cfg(feature = "machine")]
pub use carried::Taken;
pub use describe::{Described, check_described};
#[cfg(feature = "machine")]
pub use edits::Withheld;
pub use entries::{EntryName, NotAnEntryName};
pub use expected::{argument_violations, asked, contract_of_call, usual_output, verdict_by_schema};
pub use exported::Exported;
pub use failure::Failure;
pub use history::{LeftFolder, Moved, REACH_MAX, Reach};
#[cfg(feature = "machine")]
pub use host::Enclose;
pub use host::{Host, Stores};
pub use hutch_model::document::DocumentSize;
pub use instance::Instance;
pub use map::{Job, Mapped};
pub use mount::Mount;
pub use prepare::Validated;
pub use remembered::{FINDINGS_MAX, MemoTally, Remembered};
pub use requests::Answered;
pub use risk::{Lost, Risk, RiskLevel};
pub use session::Session;
pub use shown::{SHOWN_BYTES_MAX, Shown};
pub use state::{Item, StatePath};

// What the functions here take and give, so that an embedder needs this crate alone.
pub use hutch_model::digest::Digest;
pub use hutch_model::error_code::ErrorCode;
pub use hutch_model::error_report::ErrorReport;
pub use hutch_model::instant::Instant;
pub use hutch_model::invocation::{Access, Seed};
pub use hutch_model::ledger::{Origin, Pin, Sealed, SecretKey};
pub use hutch_model::limits::{Limit, Limits};
pub use hutch_model::manifest::Guard;
pub use hutch_model::names::Slug;
pub use hutch_model::outcome::{Contract, Ending, Outcome, Verdict};
#[cfg(feature = "machine")]
pub use hutch_sandbox::{ArtifactCache, Compile, SealKey, Stop};
pub use hutch_sandbox::{Backend, Program, Sandbox};
pub use hutch_store::{InstanceName, MemoryStore, Store, StoreError};

pub use hutch_model::error_code::Kept;
pub use hutch_model::error_report::Fix;
pub use hutch_model::limits::{LimitInfo, Unit};
pub use hutch_model::outcome::{Measured, Unreproducible};
pub use hutch_model::trust::Level;
pub use hutch_store::{Skipped, StoreNameError};

/// What is said in `APP.md` and lies in a package's folders, and what may be wrong with it.
pub mod manifest {
    pub use hutch_model::asks::Asks;
    pub use hutch_model::command_line::{EntryCommand, EntryError};
    pub use hutch_model::diagnostic::{Code, Diagnostic, Position, Severity};
    pub use hutch_model::manifest::{Guard, Manifest, Scheduling};
    pub use hutch_model::names::{CommandPath, EnvironmentName, NameError, PackagePath, SkillName, Slug};
    pub use hutch_model::payload::Payload;
    pub use hutch_model::skill::Skill;
}

/// What a package's commands are, and what arguments break.
pub mod contract {
    pub use hutch_model::contract::{
        About, ArgumentViolation, Asked, Command, Constraints, Contract, ContractFile, Effect, Example, Failure,
        Parameter, ReadArguments, ValueType, ViolationKind,
    };
}

/// What reaches a guest, and why nothing did.
pub mod invocation {
    pub use hutch_model::guard::{GuardViolation, Rule};
    pub use hutch_model::invocation::{Access, Invocation, InvocationError, InvocationParts, Seed};
    /// What [`Enclose`](crate::Enclose) is told: what the process is, and what to leave within reach.
    #[cfg(feature = "machine")]
    pub use hutch_sandbox::ring::{
        Role,
        paths::{Left, May},
    };
    pub use hutch_sandbox::{DescribeError, Fault, Feature, LoadError, RunError};
    #[cfg(feature = "machine")]
    pub use hutch_sandbox::{Watch, Work};
}

/// What a [`Store`] of an embedder's is made of: all that its functions take and give, the rules that are the same for every store
/// ([`keeping`](storing::keeping)), and stores as bytes ([`bundle`](storing::bundle)). A host is given them by [`Host::with_stores`]; the
/// example `own_store` has one.
pub mod storing {
    pub use hutch_model::digest::{Digest, Kind};
    /// An entry of the ledger, as it is read.
    pub use hutch_model::ledger::Entry as LedgerEntry;
    pub use hutch_model::ledger::{
        Caller, ChainError, CollectRecord, Contradiction, EntryError, EntryKind, EnvironmentRecord, FolderRecord,
        InvocationRecord, Maker, MapRecord, MemoCounts, MemoRecord, MemoUse, MountRecord, NotCanonical, Origin,
        OutcomeRecord, Owner, PackageRecord, Pin, Record, Request, Sealed, SecretKey, Standing, StreamRecord,
        VolumeRecord, verify_chain,
    };
    pub use hutch_model::snapshot::{
        Change, Changes, Entry, Lack, Layered, MemoryObjects, Name, NameError, Node, ObjectError, Objects, Part, Parts,
        PathChange, Prefix, Route, Totals, Tree, TreeError, TreeObject, empty_tree, read_file, read_tree,
    };
    #[cfg(feature = "machine")]
    pub use hutch_store::plain::Exported;
    pub use hutch_store::{
        Collected, DAMAGES_MAX, Damage, EntryKey, Found, Head, InstanceName, MEMO_BYTES_MAX, Memo, MemoStats,
        MemoryStore, Retention, Skipped, State, Stats, Store, StoreError, StoreNameError, Transaction, VolumeName,
        bundle, keeping,
    };
    #[cfg(feature = "machine")]
    pub use hutch_store::{IfMissing, InstanceDir, InstanceLock, Opening, SqliteStore};
}

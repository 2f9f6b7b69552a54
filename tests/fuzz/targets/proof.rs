//! Proofs, as somebody else wrote them. What is read is written again as the same bytes, is about what is in it, and says of its call what its
//! entry says; one bit more or less makes it another statement, or none.
//!
//! Behind the letter `f` stands a file; behind any other what a statement says, which is put into a file whose subjects and ledger fit, as by
//! whoever knows the form.
#![no_main]

use hutch::proof::{Leaves, Proof, Sha256};
use hutch_fuzz::within;
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::canonical;
use hutch_model::statement::{Envelope, Statement, Subject};
use serde_json::{Value, json};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((letter, rest)) = bytes.split_first() else { return };
    let file = if *letter == b'f' { Some(rest.to_vec()) } else { fitting(rest) };
    let Some(file) = file else { return };
    within((4 << 20) + 600 * bytes.len(), || read(&file));
});

/// The file of what a statement says.
fn fitting(predicate: &[u8]) -> Option<Vec<u8>> {
    let mut said: Value = serde_json::from_slice(predicate).ok()?;
    let entry = said.get("entry")?.clone();
    let bytes = canonical(&entry).ok()?;
    let sequence = entry.get("sequence")?.as_u64().filter(|at| (1..100).contains(at))?;
    let mut leaves = Leaves::default();
    (1..sequence).for_each(|at| leaves.push(&at.to_le_bytes()));
    leaves.push(&bytes);
    said.as_object_mut()?.insert("ledger".to_owned(), json!(leaves.inclusion(sequence)?));
    let slug = entry.pointer("/package/slug")?.as_str()?;
    let name = format!("{slug}/{}", entry.get("instance")?.as_str()?);
    let about = vec![
        Subject::of(format!("{name}@{sequence}"), Sha256::of(&bytes)),
        Subject::of(format!("{name}@1-{sequence}"), leaves.head().root),
    ];
    let statement = serde_json::to_value(Statement::of(about, hutch::proof::PROOF_TYPE, said)).ok()?;
    let envelope = serde_json::to_value(Envelope::of(&canonical(&statement).ok()?, Vec::new())).ok()?;
    Some([canonical(&envelope).ok()?, b"\n".to_vec()].concat())
}

fn read(file: &[u8]) {
    let proof = match Proof::read(file) {
        Ok(proof) => proof,
        Err(failure) => {
            let code = failure.code();
            assert!([ErrorCode::VerifyFailed, ErrorCode::NotReproducible].contains(&code), "{code:?}: {failure}");
            return;
        }
    };
    assert!(proof.written().is_ok_and(|again| again == file), "it is written again as another file");
    let entry = proof.entry().open().unwrap_or_else(|error| panic!("its entry can't be read: {error}"));
    assert_eq!(&entry.record, proof.record());
    assert!((1..=proof.tree().size).contains(&entry.sequence));
    match &entry.record.invocation {
        Some(invocation) if invocation.inputs.is_none() => {
            assert_eq!(proof.argv(), invocation.argv);
            assert!(proof.environment().keys().all(|name| invocation.environment.contains_key(*name)));
        }
        Some(invocation) => assert!(invocation.argv.is_empty() && invocation.environment.is_empty()),
        None => assert!(proof.argv().is_empty()),
    }
    let at = file.len() * 7 / 11;
    for bit in 0..8 {
        let mut changed = file.to_vec();
        changed[at] ^= 1 << bit;
        if let Ok(other) = Proof::read(&changed) {
            assert!(other.written().is_ok_and(|again| again == changed), "bit {bit} of byte {at} means nothing");
        }
        assert!(Proof::read(&file[..at]).is_err(), "cut after {at}");
    }
}

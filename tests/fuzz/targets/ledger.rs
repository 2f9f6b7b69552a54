//! Entries of the ledger, as a bundle or a damaged store holds them: canonical form is one form, what is sealed opens to what it was,
//! leads to what it says, and is not the same with one bit of it flipped.
#![no_main]

use hutch_fuzz::within;
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{
    Chain, ENTRY_BYTES_MAX, Entry, EntryError, Inputs, Pin, Record, Sealed, Standing, canonical, origin, verify_chain,
};
use serde_json::Value;

/// Bytes of a record whose entry has no more than an entry may have: a character takes six at most as it is written.
const RECORD_BYTES: usize = ENTRY_BYTES_MAX / 16;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    within((1 << 20) + 600 * bytes.len(), || read(bytes));
});

fn read(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    if let Ok(written) = canonical(&value) {
        assert_eq!(serde_json::from_slice::<Value>(&written).ok().as_ref(), Some(&value));
        assert_eq!(canonical(&value).as_ref(), Ok(&written));
    }
    if let Ok(inputs) = Inputs::read(bytes)
        && let Ok(written) = serde_json::to_vec(&inputs)
    {
        assert_eq!(Inputs::read(&written).ok(), Some(inputs));
    }
    // As an entry that somebody else wrote.
    let sequence = value.get("sequence").and_then(Value::as_u64).unwrap_or(1);
    let foreign = Sealed { sequence, hash: Digest::of(Kind::Entry, bytes), bytes: bytes.into() };
    if let Ok(entry) = foreign.open()
        && let Ok(sealed) = entry.seal()
    {
        assert_eq!(sealed.open(), Ok(entry), "an entry that is written again is another one");
    }
    // As what happened first.
    if let Ok(record) = serde_json::from_slice::<Record>(bytes) {
        first(record, bytes.len());
    }
}

fn first(record: Record, record_bytes: usize) {
    let start = Pin { sequence: 0, hash: origin() };
    let Ok((entry, leads_to)) = Entry::after(start, &Standing::default(), record) else { return };
    let sealed = match entry.seal() {
        Ok(sealed) => sealed,
        Err(error) => {
            assert!(record_bytes > RECORD_BYTES, "{error}");
            return;
        }
    };
    assert!(sealed.bytes.len() <= ENTRY_BYTES_MAX);
    assert_eq!(sealed.open().as_ref(), Ok(&entry));
    assert_eq!(sealed.leads_to(&leads_to), Ok(()));
    let mut chain = Chain::default();
    assert_eq!(chain.take(&sealed), Ok(()));
    assert_eq!(chain.head(), sealed.pin());
    assert_eq!(chain.take(&sealed).err().map(|error| error.sequence()), Some(1), "an entry is taken twice");
    let whole: [Result<Sealed, hutch_model::ledger::ChainError>; 1] = [Ok(sealed.clone())];
    assert_eq!(verify_chain(whole, &[sealed.pin()]), Ok(sealed.pin()));

    let mut flipped = sealed.bytes.to_vec();
    let at = record_bytes % flipped.len();
    if let Some(byte) = flipped.get_mut(at) {
        *byte ^= 1 << (record_bytes % 8);
    }
    let altered = Sealed { bytes: flipped.into(), ..sealed };
    assert_eq!(altered.open(), Err(EntryError::Altered { sequence: 1 }));
}

//! A store as a log that whoever keeps it appends to, and of which it is made again: bundles, one after the other, that say besides who may use
//! the instance and which entries were [taken](Store::take). No entry says that, so a log is its keeper's alone: what goes to others is a
//! [bundle](crate::bundle), and in one that comes from others nobody looks at it. Pure.

use crate::bundle::{Bundle, Parts, TakenIn};
use crate::error::StoreError;
use crate::memory::MemoryStore;
use crate::store::Store;

/// What was added behind place `after`; nothing if nothing was.
///
/// # Errors
/// As for [`bundle::export`](crate::bundle::export).
pub fn export(store: &dyn Store, after: u64) -> Result<Vec<u8>, StoreError> {
    let head = store.head()?;
    // What is made here follows from its entry, once it is said what is not.
    let admitted = head.admitted.filter(|admitted| admitted.has_taken_behind(after));
    let whole = Parts::of(store, after, head.last.sequence, usize::MAX).admitting(admitted).next();
    Ok(whole.transpose()?.map(|part| part.bytes).unwrap_or_default())
}

/// Makes a store that has no entries what its log says. A last part that ends too soon is left, and the answer shows it.
///
/// # Errors
/// As for [`bundle::take_in`](crate::bundle::take_in).
pub fn take_in(store: &MemoryStore, log: &[u8]) -> Result<TakenIn, StoreError> {
    let log = Bundle::read(log)?;
    let entries = log.take_log_into(store, |admitted| store.admit(admitted))?;
    Ok(TakenIn { entries, whole_bytes: log.whole_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle;
    use crate::common::{no_objects, put, record};
    use hutch_model::digest::{Digest, Kind};
    use hutch_model::ledger::{EntryKind, Origin, Owner, Record, SecretKey};
    use std::sync::Arc;

    fn memory() -> MemoryStore {
        MemoryStore::new(SecretKey::new([7; 32]))
    }

    fn owner(origin: Origin) -> Owner {
        Owner { package: Digest::of(Kind::Package, origin.as_str().as_bytes()), origin }
    }

    fn run_by(origin: Origin) -> Record {
        Record { owner: Some(owner(origin)), ..record(EntryKind::Run, 1) }
    }

    #[test]
    fn what_was_taken_is_known_again_from_a_log_and_from_no_bundle() {
        let (made, store) = (memory(), memory());
        put(&made, &[("a", "1")]);
        made.commit(&run_by(Origin::path("/theirs")), &no_objects(), &[]).unwrap();
        let (mut log, mut kept, mut saying) = (Vec::new(), 0, Vec::new());
        let mut keep = || {
            let added = export(&store, kept).unwrap();
            kept = store.head().unwrap().last.sequence;
            saying.push(added.windows(8).any(|bytes| bytes == b"\"taken\":"));
            log.extend(added);
            let again = memory();
            let taken = take_in(&again, &log).unwrap();
            assert_eq!((taken.entries, taken.whole_bytes), (kept, log.len() as u64));
            assert_eq!(again.head().unwrap(), store.head().unwrap());
        };

        store.take(&made.entries(1, 9).unwrap(), &made, &owner(Origin::installed())).unwrap();
        keep();
        store.commit(&run_by(Origin::path("/here")), &no_objects(), &[]).unwrap();
        keep();
        // Somebody goes on with that, and it is gone on with here.
        let more = MemoryStore::over(Arc::new(store.clone()));
        put(&more, &[("a", "2")]);
        store.take(&more.entries(4, 9).unwrap(), &more, &owner(Origin::installed())).unwrap();
        store.commit(&run_by(Origin::path("/there")), &no_objects(), &[]).unwrap();
        keep();
        // What is made here needs no word.
        assert_eq!(saying, [true, false, true]);
        let head = store.head().unwrap();
        assert_eq!((1..9).filter(|sequence| head.is_own(*sequence)).collect::<Vec<u64>>(), [3, 5]);
        assert_eq!(head.admitted().len(), 3);
        assert!(export(&store, 5).unwrap().is_empty());

        let given = bundle::export(&store, 0).unwrap();
        assert!(!given.windows(8).any(|bytes| bytes == b"\"taken\":"));
        for from_others in [&given, &log] {
            let other = memory();
            bundle::take_in(&other, from_others).unwrap();
            assert_eq!((other.head().unwrap().last, other.head().unwrap().admitted), (head.last, None));
        }
    }

    #[test]
    fn a_log_that_says_something_else_of_it_than_was_written_is_damaged() {
        let (made, store) = (memory(), memory());
        put(&made, &[("a", "1")]);
        store.take(&made.entries(1, 9).unwrap(), &made, &owner(Origin::installed())).unwrap();
        let log = export(&store, 0).unwrap();
        let (begins, ends) = (b"hutch-bundle-1\n".len() + 8, log.len() - 32);
        let mut content = log[begins..ends].to_vec();
        let said = content.windows(15).position(|bytes| bytes == b"\"taken\":{\"1\":1}").unwrap();
        content[said + 13] = b'2';
        let digest = Digest::of(Kind::Artifact, &content);
        let forged = [&log[..begins], &content, digest.as_bytes()].concat();
        let error = take_in(&memory(), &forged).unwrap_err();
        assert!(error.to_string().contains("who is admitted does not match its digest"), "{error}");
    }
}

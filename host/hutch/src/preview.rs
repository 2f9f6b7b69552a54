//! What a session that keeps nothing would have kept by now: entries, the state that they lead to, and its content, all in memory.

use hutch_model::ledger::{Entry, Record, Sealed};
use hutch_model::snapshot::Objects;
use hutch_store::{Head, StoreError};
use std::sync::Arc;

/// On top of a store.
#[derive(Default)]
pub(crate) struct Preview {
    entries: Vec<Sealed>,
    /// Where they lead; none before the first.
    head: Option<Head>,
    /// What they added, the newest first.
    pub(crate) layers: Vec<Arc<dyn Objects>>,
}

impl Preview {
    /// The head as it would be over this one.
    pub(crate) fn head(&self, below: Head) -> Head {
        self.head.clone().unwrap_or(below)
    }

    /// The entries from a place on.
    pub(crate) fn entries(&self, from: u64) -> impl Iterator<Item = &Sealed> {
        self.entries.iter().filter(move |entry| entry.sequence >= from)
    }

    /// Appends a record. What it leads to can be read if `content` holds it.
    pub(crate) fn append(
        &mut self,
        below: Head,
        record: &Record,
        content: Option<Arc<dyn Objects>>,
    ) -> Result<Sealed, StoreError> {
        let mut head = self.head(below);
        let entry = Entry { sequence: head.last.sequence + 1, previous: head.last.hash, record: record.clone() };
        let sealed = entry.seal()?;
        head.last = sealed.pin();
        if let Some(content) = content {
            for (name, volume) in record.volumes.iter().filter(|_| record.kept) {
                if let Ok(name) = name.parse() {
                    head.state.insert(name, volume.after);
                }
            }
            self.layers.insert(0, content);
            self.entries.push(sealed.clone());
            self.head = Some(head);
        }
        Ok(sealed)
    }
}

//! Durable volumes and ledger behind one small trait.

//! The virtual computer a guest sees: files, clock, randomness, streams, quotas.

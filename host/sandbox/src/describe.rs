//! What a component says of itself: its `hutch:app/contract` export, called in the sandbox.

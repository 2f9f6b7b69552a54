//! The few things that are ever done to real folders. Every name is one component below an open folder, no link is followed and
//! nothing is waited for: what lies outside can't be reached, whatever stands in a folder. Nothing that somebody else may have
//! written is destroyed: it is moved aside, looked at, and only then dropped or put back.
//!
//! [`look`], [`list`] and the `open` functions read; [`Hands`] is the only thing here that changes folders. Knows no snapshot, no
//! store and no package; paths become authority elsewhere.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod hands;
mod links;
mod read;
mod stamp;
mod walk;

pub use hands::{Gone, Hands, Step, private_folders};
pub use links::stays_inside;
#[cfg(unix)]
pub use read::effective_user;
pub use read::{
    Listing, check_may_write, check_own, check_own_at, link_target, list, list_at_most, listed_rights, look, open_file,
    open_folder,
};
pub use stamp::{Form, Stamp, now_ns};
pub use walk::Handles;

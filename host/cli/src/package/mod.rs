//! Finds, trusts, fetches and admits packages.

pub(crate) mod admission;
pub(crate) mod carried;
pub(crate) mod earlier;
pub(crate) mod launcher;
pub(crate) mod network;
pub(crate) mod packages;
pub(crate) mod released;
pub(crate) mod shared;
pub(crate) mod signed;
pub(crate) mod taken;
pub(crate) mod trust;

//! What people see: text, tables, colours, pages.

pub(crate) mod human;
pub(crate) mod pager;
pub(crate) mod table;
pub(crate) mod told;
pub(crate) mod tone;

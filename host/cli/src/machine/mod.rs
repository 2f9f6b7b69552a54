//! What comes from around the program: files, clocks, processes, rings, stores. They know no package.

pub(crate) mod advisories;
pub(crate) mod bucket;
pub(crate) mod collector;
pub(crate) mod health;
pub(crate) mod input;
pub(crate) mod memory;
pub(crate) mod needs;
pub(crate) mod new_file;
pub(crate) mod place;
pub(crate) mod progress;
pub(crate) mod reach;
pub(crate) mod ring;
pub(crate) mod stores;
pub(crate) mod surroundings;
pub(crate) mod watch;

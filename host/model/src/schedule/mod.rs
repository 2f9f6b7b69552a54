//! Commands that others call at times: which of them `APP.md` documents, when they are due, and the texts that cron and systemd take.
//! Hosts call nothing by themselves: the seed `agent-applications-v1`, "Scheduling", leaves to others what invokes these commands.

mod documented;
mod exported;
mod times;

pub(crate) use documented::in_body;
pub use documented::{Documented, documented};
pub use exported::{CRON_COMMAND_BYTES_MAX, Cron, NotExported, Scheduled, Systemd};
pub use times::{NotTimes, Times};

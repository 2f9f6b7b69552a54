//! The to-do program, as a component or natively.

use guest_todo::TODO;

hutch_guest::main!(TODO);

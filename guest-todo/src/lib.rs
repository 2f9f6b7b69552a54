//! The to-do application on `hutch-guest`: what an item is, and one struct for each command. Arguments, help, answers, batches and
//! the contract follow from these types; nothing here reads a clock, touches a file or prints.

pub mod changing;
pub mod item;
pub mod showing;

use changing::{Add, Complete, ReminderClear, ReminderSet, Remove, Reopen, Update};
use item::TodoList;
use showing::{Due, Get, List, ReminderList};

hutch_guest::application! {
    /// Keeps a to-do list with due dates and reminders
    pub static TODO: TodoList = "todo";
    commands: [Add, List, Get, Update, Complete, Reopen, Remove, ReminderSet, ReminderClear, ReminderList, Due],
    package: "../../packages/todo",
    skills: ["todo-usage"],
}

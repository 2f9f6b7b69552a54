//! The commands that show the list and leave it as it is.

use hutch_guest::calendar::{Due as When, Instant};
use hutch_guest::table::NOT_FOUND;
use hutch_guest::{Call, Choice, Command, Failure, One, Page, Reads, Row};

use crate::item::{Id, Item, ItemRow, Kind, Moment, MomentRow, Status, TodoList};

/// Which items to show.
#[derive(Clone, Copy, Choice)]
pub enum Shown {
    /// Those that are still to be done.
    Open,
    /// Those that are done.
    Completed,
    /// Both.
    All,
}

/// Shows items in the order they were added, a page at a time: total counts all that match, hasMore tells whether some follow this
/// page.
#[derive(Command)]
#[example("show every item", [])]
#[example("show what is still open and due before May", ["--status", "open", "--due-before", "2026-05-01"])]
#[example("show only ids and titles, ten at a time", ["--limit", "10", "--offset", "0", "--fields", "id,title"])]
#[example("a limit is a number", ["--limit", "ten"], 2)]
pub struct List {
    /// which items to show
    #[arg(default = "all")]
    status: Shown,
    /// only items that are due before it; a date, here and in an item, stands for its first moment in UTC
    due_before: Option<When>,
}

impl Reads for List {
    type State = TodoList;
    type Answer = Page<ItemRow>;

    fn run(self, list: &TodoList, call: &Call) -> Result<Page<ItemRow>, Failure> {
        let wanted = |item: &&Item| {
            let status = match self.status {
                Shown::Open => item.status() == Status::Open,
                Shown::Completed => item.status() == Status::Completed,
                Shown::All => true,
            };
            let due = |before: When| item.due_at.is_some_and(|due| due.start() < before.start());
            status && self.due_before.is_none_or(due)
        };
        let found: Vec<&Item> = list.items().iter().filter(wanted).collect();
        Ok(call.page(&found, |item| item.row()))
    }
}

/// Shows one item.
#[derive(Command)]
#[command(errors(NOT_FOUND))]
#[example("show an item", ["td_0001"])]
#[example("an id that was never given", ["td_9999"], 20)]
pub struct Get {
    /// id of the item, such as td_0001
    #[arg(positional)]
    id: Id,
}

impl Reads for Get {
    type State = TodoList;
    type Answer = One<ItemRow>;

    fn run(self, list: &TodoList, _: &Call) -> Result<One<ItemRow>, Failure> {
        list.get(self.id).map(|item| One(item.row()))
    }
}

fn reminders(item: &Item) -> impl Iterator<Item = Moment<'_>> {
    item.reminders.iter().map(move |at| Moment { kind: Kind::Reminder, at: *at, item })
}

/// Shows reminders, of one item or of all, the earliest first. Those of completed items sleep until the item is reopened; status
/// tells.
#[derive(Command)]
#[command(errors(NOT_FOUND))]
#[example("show every reminder", [])]
#[example("show those of one item", ["td_0002"])]
pub struct ReminderList {
    /// id of the item, such as td_0001
    #[arg(positional)]
    id: Option<Id>,
}

impl Reads for ReminderList {
    type State = TodoList;
    type Answer = Page<MomentRow>;

    fn run(self, list: &TodoList, call: &Call) -> Result<Page<MomentRow>, Failure> {
        let items = match self.id {
            Some(id) => std::slice::from_ref(list.get(id)?),
            None => list.items(),
        };
        let mut moments: Vec<Moment<'_>> = items.iter().flat_map(reminders).collect();
        moments.sort_unstable_by_key(Moment::order);
        Ok(call.page(&moments, Moment::row))
    }
}

/// Shows what a scheduler should act on: reminders and due dates of open items before an instant, the earliest first. next is the
/// earliest moment that is not yet among them, or null: call again after it.
#[derive(Command)]
#[example("what to act on before noon", ["--before", "2026-04-05T12:00:00Z"])]
#[example("what to act on now", [])]
pub struct Due {
    /// the instant; the current time when it is not given
    before: Option<Instant>,
}

/// What `due` says about all that it shows.
#[derive(Row)]
pub struct Until {
    before: Instant,
    next: Option<Instant>,
}

impl Reads for Due {
    type State = TodoList;
    type Answer = Page<MomentRow, Until>;

    fn run(self, list: &TodoList, call: &Call) -> Result<Page<MomentRow, Until>, Failure> {
        let before = self.before.unwrap_or(call.now);
        let open = list.items().iter().filter(|item| item.status() == Status::Open);
        let all = open.flat_map(|item| {
            reminders(item).chain(item.due_at.map(|due| Moment { kind: Kind::Due, at: due.start(), item }))
        });
        let (mut moments, later): (Vec<Moment<'_>>, Vec<Moment<'_>>) = all.partition(|moment| moment.at < before);
        moments.sort_unstable_by_key(Moment::order);
        let next = later.iter().map(|moment| moment.at).min();
        Ok(call.page(&moments, Moment::row).with(Until { before, next }))
    }
}

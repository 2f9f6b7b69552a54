//! What each request does to the list, and what many do to it. No files, no clock of its own.

use crate::answer::{Answer, Row, item_row, moment_row};
use crate::calendar::Instant;
use crate::failure::Failure;
use crate::item::{Id, Item, REMINDERS_MAX, Status};
use crate::request::{Page, Request};
use crate::state::{LIMIT_REACHED, TodoList};

/// Does what is asked, at the moment `now`. The list is another one afterwards only if the answer says `changed: true`.
///
/// # Errors
/// `NOT_FOUND` or `LIMIT_REACHED`; the list is as it was then.
pub fn perform(request: Request, list: &mut TodoList, now: Instant) -> Result<Answer, Failure> {
    match request {
        Request::Add { title, details, due } => {
            let added = list.add(|id| Item {
                id,
                title,
                description: details,
                due_at: due,
                created_at: now,
                updated_at: now,
                completed_at: None,
                reminders: std::collections::BTreeSet::new(),
            })?;
            Ok(changed("add", added))
        }
        Request::List { status, due_before, page } => {
            let wanted = |item: &&Item| {
                status.is_none_or(|status| item.status() == status)
                    && due_before.is_none_or(|before| item.due_at.is_some_and(|due| due.start() < before.start()))
            };
            let found: Vec<&Item> = list.items().iter().filter(wanted).collect();
            Ok(paged("list", page, &found, |item| item_row(item)))
        }
        Request::Get(id) => Ok(Answer { changed: None, ..changed("get", list.get(id)?) }),
        Request::Update { id, title, details, due } => change("update", list, id, now, |item| {
            item.title = title.unwrap_or_else(|| item.title.clone());
            item.description = details.unwrap_or_else(|| item.description.clone());
            item.due_at = due.unwrap_or(item.due_at);
            Ok("has these values already")
        }),
        Request::Complete(id) => change("complete", list, id, now, |item| {
            item.completed_at = item.completed_at.or(Some(now));
            Ok("is completed already")
        }),
        Request::Reopen(id) => change("reopen", list, id, now, |item| {
            item.completed_at = None;
            Ok("is open already")
        }),
        Request::Remove(id) => Ok(changed("remove", &list.remove(id)?)),
        Request::SetReminders { id, at } => change("reminder set", list, id, now, |item| {
            item.reminders.extend(at);
            if item.reminders.len() > REMINDERS_MAX {
                let message =
                    format!("{id} would have {} reminders, at most {REMINDERS_MAX} fit", item.reminders.len());
                return Err(Failure::new(LIMIT_REACHED, message));
            }
            Ok("has these reminders already")
        }),
        Request::ClearReminders { id, at } => change("reminder clear", list, id, now, |item| {
            item.reminders.retain(|reminder| !at.is_empty() && !at.contains(reminder));
            Ok("has no such reminders")
        }),
        Request::ListReminders { id, page } => {
            let items = match id {
                Some(id) => std::slice::from_ref(list.get(id)?),
                None => list.items(),
            };
            let mut moments: Vec<Moment<'_>> = items.iter().flat_map(reminders).collect();
            moments.sort_unstable_by_key(order);
            Ok(paged("reminder list", page, &moments, moment))
        }
        Request::Due { before, page } => {
            let before = before.unwrap_or(now);
            let open = list.items().iter().filter(|item| item.status() == Status::Open);
            let all = open.flat_map(|item| {
                reminders(item).chain(item.due_at.map(|due| Moment { kind: "due", at: due.start(), item }))
            });
            let (mut moments, later): (Vec<Moment<'_>>, Vec<Moment<'_>>) = all.partition(|moment| moment.at < before);
            moments.sort_unstable_by_key(order);
            let next = later.iter().map(|moment| moment.at).min();
            Ok(Answer { until: Some((before, next)), ..paged("due", page, &moments, moment) })
        }
    }
}

/// Does what each of many requests of one command asks, in their order. What is shown is each item as its request left it.
///
/// # Errors
/// As of `perform`, with the place of the first request that fails. What those before it did is in the list then: it must
/// not be kept.
pub fn perform_all(
    command: &'static str,
    requests: Vec<Request>,
    list: &mut TodoList,
    now: Instant,
) -> Result<Answer, Failure> {
    let total = requests.len();
    let (mut rows, mut changes) = (Vec::new(), 0);
    for (index, request) in requests.into_iter().enumerate() {
        let answer = perform(request, list, now).map_err(|failure| failure.of_entry(index))?;
        changes += usize::from(answer.changed == Some(true));
        rows.extend(answer.rows);
    }
    let note = (changes < total).then(|| format!("{} of {total} entries changed nothing", total - changes));
    Ok(Answer { command, changed: Some(changes > 0), dry_run: false, until: None, page: None, rows, note })
}

/// A moment at which something about an item is to be done.
struct Moment<'a> {
    kind: &'static str,
    at: Instant,
    item: &'a Item,
}

fn reminders(item: &Item) -> impl Iterator<Item = Moment<'_>> {
    item.reminders.iter().map(move |at| Moment { kind: "reminder", at: *at, item })
}

/// By time; at the same time by item, what is due before the reminder of it. No two moments of a list are equal in this.
fn order(moment: &Moment<'_>) -> (Instant, Id, &'static str) {
    (moment.at, moment.item.id, moment.kind)
}

fn moment(moment: &Moment<'_>) -> Row {
    moment_row(moment.kind, moment.at, moment.item)
}

/// Changes one item by `edit`, all or nothing. `edit` returns what to note if the item turns out to be as it was.
fn change(
    command: &'static str,
    list: &mut TodoList,
    id: Id,
    now: Instant,
    edit: impl FnOnce(&mut Item) -> Result<&'static str, Failure>,
) -> Result<Answer, Failure> {
    let item = list.get_mut(id)?;
    let mut edited = item.clone();
    let unchanged = edit(&mut edited)?;
    if edited == *item {
        let note = Some(format!("{id} {unchanged}: nothing changed"));
        return Ok(Answer { changed: Some(false), note, ..changed(command, item) });
    }
    edited.updated_at = now;
    *item = edited;
    Ok(changed(command, item))
}

fn changed(command: &'static str, item: &Item) -> Answer {
    Answer {
        command,
        changed: Some(true),
        dry_run: false,
        until: None,
        page: None,
        rows: vec![item_row(item)],
        note: None,
    }
}

fn paged<T>(command: &'static str, page: Page, found: &[T], row: impl Fn(&T) -> Row) -> Answer {
    let rows = found.iter().skip(page.offset).take(page.limit).map(row).collect();
    Answer { command, changed: None, dry_run: false, until: None, page: Some((found.len(), page)), rows, note: None }
}

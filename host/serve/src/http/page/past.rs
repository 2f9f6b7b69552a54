//! Pages about what was done: the entries, the last first, and each with what it changed and its *Undo*, where that takes something back.

use super::Shown;
use super::shape::{document, done_in_words, failure, page, text, time, wide};
use super::views::View;
use crate::ask::Tell;
use crate::http::access::Refused;
use crate::http::request;
use crate::who::Scope;
use hutch::EntryName;
use maud::{Markup, html};
use serde_json::Value;
use std::cmp::Reverse;

/// Entries on one page.
const ENTRIES: u32 = 50;

impl View<'_> {
    /// What changed something, whatever was only read since; on the first page with the last of all else, folded.
    pub(super) async fn history(&self, query: Option<&str>) -> Result<Shown, Refused> {
        let (_, offset) = request::page(query)?;
        let (changed, _) = self.ask(Tell::Changes { limit: ENTRIES, offset }).await?;
        let (last, _) = self.ask(Tell::Ledger { limit: ENTRIES, offset: 0 }).await?;
        let standing = self.standing().await?;
        let mut changes: Vec<&Value> = items(&changed).collect();
        let (mut others, head) = (Vec::new(), items(&last).next().filter(|_| offset == 0));
        for item in items(&last).filter(|_| offset == 0) {
            match changes.iter().any(|known| known["sequence"] == item["sequence"]) {
                true => {}
                // In granted folders alone.
                false if changed_state(item) => changes.push(item),
                false => others.push(item),
            }
        }
        changes.sort_by_key(|item| Reverse(item["sequence"].as_u64()));
        let next = offset.saturating_add(ENTRIES);
        Ok(Shown::Page(page(
            &format!("History of {}", self.slug),
            &html! {
                p { (last["result"]["total"].as_u64().unwrap_or_default()) " entries; what changed something, the last first." }
                @if let Some(head) = head { (head_to_pin(head)) }
                @if changes.is_empty() { p { "None of these changed anything." } } @else { (self.rows(&changes, &standing)) }
                @if changed["result"]["has_more"] == true { p { a href={ "/packages/" (self.slug) "/history?offset=" (next) } { "Earlier changes" } } }
                @if !others.is_empty() {
                    details { summary { (others.len()) " more of the last: reads, previews and what came to nothing" } (self.rows(&others, &standing)) }
                }
                p { a href={ "/packages/" (self.slug) "/entries" } { "All entries" } }
                (self.links())
            },
        )))
    }

    /// All entries, whatever they came to.
    pub(super) async fn entries(&self, query: Option<&str>) -> Result<Shown, Refused> {
        let (_, offset) = request::page(query)?;
        let (document, _) = self.ask(Tell::Ledger { limit: ENTRIES, offset }).await?;
        let standing = self.standing().await?;
        let items: Vec<&Value> = items(&document).collect();
        let next = offset.saturating_add(ENTRIES);
        Ok(Shown::Page(page(
            &format!("Entries of {}", self.slug),
            &html! {
                (self.rows(&items, &standing))
                @if document["result"]["has_more"] == true { p { a href={ "/packages/" (self.slug) "/entries?offset=" (next) } { "Earlier entries" } } }
                (self.links())
            },
        )))
    }

    /// The entries before which this person may go back, and something is taken back by it.
    async fn standing(&self) -> Result<Vec<u64>, Refused> {
        if !self.principal.may(Scope::Run) {
            return Ok(Vec::new());
        }
        let (document, _) = self.ask(Tell::Standing).await?;
        Ok(document["items"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect())
    }

    fn rows(&self, items: &[&Value], standing: &[u64]) -> Markup {
        wide(&html! {
            table.entries {
                thead { tr { th scope="col" { "Entry" } th scope="col" { "When (UTC)" } th scope="col" { "What" } th scope="col" { "Changes" } th scope="col" { "Take back" } } }
                tbody { @for item in items { (self.row(item, standing)) } }
            }
        })
    }

    fn row(&self, item: &Value, standing: &[u64]) -> Markup {
        let sequence = item["sequence"].as_u64().unwrap_or_default();
        let words: Vec<&str> = item["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (kind, changes) = (item["kind"].as_str().unwrap_or_default(), item["changes"].as_u64().unwrap_or_default());
        html! {
            tr {
                td { a href={ "/packages/" (self.slug) "/entries/" (sequence) } { (sequence) } }
                td { (time(&item["at"])) }
                td { (done_in_words(kind, &words.join(" "))) @if let Some(code) = item["error"].as_str() { " " strong { (code) } } @if item["from_elsewhere"] == true { " (from elsewhere)" } }
                td.count { (changes) @if item["kept"] != true && changes > 0 { " (not kept)" } }
                td { @if standing.contains(&sequence) { (self.undo_button(sequence)) } }
            }
        }
    }

    fn undo_button(&self, sequence: u64) -> Markup {
        html! {
            form method="post" action={ "/packages/" (self.slug) "/entries/" (sequence) "/undo" } {
                button type="submit" aria-label={ "Undo entry " (sequence) " and all that was done after it" } { "Undo" }
            }
        }
    }

    pub(super) async fn entry(&self, name: &str, verify: bool) -> Result<Shown, Refused> {
        let (result, _, drawn) = self.ask_drawn(Tell::Entry(request::entry_name(name)?)).await?;
        let (sequence, record) = (result["sequence"].as_u64().unwrap_or_default(), &result["record"]);
        let verified = match verify {
            true => Some(self.ask(Tell::Verify(Some(EntryName::Sequence(sequence)))).await),
            false => None,
        };
        let standing = self.standing().await?;
        let fact = |name: &str, value: &Value| {
            html! { tr { th scope="row" { (name) } td { (text(value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str())) } } }
        };
        let caller = &record["caller"]["name"];
        let argv = record["invocation"]["argv"].as_array();
        let call = argv.into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
        Ok(Shown::Page(page(
            &format!("Entry {sequence} of {}", self.slug),
            &html! {
                @match verified {
                    Some(Ok(_)) => p.notice role="status" { strong { "Verified: " } "it was run again, and came to the same, byte for byte." },
                    Some(Err(refused)) => (failure(&refused.1)),
                    None => {}
                }
                @if record["kept"] == true && is_change(record) {
                    p { strong { "Done. " } (done_in_words(record["kind"].as_str().unwrap_or_default(), &call)) }
                    @if standing.contains(&sequence) {
                        (self.undo_button(sequence))
                        p.faint { "Undo takes back what it changed, with all that was done after it." }
                    } @else if self.principal.may(Scope::Run) {
                        p.faint { "It was taken back already, or too much was done since." }
                    }
                }
                @if !record["outcome"].is_null() { h2 { "Answer" } (drawn) }
                h2 { "Changes" }
                (changed(&record["volumes"]))
                p { a href={ "/packages/" (self.slug) "/files?at=" (sequence) } { "Files as this entry left them" } }
                h2 { "Record" }
                table { tbody {
                    (fact("Kind", &record["kind"]))
                    tr { th scope="row" { "When" } td { (time(&record["at"])) } }
                    @if !caller.is_null() { (fact("Asked for by", caller)) }
                    @if !record["error"].is_null() { (fact("Error", &record["error"])) }
                    @if result["from_elsewhere"] == true { (fact("Made", &"elsewhere: an instance file brought it".into())) }
                    (fact("Kept", &record["kept"]))
                    @if !record["outcome"].is_null() { (fact("Fuel", &record["outcome"]["fuel"])) }
                    (fact("Hash", &result["hash"]))
                } }
                @if argv.is_some() {
                    h2 { "Call" }
                    (document(&call.into()))
                    form method="post" action={ "/packages/" (self.slug) "/entries/" (sequence) "/verify" } { button type="submit" { "Verify" } }
                }
                (self.links())
            },
        )))
    }
}

/// The entries of a list.
fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["result"]["items"].as_array().into_iter().flatten()
}

/// Whether an entry of the list changed something.
fn changed_state(item: &Value) -> bool {
    item["kept"] == true && item["changes"].as_u64().is_some_and(|changes| changes > 0)
}

/// Whether an entry changed the state, and something was there before it.
fn is_change(record: &Value) -> bool {
    let mut volumes = record["volumes"].as_object().into_iter().flatten();
    record["kind"] != "create" && volumes.any(|(_, volume)| volume["before"] != volume["after"])
}

/// The last entry as it is written down elsewhere.
fn head_to_pin(item: &Value) -> Markup {
    let (sequence, hash) = (item["sequence"].as_u64().unwrap_or_default(), item["hash"].as_str().unwrap_or_default());
    html! {
        p { "Written down elsewhere, this line shows later whether any of these entries was changed or taken away (" code { "hutch verify --chain --head" } "):" }
        pre tabindex="0" { (sequence) ":" (hash) }
    }
}

/// Paths that an entry says were changed.
fn changed(volumes: &Value) -> Markup {
    let mut lines = Vec::new();
    for (volume, record) in volumes.as_object().into_iter().flatten() {
        for one in record["changes"].as_array().into_iter().flatten() {
            let (what, path) = (one["change"].as_str().unwrap_or_default(), one["path"].as_str().unwrap_or_default());
            lines.push(format!("{what} {volume}/{path}"));
        }
        let omitted = record["changes_omitted"].as_u64().unwrap_or_default();
        if omitted > 0 {
            lines.push(format!("{omitted} more in {volume}"));
        }
    }
    html! { @if lines.is_empty() { p { "None." } } @else { ul { @for line in &lines { li { code { (text(line)) } } } } } }
}

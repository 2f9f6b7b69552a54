//! Pages about files: what the state holds now, or held when an entry had left it.

use super::Shown;
use super::shape::{page, text, time, wide};
use super::views::View;
use crate::ask::Tell;
use crate::http::access::Refused;
use crate::http::request::{Query, unfit};
use data_encoding::BASE64;
use form_urlencoded::Serializer;
use hutch::EntryName;
use maud::{Markup, html};
use serde_json::Value;

/// Files on one page.
const FILES: u32 = 200;

/// Which file or folder is looked at, and when.
struct Place {
    /// As it stands in the address.
    entry: Option<String>,
    at: Option<EntryName>,
    path: Option<String>,
    offset: u32,
}

impl Place {
    fn of(query: Option<&str>) -> Result<Place, Refused> {
        let query = Query::of(query, &["at", "path", "offset"])?;
        let text = |name: &str| query.text(name).map(str::to_owned);
        Ok(Place { entry: text("at"), at: query.at()?, path: text("path"), offset: query.page()?.1 })
    }

    fn path(&self) -> Result<String, Refused> {
        self.path.clone().ok_or_else(|| unfit("expected the parameter path".to_owned()))
    }

    /// The parameters of another path at the same time.
    fn query(&self, path: Option<&str>, offset: u32) -> String {
        let mut query = Serializer::new(String::new());
        if let Some(entry) = &self.entry {
            query.append_pair("at", entry);
        }
        if let Some(path) = path {
            query.append_pair("path", path);
        }
        if offset > 0 {
            query.append_pair("offset", &offset.to_string());
        }
        query.finish()
    }

    fn when(&self) -> Markup {
        match &self.entry {
            Some(entry) => html! { p { "As entry " (text(entry)) " left it." } },
            None => html! { p { "As it is now." } },
        }
    }
}

impl View<'_> {
    /// What is in a folder.
    pub(super) async fn files(&self, query: Option<&str>) -> Result<Shown, Refused> {
        let place = Place::of(query)?;
        let (at, path, offset) = (place.at.clone(), place.path.clone(), place.offset);
        let (document, _) = self.ask(Tell::Files { at, path, limit: FILES, offset }).await?;
        let result = &document["result"];
        let items = result["items"].as_array().cloned().unwrap_or_default();
        let next = offset.saturating_add(FILES);
        Ok(Shown::Page(page(
            &match &place.path {
                Some(path) => format!("{path} of {}", self.slug),
                None => format!("Files of {}", self.slug),
            },
            &html! {
                (place.when())
                @if items.is_empty() { p { "It is empty." } } @else {
                    (wide(&html! { table {
                        thead { tr { th scope="col" { "Path" } th scope="col" { "Type" } th scope="col" { "Bytes" } th scope="col" { "Modified (UTC)" } } }
                        tbody { @for item in &items { (self.file_row(&place, item)) } }
                    } }))
                }
                @if result["has_more"] == true { p { a href={ "/packages/" (self.slug) "/files?" (place.query(place.path.as_deref(), next)) } { "More files" } } }
                @if let Some((above, _)) = place.path.as_deref().and_then(|path| path.rsplit_once('/')) {
                    p { a href={ "/packages/" (self.slug) "/files?" (place.query(Some(above), 0)) } { "The folder above" } }
                }
                (self.links())
            },
        )))
    }

    fn file_row(&self, place: &Place, item: &Value) -> Markup {
        let (path, kind) = (item["path"].as_str().unwrap_or_default(), item["type"].as_str().unwrap_or_default());
        let leads = match kind {
            "file" => Some("file"),
            "link" => None,
            _ => Some("files"),
        };
        let number = |name: &str| item[name].as_u64().map(|number| number.to_string()).unwrap_or_default();
        html! {
            tr {
                td {
                    @match leads {
                        Some(to) => a href={ "/packages/" (self.slug) "/" (to) "?" (place.query(Some(path), 0)) } { (text(path)) },
                        None => { (text(path)) " to " (text(item["target"].as_str().unwrap_or_default())) }
                    }
                }
                td { (text(kind)) }
                td { @if kind == "folder" { (number("bytes")) " in " (number("files")) " files" } @else { (number("size")) } }
                td { (time(&item["modified"])) }
            }
        }
    }

    /// A file, if it is a text.
    pub(super) async fn file(&self, query: Option<&str>) -> Result<Shown, Refused> {
        let place = Place::of(query)?;
        let (path, at) = (place.path()?, place.at.clone());
        let shown = |document: Value, _| {
            let result = &document["result"];
            let content = (result["encoding"] == "utf-8").then(|| text(result["content"].as_str().unwrap_or_default()));
            content.ok_or_else(|| result["size"].as_u64().unwrap_or_default())
        };
        let shown = self.ask_made(Tell::File { at, path: path.clone() }, shown).await?;
        Ok(Shown::Page(page(
            &format!("{path} of {}", self.slug),
            &html! {
                (place.when())
                @match shown {
                    Ok(shown) => pre tabindex="0" { (shown) },
                    Err(bytes) => p { (bytes) " bytes that are no text." },
                }
                p { a href={ "/packages/" (self.slug) "/raw?" (place.query(Some(&path), 0)) } { "Download" } }
                @if let Some((above, _)) = path.rsplit_once('/') {
                    p { a href={ "/packages/" (self.slug) "/files?" (place.query(Some(above), 0)) } { "The folder above" } }
                }
                (self.links())
            },
        )))
    }

    /// A file's bytes.
    pub(super) async fn raw(&self, query: Option<&str>) -> Result<Shown, Refused> {
        let place = Place::of(query)?;
        let bytes = |document: Value, _| {
            let content = document["result"]["content"].as_str().unwrap_or_default();
            match document["result"]["encoding"] == "base64" {
                true => BASE64.decode(content.as_bytes()).unwrap_or_default(),
                false => content.as_bytes().to_vec(),
            }
        };
        let tell = Tell::File { at: place.at.clone(), path: place.path()? };
        Ok(Shown::Bytes(self.ask_made(tell, bytes).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_any_path_at_any_time() {
        let path = "data/a b&c=\u{202e}%/<i>";
        let place = Place::of(Some("at=3&offset=200")).unwrap();
        let again = Place::of(Some(&place.query(Some(path), 0))).unwrap();
        assert_eq!((again.entry.as_deref(), again.path.as_deref(), again.offset), (Some("3"), Some(path), 0));
        assert_eq!(Place::of(None).unwrap().query(None, 0), "");
        assert!(Place::of(Some("limit=5")).is_err() && Place::of(Some("at=x")).is_err());
    }
}

//! JSON Schema of the answer of each command, put together from parts when this is compiled: a schema is constant text.

macro_rules! moment {
    () => {
        r#"{"type":"string","format":"date-time","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"}"#
    };
}
macro_rules! moment_or_null {
    () => {
        concat!(r#"{"anyOf":["#, moment!(), r#",{"type":"null"}]}"#)
    };
}
macro_rules! due_or_null {
    () => {
        concat!(
            r#"{"anyOf":[{"type":"string","format":"date","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},"#,
            moment!(),
            r#",{"type":"null"}]}"#
        )
    };
}
macro_rules! id_title_status {
    () => {
        r#""id":{"type":"string","pattern":"^td_[0-9]{4,}$"},"title":{"type":"string","minLength":1,"maxLength":200},"status":{"enum":["open","completed"]}"#
    };
}
macro_rules! item {
    () => {
        concat!(
            r#"{"type":"object","additionalProperties":false,"#,
            r#""required":["id","title","description","status","dueAt","createdAt","updatedAt","completedAt","reminders"],"#,
            r#""properties":{"#,
            id_title_status!(),
            r#","description":{"type":"string","maxLength":4000},"dueAt":"#,
            due_or_null!(),
            r#","createdAt":"#,
            moment!(),
            r#","updatedAt":"#,
            moment!(),
            r#","completedAt":"#,
            moment_or_null!(),
            r#","reminders":{"type":"array","maxItems":32,"items":"#,
            moment!(),
            "}}}"
        )
    };
}
macro_rules! item_moment {
    ($kinds:literal) => {
        concat!(
            r#"{"type":"object","additionalProperties":false,"required":["kind","at","id","title","status","dueAt"],"#,
            r#""properties":{"kind":{"enum":"#,
            $kinds,
            r#"},"at":"#,
            moment!(),
            ",",
            id_title_status!(),
            r#","dueAt":"#,
            due_or_null!(),
            "}}"
        )
    };
}
/// The document of a command: `ok`, `command`, the command's own keys, `count`, `items`.
macro_rules! document {
    ($command:literal, $own_required:expr, $own_properties:expr, $items:expr) => {
        concat!(
            r#"{"type":"object","additionalProperties":false,"required":["ok","command","count","items""#,
            $own_required,
            r#"],"properties":{"ok":{"const":true},"command":{"const":""#,
            $command,
            r#""},"count":{"type":"integer","minimum":0},"#,
            $own_properties,
            r#""items":"#,
            $items,
            "}}"
        )
    };
}
macro_rules! change {
    ($command:literal) => {
        document!(
            $command,
            r#","changed""#,
            r#""changed":{"type":"boolean"},"dryRun":{"const":true},"#,
            concat!(r#"{"type":"array","maxItems":1000,"items":"#, item!(), "}")
        )
    };
}
macro_rules! page_required {
    () => {
        r#","total","limit","offset","hasMore""#
    };
}
macro_rules! page_properties {
    () => {
        r#""total":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1},"offset":{"type":"integer","minimum":0},"hasMore":{"type":"boolean"},"#
    };
}

pub(super) const ADD: &str = change!("add");
pub(super) const LIST: &str =
    document!("list", page_required!(), page_properties!(), concat!(r#"{"type":"array","items":"#, item!(), "}"));
pub(super) const GET: &str =
    document!("get", "", "", concat!(r#"{"type":"array","minItems":1,"maxItems":1,"items":"#, item!(), "}"));
pub(super) const UPDATE: &str = change!("update");
pub(super) const COMPLETE: &str = change!("complete");
pub(super) const REOPEN: &str = change!("reopen");
pub(super) const REMOVE: &str = change!("remove");
pub(super) const REMINDER_SET: &str = change!("reminder set");
pub(super) const REMINDER_CLEAR: &str = change!("reminder clear");
pub(super) const REMINDER_LIST: &str = document!(
    "reminder list",
    page_required!(),
    page_properties!(),
    concat!(r#"{"type":"array","items":"#, item_moment!(r#"["reminder"]"#), "}")
);
pub(super) const DUE: &str = document!(
    "due",
    concat!(r#","before","next""#, page_required!()),
    concat!(r#""before":"#, moment!(), r#","next":"#, moment_or_null!(), ",", page_properties!()),
    concat!(r#"{"type":"array","items":"#, item_moment!(r#"["reminder","due"]"#), "}")
);

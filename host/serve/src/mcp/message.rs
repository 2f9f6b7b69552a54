//! One message of a client, whichever way it came. It becomes values by the one reader of documents, and only then a message: the library
//! would read it by itself, and take what stands in a text of certain objects for these. What is no message is answered as JSON-RPC has
//! it, with the failure that the command line prints as its data.

use hutch_model::document::{self, Unread};
use hutch_model::error_code::ErrorCode as Code;
use hutch_model::error_report::ErrorReport;
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The most bytes of a number that is read, or shown.
const NUMBER_BYTES_MAX: usize = 1024;

/// The most bytes of a message that begins a session: what it says of its client is kept for as long as the session is.
const BEGINNING_BYTES_MAX: usize = 64 << 10;

/// What is answered to what is no message.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) answer: Box<TxJsonRpcMessage<RoleServer>>,
    /// Whether anybody waits for it.
    pub(super) is_awaited: bool,
    /// Whether the message would take more memory than one may.
    pub(super) is_too_large: bool,
}

/// A refusal in the protocol's form. `at` points to what is wrong, where that is one part of the message.
pub(super) fn error(code: ErrorCode, message: String, at: Option<&str>) -> ErrorData {
    let mut report = ErrorReport::new(Code::RequestInvalid, message.clone());
    if let Some(at) = at {
        report = report.detail("at", at);
    }
    ErrorData::new(code, message, serde_json::to_value(report).ok())
}

/// A refusal of what there is no room for now.
pub(super) fn busy(message: String) -> ErrorData {
    let report = ErrorReport::new(Code::ServerBusy, message.clone()).detail("kept", false);
    ErrorData::new(ErrorCode::INTERNAL_ERROR, message, serde_json::to_value(report).ok())
}

/// The message that these bytes are.
pub(super) fn read(bytes: &[u8], bytes_max: usize) -> Result<RxJsonRpcMessage<RoleServer>, Refusal> {
    let is_kept = |value: &Value| value.get("method").is_some_and(|method| method == "initialize");
    let value = document::read_message(bytes, bytes_max).and_then(|value| match is_kept(&value) {
        true if bytes.len() > BEGINNING_BYTES_MAX => {
            Err(Unread::TooLarge { takes: bytes.len() as u64, max: BEGINNING_BYTES_MAX as u64 })
        }
        // Of many small values that would be far more than its bytes.
        true => document::read_message(bytes, BEGINNING_BYTES_MAX),
        false => Ok(value),
    });
    let value = value.map_err(|unread| {
        let is_too_large = matches!(unread, Unread::TooLarge { .. });
        // Who waits for an answer to what is too large is told.
        let id = is_too_large.then(|| number(bytes)).flatten();
        let error = error(ErrorCode::PARSE_ERROR, format!("the message can't be read: {unread}"), None);
        Refusal { answer: Box::new(JsonRpcMessage::error(error, id)), is_awaited: true, is_too_large }
    })?;
    let id = value.get("id").and_then(as_number);
    let is_awaited = value.get("id").is_some() || !value.get("method").is_some_and(Value::is_string);
    let refused = |(at, reason): (&str, String)| Refusal {
        answer: Box::new(JsonRpcMessage::error(error(ErrorCode::INVALID_REQUEST, reason, Some(at)), id.clone())),
        is_awaited,
        is_too_large: false,
    };
    form(&value).map_err(refused)?;
    serde_json::from_value(value).map_err(|_| refused(("", "the message is not of a known form".to_owned())))
}

/// What is wrong with the form of a message, and where.
fn form(value: &Value) -> Result<(), (&'static str, String)> {
    let fail = |at, reason: &str| Err((at, reason.to_owned()));
    let Value::Object(fields) = value else { return fail("", "a message is an object, and comes alone") };
    if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return fail("/jsonrpc", "the message does not say that it is of JSON-RPC 2.0");
    }
    // A failure may be about what nobody knows the number of.
    let is_free = |id: &Value| id.is_null() && fields.contains_key("error");
    if let Some(id) = fields.get("id").filter(|id| !is_free(id) && as_number(id).is_none()) {
        let shown: String = id.to_string().chars().take(40).collect();
        let expected = format!("a text of at most {NUMBER_BYTES_MAX} bytes or a whole number of 64 bits with sign");
        return Err(("/id", format!("id: expected {expected}, found {shown}")));
    }
    for at in ["/params/requestId", "/params/_meta/progressToken"] {
        if value.pointer(at).is_some_and(|number| !is_short(number)) {
            return Err((at, format!("expected a text of at most {NUMBER_BYTES_MAX} bytes")));
        }
    }
    match fields.get("method") {
        Some(Value::String(_)) => Ok(()),
        None if fields.contains_key("result") || fields.contains_key("error") => Ok(()),
        _ => fail("/method", "method: expected a text, or a result or an error in its place"),
    }
}

fn as_number(id: &Value) -> Option<RequestId> {
    is_short(id).then(|| serde_json::from_value(id.clone()).ok()).flatten()
}

/// Whether a number may be kept: a client decides how many of them are, and when they are forgotten.
fn is_short(number: &Value) -> bool {
    number.as_str().is_none_or(|text| text.len() <= NUMBER_BYTES_MAX)
}

/// What a message is answered by, as it stands there.
#[derive(Deserialize)]
struct Numbered<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
}

/// The number of a message of which nothing else is read.
fn number(bytes: &[u8]) -> Option<RequestId> {
    let Numbered { id } = serde_json::from_slice(bytes).ok()?;
    serde_json::from_str(id.map(RawValue::get).filter(|id| id.len() <= NUMBER_BYTES_MAX)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MOST: usize = 4 << 20;

    fn message(text: &str) -> Result<RxJsonRpcMessage<RoleServer>, Refusal> {
        read(text.as_bytes(), MOST)
    }

    /// What is answered to what is no message: under its number, with the failure that the command line prints.
    fn refusal(text: &str) -> Value {
        let refusal = message(text).unwrap_err();
        let answer = serde_json::to_value(&*refusal.answer).unwrap();
        let error = &answer["error"];
        assert_eq!((&error["data"]["code"], &error["data"]["message"]), (&json!("REQUEST_INVALID"), &error["message"]));
        answer
    }

    #[test]
    fn an_object_that_means_something_to_the_library_becomes_no_value() {
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{"name":"todo_add","arguments":{arguments}}}}}"#
            )
        };
        assert!(message(&call("{\"title\":\"x\"}")).is_ok());
        for name in ["RawValue", "Number"] {
            let arguments = format!(r#"{{"$serde_json::private::{name}":"{{\"title\":\"x\"}}"}}"#);
            let refused = refusal(&call(&arguments));
            assert_eq!((&refused["error"]["code"], refused.get("result")), (&json!(-32700), None), "{refused}");
        }
    }

    #[test]
    fn what_is_no_message_is_answered_with_its_number_and_where_it_is_wrong() {
        let (big, long) = ("9".repeat(400), "x".repeat(NUMBER_BYTES_MAX + 1));
        let of = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        for (text, code, id, at) in [
            ("", -32700, json!(null), None),
            ("{not json", -32700, json!(null), None),
            (r#"{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":1,"a":2}}"#, -32700, json!(null), None),
            (r#"{"jsonrpc":"2.0","id":5,"id":5,"method":"ping"}"#, -32700, json!(null), None),
            (r#"{"jsonrpc":"2.0","id":5,"\u0069d":5,"method":"ping"}"#, -32700, json!(null), None),
            (r#"{"jsonrpc":"2.0","id":4,"method":"x","params":"\ud99c"}"#, -32700, json!(null), None),
            (&of(&big), -32700, json!(null), None),
            ("[]", -32600, json!(null), Some("")),
            (r#"{"jsonrpc":"2.0","id":12,"method":7}"#, -32600, json!(12), Some("/method")),
            (r#"{"jsonrpc":"2.0","id":12}"#, -32600, json!(12), Some("/method")),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, json!("a"), Some("/jsonrpc")),
            (r#"{"id":-3,"method":"ping"}"#, -32600, json!(-3), Some("/jsonrpc")),
            (&of("{}"), -32600, json!(null), Some("/id")),
            (&of("null"), -32600, json!(null), Some("/id")),
            (&of("1.5"), -32600, json!(null), Some("/id")),
            (&of("9223372036854775808"), -32600, json!(null), Some("/id")),
            (&of("-9223372036854775809"), -32600, json!(null), Some("/id")),
            (&of("99999999999999999999999"), -32600, json!(null), Some("/id")),
            (r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, -32600, json!(null), Some("/id")),
            (&of(&format!("\"{long}\"")), -32600, json!(null), Some("/id")),
            (
                &format!(
                    r#"{{"jsonrpc":"2.0","id":5,"method":"x","params":{{"_meta":{{"progressToken":"{long}"}}}}}}"#
                ),
                -32600,
                json!(5),
                Some("/params/_meta/progressToken"),
            ),
        ] {
            let refused = refusal(text);
            let (told, error) = (refused.get("id").cloned().unwrap_or_default(), &refused["error"]);
            assert_eq!((&error["code"], told), (&json!(code), id), "{text}: {refused}");
            assert_eq!(error["data"]["details"]["at"].as_str(), at, "{text}: {refused}");
            assert!(refused.to_string().len() < 1000 && message(text).unwrap_err().is_awaited, "{text}");
        }
        for sound in ["1.0", "9223372036854775807", "-9223372036854775808", "\"9223372036854775808\"", "\"\""] {
            assert!(message(&of(sound)).is_ok(), "{sound}");
        }
        assert!(message(&of(&format!("\"{}\"", &long[1..]))).is_ok());
        // What was never begun under so long a number is not ended under it.
        let cancel = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{id}"}}}}"#)
        };
        assert!(message(&cancel(&long[1..])).is_ok() && !message(&cancel(&long)).unwrap_err().is_awaited);
        // Nobody waits for an answer to what has no number.
        assert!(!message(r#"{"jsonrpc":"1.0","method":"notifications/nope"}"#).unwrap_err().is_awaited);
        // A failure of a client that did not know the number.
        assert!(message(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#).is_ok());
    }

    /// Who looked at a call before may have read the first of two.
    #[test]
    fn each_field_of_a_call_is_there_once() {
        let name = r#""name":"todo_add""#;
        for params in [
            format!(r#"{{{name},"arguments":{{"title":"a"}},"arguments":{{"title":"b"}}}}"#),
            format!(r#"{{{name},{name},"arguments":{{"title":"a"}}}}"#),
            format!(r#"{{{name},"arguments":{{"title":"a","title":"b"}}}}"#),
            format!(r#"{{{name},"arguments":{{"title":"a","\u0074itle":"b"}}}}"#),
            format!(r#"{{{name},"arguments":{{"x":[{{"y":1,"y":1}}]}}}}"#),
            format!(r#"{{{name},"_meta":{{"progressToken":1,"progressToken":2}}}}"#),
            format!(r#"{{{name}}},"params":{{{name}}}"#),
        ] {
            let refused = refusal(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
            let message = refused["error"]["message"].as_str().unwrap();
            assert_eq!(refused["error"]["code"], -32700, "{params}");
            assert!(message.contains("there twice at line 1 column"), "{params}: {message}");
        }
    }

    #[test]
    fn a_message_that_begins_a_session_is_short() {
        let begin = |method: &str, bytes: usize| {
            let text = |name: &str| {
                format!(
                    r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"{name}","version":"1"}}}}}}"#
                )
            };
            text(&"x".repeat(bytes - text("").len()))
        };
        assert!(message(&begin("initialize", BEGINNING_BYTES_MAX)).is_ok());
        assert!(message(&begin("x", BEGINNING_BYTES_MAX + 1)).is_ok());
        for method in ["initialize", "\\u0069nitialize"] {
            let text = begin(method, BEGINNING_BYTES_MAX + 1);
            let refused = refusal(&text);
            assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32700)), "{refused}");
            assert!(message(&text).unwrap_err().is_too_large);
        }
        let small = vec![r#"{"a":1}"#; 7000].join(",");
        let of = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"x":[{small}]}}}}"#);
        assert!(message(&of("x")).is_ok() && message(&of("initialize")).unwrap_err().is_too_large);
    }

    /// Of 4 MiB of small values the program would make a hundred times as much.
    #[test]
    fn a_message_of_too_many_values_is_refused_by_its_number() {
        let call = |id: &str, item: &str| {
            let items = vec![item; MOST / (item.len() + 1) - 100].join(",");
            format!(
                r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"name":"x","arguments":{{"x":[{items}]}}}}}}"#
            )
        };
        for item in [r#"{"a":1}"#, "[]", r#""""#, "1"] {
            let refused = refusal(&call(r#""id":7,"#, item));
            assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32700)), "{refused}");
            assert_eq!(refusal(&call("", item)).get("id").cloned().unwrap_or_default(), Value::Null);
            // A number that is none, and as large as the rest, is not read.
            assert_eq!(number(format!(r#"{{"id":[{}]}}"#, vec![item; 400_000].join(",")).as_bytes()), None);
        }
        // As many bytes in few values are a message.
        let text = "x".repeat(MOST - 200);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"x","arguments":{{"x":"{text}"}}}}}}"#
        );
        assert!(message(&call).is_ok());
    }
}

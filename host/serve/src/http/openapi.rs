//! The description of all routes in the form of OpenAPI 3.1, made of the table that answers are made of.

use super::routes::{Does, ROUTES, Route};
use http::Method;
use serde_json::{Map, Value, json};

/// The description.
pub(super) fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        item[route.method.as_str().to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "hutch",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Agent Applications, run as sandboxed WebAssembly components",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut responses = match (route.does, &route.method) {
        (Does::Mcp, &Method::DELETE) => json!({"204": {"description": "The session has ended"}}),
        (Does::Mcp, &Method::GET) => json!({"200": {"description": "What it has to say", "content": {}}}),
        _ => json!({
            "200": {"description": "What it came to", "content": {"application/json": {"schema": answer(route)}}},
        }),
    };
    if matches!(route.does, Does::Events | Does::Mcp) && route.method != Method::DELETE {
        responses["200"]["content"]["text/event-stream"] = json!({"schema": {"type": "string"}});
    }
    if route.does == Does::Mcp && route.method == Method::POST {
        responses["202"] = json!({"description": "Taken"});
    }
    if route.does == Does::State {
        responses["200"]["headers"] = json!({"ETag": {"schema": {"type": "string"}}});
        responses["304"] = json!({"description": "The state is the one that If-None-Match names"});
    }
    if route.does == Does::Ready {
        responses["503"] = responses["200"].clone();
    }
    if route.scope.is_some() {
        // Before the protocol is asked, what refuses is the server.
        let schema = match route.does {
            Does::Mcp => json!({"anyOf": [reference("Refusal"), reference("Failure")]}),
            _ => reference("Failure"),
        };
        let failure = |description: &str| json!({"description": description, "content": {"application/json": {"schema": schema}}});
        responses["4XX"] = failure("Refused, or the application failed: nothing is kept unless details.kept says so");
        responses["5XX"] = failure("The host failed, or has too much to do");
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": responses,
    });
    if let Some(scope) = route.scope {
        operation["description"] = format!("Takes a token with the scope {}.", scope.text()).into();
    } else {
        operation["security"] = json!([]);
    }
    if let Some(schema) = body(route.does).filter(|_| route.method == Method::POST) {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": reference(schema)}}});
    }
    operation
}

fn parameters(route: &Route) -> Vec<Value> {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> =
        names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})).collect();
    let text = |name: &str, required: bool, description: &str| json!({"name": name, "in": "query", "required": required, "description": description, "schema": {"type": "string"}});
    if matches!(route.does, Does::Files | Does::File) {
        let required = route.does == Does::File;
        all.push(text("path", required, "The path, the volume first"));
        all.push(text("at", false, "In the state that this entry left; the current state if absent"));
    }
    if matches!(route.does, Does::Ledger | Does::Files) {
        let number = |name: &str, least: u32, most: Option<u32>, usual: u32| {
            let mut schema = json!({"type": "integer", "minimum": least, "default": usual});
            if let Some(most) = most {
                schema["maximum"] = most.into();
            }
            json!({"name": name, "in": "query", "schema": schema})
        };
        all.extend([number("limit", 1, Some(1000), 100), number("offset", 0, None, 0)]);
    }
    if matches!(route.does, Does::Run | Does::Apply | Does::Undo) {
        all.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A name for this request: made again under it, it is answered and not carried out again",
            "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        }));
    }
    if route.does == Does::State {
        all.push(json!({"name": "If-None-Match", "in": "header", "schema": {"type": "string"}}));
    }
    if route.does == Does::Mcp {
        all.extend(protocol(&route.method));
    }
    all
}

/// The headers that the protocol asks for.
fn protocol(method: &Method) -> Vec<Value> {
    let header = |name: &str, required: bool, description: &str| {
        let schema = json!({"type": "string", "minLength": 1, "pattern": "^[!-~]+$"});
        json!({"name": name, "in": "header", "required": required, "description": description, "schema": schema})
    };
    if *method != Method::POST {
        return vec![header("Mcp-Session-Id", true, "The session, as the answer to initialize names it")];
    }
    let both = "application/json, text/event-stream";
    vec![
        json!({"name": "Accept", "in": "header", "required": true, "description": "Both", "schema": {"type": "string", "enum": [both]}}),
        header("Mcp-Session-Id", false, "The session; none with initialize, nor with a request of 2026-07-28"),
        header("Mcp-Protocol-Version", false, "The revision: 2026-07-28 where the request says so of itself"),
        header("Mcp-Method", false, "The method of a request of 2026-07-28"),
        header("Mcp-Name", false, "The tool, the resource or the skill that a request of 2026-07-28 names"),
    ]
}

const fn body(does: Does) -> Option<&'static str> {
    match does {
        Does::Run | Does::Plan => Some("Call"),
        Does::Undo => Some("Undo"),
        Does::Verify => Some("Verify"),
        Does::Apply => Some("Nothing"),
        Does::Mcp => Some("Message"),
        _ => None,
    }
}

fn answer(route: &Route) -> Value {
    match (route.command, route.does) {
        (Some(_), _) => reference("Answer"),
        (None, _) => json!({"type": "object"}),
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn schemas() -> Value {
    let text = json!({"type": "string"});
    let entry = json!({
        "type": "string",
        "description": "last, @ and a number, or at least 6 digits of the entry's hash",
    });
    json!({
        "Call": {
            "description": "Either arguments, or command with fields",
            "type": "object",
            "properties": {
                "arguments": {"type": "array", "items": text, "description": "The words after the package"},
                "command": {"type": "string", "description": "A command's name"},
                "fields": {"type": "object", "description": "Its fields, as its input schema says"},
                "stdin": {"type": "string", "default": ""},
                "now": {"type": "string", "format": "date-time", "description": "The guest's clock at the start"},
                "seed": {"type": "string", "description": "The guest's seed: a number or 64 hexadecimal digits"},
            },
            "additionalProperties": false,
        },
        "Undo": {
            "type": "object",
            "properties": {"count": {"type": "integer", "minimum": 1, "maximum": 9999}, "entry": entry, "redo": {"type": "boolean", "default": false}},
            "additionalProperties": false,
        },
        "Verify": {"type": "object", "properties": {"entry": entry}, "additionalProperties": false},
        "Message": {
            "description": "A message of the Model Context Protocol",
            "type": "object",
            "required": ["jsonrpc"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "integer"]},
                "method": text,
                "params": {"type": "object"},
            },
        },
        "Refusal": {
            "description": "An error of the Model Context Protocol, in which the server's own is the data",
            "type": "object",
            "required": ["jsonrpc", "error"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "integer"]},
                "error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {"code": {"type": "integer"}, "message": text, "data": reference("Failure")},
                },
            },
        },
        "Nothing": {"type": "object", "additionalProperties": false},
        "Answer": {
            "description": "What the program's command answers",
            "type": "object",
            "required": ["ok", "command", "result", "rules", "skills", "issue"],
            "properties": {
                "ok": {"type": "boolean"},
                "command": text,
                "result": {"type": "object"},
                "rules": {"type": "array", "items": {"type": "object"}},
                "skills": {"type": "array", "items": {"type": "object"}},
                "issue": text,
            },
        },
        "Failure": {
            "type": "object",
            "required": ["error", "code", "message", "suggestion"],
            "properties": {
                "error": {"const": true},
                "code": text,
                "message": text,
                "suggestion": text,
                "details": {"type": "object"},
                "fixes": {"type": "array", "items": {"type": "object"}},
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_everything_described_is_a_route() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let described: usize = paths.values().map(|item| item.as_object().unwrap().len()).sum();
        assert_eq!(described, ROUTES.len());
        for route in ROUTES {
            let operation = &paths[route.path][route.method.as_str().to_lowercase()];
            assert_eq!(operation["operationId"], route.id);
            assert_eq!(operation["security"].is_null(), route.scope.is_some(), "{}", route.path);
            assert_eq!(operation["requestBody"].is_null(), route.method != Method::POST, "{}", route.path);
        }
    }
}

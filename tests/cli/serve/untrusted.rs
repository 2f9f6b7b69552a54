//! What the pages show of a package whose every text would give orders: `crate::untrusted` says where they may stand.

use super::Server;
use crate::support::Machine;
use data_encoding::BASE64;

/// All texts of the pages, each with the element that it stands in; the values of an element's attributes are named `ELEMENT=`.
pub(crate) fn told(machine: &Machine, package: &str, file: &str, content: &str) -> Vec<(String, String)> {
    let server = Server::start(machine, &[package]);
    let basic = format!("Basic {}", BASE64.encode(format!("ada:{}", server.operator).as_bytes()));
    let origin = format!("http://{}", server.address);
    let ask = |method: &str, path: &str, body: Option<&str>| {
        let headers = [
            ("authorization", basic.as_str()),
            ("origin", origin.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        server.request(method, path, &headers, body).body
    };
    let commands = ask("GET", "/packages/probe", None);
    let form_of = |command: &str| {
        let end = commands.find(&format!("\">{command}</a>")).unwrap_or_else(|| panic!("{command}: {commands}"));
        commands[..end].rsplit("href=\"").next().unwrap().to_owned()
    };
    let (write, args, remove) = (form_of("write-text"), form_of("args"), form_of("remove"));
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let call = format!("path={}&text={}", encoded(file), encoded(content));
    let plan = ask("POST", &write, Some(&call));
    let apply = plan.split("action=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let apply = apply.filter(|path| path.ends_with("/apply")).last().unwrap_or_else(|| panic!("{plan}")).to_owned();
    // It is done, and then a removal is asked for, which waits for a person.
    ask("POST", &apply, Some(""));
    let removal = ask("POST", &remove, Some(&format!("path={}", encoded(file))));
    let pages = [
        ask("GET", "/", None),
        ask("GET", &write, None),
        ask("GET", &args, None),
        ask("POST", &write, Some("path=state/x")),
        ask("POST", &args, Some("mode=x")),
        ask("GET", "/packages/probe/history", None),
        ask("GET", "/packages/probe/files?path=state", None),
        ask("GET", &format!("/packages/probe/file?path={}", encoded(file)), None),
        ask("GET", "/approvals", None),
        commands,
        plan,
        removal,
    ];
    let plain = |text: &str| {
        let entities = [("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
        entities.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
    };
    let parts = pages.iter().flat_map(|page| page.split('<').skip(1)).flat_map(|part| {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let (element, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        [(format!("{element}="), plain(attributes)), (element.to_owned(), plain(text))]
    });
    parts.collect()
}

//! Behaviours that reach for what was not given: files, links, sockets. Each try is reported, none is an error.
//!
//! A host that fails here may be a developer's machine, so no try may do harm where it succeeds: what exists is at most
//! opened, never written to or cut short, and what is made anew is one empty file of an unmistakable name.

use std::fs::{self, OpenOptions};
use std::io;

use hutch_guest::argv::Arguments;
use serde_json::{Value, json};

use crate::component::{Observation, errno, text};
use crate::files::symlink;
use crate::wasi::filesystem::preopens::get_directories;
use crate::wasi::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use crate::wasi::sockets::instance_network::instance_network;
use crate::wasi::sockets::ip_name_lookup::resolve_addresses;
use crate::wasi::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use crate::wasi::sockets::tcp_create_socket::create_tcp_socket;
use crate::wasi::sockets::udp_create_socket::create_udp_socket;

pub(crate) fn observe(command: &str, arguments: &Arguments) -> Option<Observation> {
    Some(Ok(Some(match command {
        "read-outside" => read_outside(),
        "follow-links" => follow_links(text(arguments, "directory")),
        "socket" => sockets(),
        _ => return None,
    })))
}

/// Paths that lead out of every preopen, or would if the host were careless.
const OUTSIDE: [&str; 14] = [
    "/etc/passwd",
    "etc/passwd",
    "../etc/passwd",
    "../../../../../../../../etc/passwd",
    "/../etc/passwd",
    "state/../../etc/passwd",
    "state/../../../../../../../../etc/passwd",
    "/state/../../../../../../../../etc/passwd",
    "state/./../state/../../etc/passwd",
    "/proc/self/environ",
    "//etc/passwd",
    "C:\\Windows\\win.ini",
    "\\..\\..\\etc\\passwd",
    "app/app.wasm",
];

/// Directories that no guest was given.
const DIRECTORIES_OUTSIDE: [&str; 5] = ["/", ".", "..", "state/..", "/etc"];

fn read_outside() -> Value {
    let mut tries = Vec::new();
    for path in OUTSIDE {
        tries.push(attempt("std", path, fs::read(path).map(|bytes| bytes.len())));
    }
    for path in DIRECTORIES_OUTSIDE {
        tries.push(attempt("std", path, fs::read_dir(path).map(Iterator::count)));
    }
    // The library above resolves some of these itself; the host must refuse them too.
    for (directory, name) in get_directories() {
        for path in OUTSIDE.iter().chain(&DIRECTORIES_OUTSIDE).chain(&["", "a/../..", "./..", "..//..", "\0"]) {
            let opened = directory.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ);
            // The directory itself is no way out.
            let inside = opened.as_ref().is_ok_and(|opened| opened.is_same_object(&directory));
            tries.push(json!({
                "through": format!("preopen {name}"),
                "path": path,
                "opened": opened.is_ok() && !inside,
                "error": opened.err().map(|code| code.name()),
            }));
        }
    }
    let reached = tries.iter().filter(|attempt| attempt["opened"] == true).count();
    json!({"tries": tries, "reached": reached})
}

fn attempt<T>(through: &str, path: &str, result: io::Result<T>) -> Value {
    json!({"through": through, "path": path, "opened": result.is_ok(), "error": result.err().as_ref().map(errno)})
}

/// What the links hold.
const TARGETS: [&str; 9] = [
    "/etc/passwd",
    "../../../../../../../../etc/passwd",
    "/",
    "..",
    "../..",
    "./../../etc/passwd",
    "link-1",
    "link-7",
    "../hutch-probe-escaped",
];

/// Made, empty, where a link leads to a directory that should not be reached.
const MARK: &str = "hutch-probe-escaped";

fn follow_links(directory: &str) -> Value {
    let mut tries = Vec::new();
    let mut reached = 0;
    // All of them first: some point to each other.
    let made: Vec<(String, io::Result<()>)> = TARGETS
        .iter()
        .enumerate()
        .map(|(number, target)| {
            let link = format!("{directory}/link-{number}");
            let made = symlink(target, &link);
            (link, made)
        })
        .collect();
    for (target, (link, made)) in TARGETS.iter().zip(&made) {
        if let Err(error) = made {
            tries.push(json!({"target": target, "made": false, "makeError": errno(error)}));
            continue;
        }
        let read = fs::read(link).map(|bytes| bytes.len());
        let listed = fs::read_dir(link).map(Iterator::count);
        let through = fs::read(format!("{link}/etc/passwd")).map(|bytes| bytes.len());
        // Not one byte is written: being allowed to open is being allowed to write.
        let opened = OpenOptions::new().append(true).create(true).open(link);
        let below = OpenOptions::new().write(true).create_new(true).open(format!("{link}/{MARK}"));
        let all = [read.is_ok(), listed.is_ok(), through.is_ok(), opened.is_ok(), below.is_ok()];
        reached += all.iter().filter(|reached| **reached).count();
        tries.push(json!({
            "target": target,
            "made": true,
            "readError": read.err().as_ref().map(errno),
            "listError": listed.err().as_ref().map(errno),
            "readBelowError": through.err().as_ref().map(errno),
            "openError": opened.err().as_ref().map(errno),
            "makeBelowError": below.err().as_ref().map(errno),
        }));
    }
    for (link, made) in &made {
        if made.is_ok() {
            // A link that cannot be removed shows in the volume.
            let _ = fs::remove_file(link);
        }
    }
    json!({"tries": tries, "reached": reached})
}

fn sockets() -> Value {
    let network = instance_network();
    let address = |port| IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) });
    let told = |result: Result<(), ErrorCode>| match result {
        Ok(()) => "ok".to_owned(),
        Err(code) => code.name().to_owned(),
    };
    let mut report = json!({});
    for (family_name, family) in [("4", IpAddressFamily::Ipv4), ("6", IpAddressFamily::Ipv6)] {
        let tcp = create_tcp_socket(family);
        report[format!("tcp{family_name}Create")] = json!(told(tcp.as_ref().map(drop).map_err(|code| *code)));
        if let (Ok(tcp), "4") = (&tcp, family_name) {
            report["tcpConnect"] = json!(told(tcp.start_connect(&network, address(80))));
            report["tcpBind"] = json!(told(tcp.start_bind(&network, address(0))));
            report["tcpListen"] = json!(told(tcp.start_listen()));
        }
        let udp = create_udp_socket(family);
        report[format!("udp{family_name}Create")] = json!(told(udp.as_ref().map(drop).map_err(|code| *code)));
        if let (Ok(udp), "4") = (&udp, family_name) {
            report["udpBind"] = json!(told(udp.start_bind(&network, address(0))));
            report["udpStream"] = json!(told(udp.stream(Some(address(53))).map(drop)));
        }
    }
    for (key, name) in [("resolveName", "localhost"), ("resolveAddress", "127.0.0.1")] {
        let found = resolve_addresses(&network, name).and_then(|stream| {
            loop {
                match stream.resolve_next_address() {
                    Err(ErrorCode::WouldBlock) => stream.subscribe().block(),
                    other => break other.map(drop),
                }
            }
        });
        report[key] = json!(told(found));
    }
    report
}

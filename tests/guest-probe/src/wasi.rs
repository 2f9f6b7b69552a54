//! The interfaces of WASI that behaviours call without std between.
#![allow(unsafe_code, missing_docs, unreachable_pub, reason = "the bindings are generated")]

wit_bindgen::generate!({
    path: "../../wit",
    inline: "
        package hutch:probe;
        world raw {
            import wasi:cli/exit@0.2.12;
            import wasi:clocks/monotonic-clock@0.2.12;
            import wasi:clocks/wall-clock@0.2.12;
            import wasi:filesystem/preopens@0.2.12;
            import wasi:filesystem/types@0.2.12;
            import wasi:io/poll@0.2.12;
            import wasi:random/insecure@0.2.12;
            import wasi:random/insecure-seed@0.2.12;
            import wasi:random/random@0.2.12;
            import wasi:sockets/instance-network@0.2.12;
            import wasi:sockets/ip-name-lookup@0.2.12;
            import wasi:sockets/network@0.2.12;
            import wasi:sockets/tcp@0.2.12;
            import wasi:sockets/tcp-create-socket@0.2.12;
            import wasi:sockets/udp@0.2.12;
            import wasi:sockets/udp-create-socket@0.2.12;
        }
    ",
    world: "hutch:probe/raw",
    generate_all,
});

pub(crate) use wasi::*;

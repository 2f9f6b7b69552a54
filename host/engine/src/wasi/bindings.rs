//! Traits and types that wasmtime makes from `wit/`: the interfaces this host implements, and the export that runs a guest.
//! Sockets and whatever else a component imports are not here: [`denied`](super::denied) answers those.
#![allow(missing_docs, clippy::all, unreachable_pub, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package hutch:host@0.1.0;
        world guest {
            import wasi:cli/environment@0.2.12;
            import wasi:cli/exit@0.2.12;
            import wasi:cli/stdin@0.2.12;
            import wasi:cli/stdout@0.2.12;
            import wasi:cli/stderr@0.2.12;
            import wasi:cli/terminal-input@0.2.12;
            import wasi:cli/terminal-output@0.2.12;
            import wasi:cli/terminal-stdin@0.2.12;
            import wasi:cli/terminal-stdout@0.2.12;
            import wasi:cli/terminal-stderr@0.2.12;
            import wasi:clocks/monotonic-clock@0.2.12;
            import wasi:clocks/wall-clock@0.2.12;
            import wasi:filesystem/types@0.2.12;
            import wasi:filesystem/preopens@0.2.12;
            import wasi:io/error@0.2.12;
            import wasi:io/poll@0.2.12;
            import wasi:io/streams@0.2.12;
            import wasi:random/random@0.2.12;
            import wasi:random/insecure@0.2.12;
            import wasi:random/insecure-seed@0.2.12;
            export wasi:cli/run@0.2.12;
        }
    ",
    world: "hutch:host/guest",
    imports: { default: trappable },
    with: {
        "wasi:io/error.error": crate::guest::Failed,
        "wasi:io/poll.pollable": hutch_world::Pollable,
        "wasi:io/streams.input-stream": hutch_world::Input,
        "wasi:io/streams.output-stream": hutch_world::Output,
        "wasi:filesystem/types.descriptor": hutch_world::Descriptor,
        "wasi:filesystem/types.directory-entry-stream": hutch_world::FolderStream,
        "wasi:cli/terminal-input.terminal-input": crate::guest::Terminal,
        "wasi:cli/terminal-output.terminal-output": crate::guest::Terminal,
    },
});

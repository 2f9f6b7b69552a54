//! Behaviours that use up fuel, memory, tables, stacks, output, handles and host time.
#![allow(unsafe_code, reason = "growth is asked for in the instruction set's own terms, and new pages are touched")]

use std::arch::wasm32::{memory_grow, memory_size};
use std::fs;
use std::hint::black_box;
use std::io::{self, Write};

use hutch_guest::argv::Arguments;
use hutch_guest::failure::{Failure, INVALID_VALUE};
use serde_json::{Value, json};

use crate::component::{Observation, Trouble, size, text};
use crate::files::{alphabet, failed};
use crate::wasi::clocks::monotonic_clock;
use crate::wasi::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use crate::wasi::random::random;

pub(crate) fn observe(command: &str, arguments: &Arguments) -> Option<Observation> {
    Some(match command {
        "spin" => spin(),
        "recurse" if text(arguments, "stack") == "memory" => {
            Ok(Some(json!({"depth": frames_in_memory(arguments.all("stack").len())})))
        }
        "recurse" => Ok(Some(json!({"depth": frames_in_engine(arguments.all("stack").len())}))),
        "grow-memory" => size(arguments, "bytes").map(|bytes| Some(grow_memory(bytes, false))),
        "grow-and-touch" => size(arguments, "bytes").map(|bytes| Some(grow_memory(bytes, true))),
        "grow-table" => size(arguments, "elements").map(|elements| Some(grow_table(elements))),
        "stdout" => stdout(arguments),
        "stderr" => size(arguments, "bytes").map(|bytes| {
            let written = flood(io::stderr(), bytes);
            Some(json!({"bytes": bytes, "written": written}))
        }),
        "hostcall-spin" => size(arguments, "count").map(|count| {
            let made = repeat(count, || {
                black_box(monotonic_clock::now());
            });
            Some(json!({"calls": made}))
        }),
        "big-host-calls" => big_host_calls(arguments),
        "open-handles" => open_handles(arguments),
        _ => return None,
    })
}

/// Computes for ever.
pub(crate) fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns).wrapping_add(1);
    }
}

/// Uses no stack in linear memory, so only the engine's own stack ends it.
#[inline(never)]
fn frames_in_engine(depth: usize) -> usize {
    if depth == usize::MAX {
        return depth;
    }
    // Work after the call, of a kind that cannot be turned into a loop.
    frames_in_engine(depth.wrapping_add(1)).rotate_left(3) ^ depth
}

/// Uses 16 KiB of the stack in linear memory each time, so that one is full first.
#[inline(never)]
fn frames_in_memory(depth: usize) -> usize {
    let mut frame = [0_u8; 16 * 1024];
    black_box(&mut frame);
    let deeper = if depth == usize::MAX { 0 } else { frames_in_memory(depth.wrapping_add(1)) };
    black_box(&frame);
    deeper ^ depth
}

const PAGE_BYTES: u64 = 65_536;

/// Grows by whole pages until at least `bytes` are there (0: without end) or the engine refuses.
fn grow_memory(bytes: u64, touch: bool) -> Value {
    let wanted = if bytes == 0 { u64::MAX } else { bytes.div_ceil(PAGE_BYTES) };
    let pages_before = memory_size::<0>();
    let (mut grown, mut step, mut refused) = (0_u64, 256_u64, false);
    // Big steps first, then ever smaller ones, so that the end is found to the page.
    while grown < wanted && step > 0 {
        let pages = step.min(wanted - grown);
        let start = memory_grow::<0>(usize::try_from(pages).unwrap_or(usize::MAX));
        if start == usize::MAX {
            refused = true;
            step /= 2;
            continue;
        }
        grown += pages;
        if touch {
            for page in start..memory_size::<0>() {
                let address = (page * PAGE_BYTES as usize) as *mut u8;
                // The page was grown above and belongs to nobody else.
                unsafe { address.write_volatile(1) };
            }
        }
    }
    json!({
        "requestedBytes": bytes,
        "grownBytes": grown * PAGE_BYTES,
        "pagesBefore": pages_before,
        "pagesAfter": memory_size::<0>(),
        "refused": refused,
    })
}

// A table of this program's own, beside the one for function pointers. Rust has no word for tables.
std::arch::global_asm!(".tabletype probe_table, funcref", "probe_table:");

/// Grows the table by `elements` null references; the old size, or -1 when the engine refuses.
fn table_grow(elements: u32) -> i32 {
    let old_size: i32;
    unsafe {
        std::arch::asm!(
            ".tabletype probe_table, funcref",
            "ref.null_func",
            "local.get {elements}",
            "table.grow probe_table",
            "local.set {old_size}",
            elements = in(local) elements,
            old_size = out(local) old_size,
        );
    }
    old_size
}

/// Grows until `elements` are there (0: without end) or the engine refuses.
fn grow_table(elements: u64) -> Value {
    let wanted = if elements == 0 { u64::from(u32::MAX) } else { elements };
    let (mut grown, mut step, mut refused) = (0_u64, 65_536_u64, false);
    while grown < wanted && step > 0 {
        let more = step.min(wanted - grown);
        if table_grow(u32::try_from(more).unwrap_or(u32::MAX)) < 0 {
            refused = true;
            step /= 2;
        } else {
            grown += more;
        }
    }
    json!({"requestedElements": elements, "grownElements": grown, "refused": refused})
}

fn stdout(arguments: &Arguments) -> Observation {
    let bytes = size(arguments, "bytes")?;
    let Some(letters) = bytes.checked_sub(2) else {
        return Err(Failure::new(INVALID_VALUE, format!("bytes is {bytes}, expected 2 or more")).into());
    };
    let mut stdout = io::stdout();
    let _ = stdout.write_all(b"\"");
    flood(&mut stdout, letters);
    let _ = stdout.write_all(b"\"").and_then(|()| stdout.flush());
    Ok(None)
}

/// Writes that many letters, in calls of at most 64 KiB; how many could be written.
pub(crate) fn flood(mut stream: impl Write, bytes: u64) -> u64 {
    let chunk = [b'x'; 65_536];
    let mut written = 0;
    while written < bytes {
        let part = usize::try_from(bytes - written).map_or(chunk.len(), |left| left.min(chunk.len()));
        if stream.write_all(&chunk[..part]).is_err() {
            break;
        }
        written += part as u64;
    }
    let _ = stream.flush();
    written
}

/// Does it `count` times, or for ever if that is 0; how many times.
fn repeat(count: u64, mut act: impl FnMut()) -> u64 {
    let mut done = 0;
    while count == 0 || done < count {
        act();
        done += 1;
    }
    done
}

fn big_host_calls(arguments: &Arguments) -> Observation {
    let (bytes, count) = (size(arguments, "bytes")?, size(arguments, "count")?);
    let kind = text(arguments, "kind");
    let path = format!("{}/big-host-calls", text(arguments, "directory"));
    let content = if kind == "random" { Vec::new() } else { alphabet(bytes) };
    if kind == "read" {
        fs::write(&path, &content).map_err(failed(&path))?;
    }
    let mut trouble = None;
    let made = repeat(count, || {
        let done = match kind {
            "random" => {
                black_box(random::get_random_bytes(bytes));
                Ok(())
            }
            "read" => fs::read(&path).map(|read| drop(black_box(read))),
            _ => fs::write(&path, &content),
        };
        if let Err(error) = done {
            trouble.get_or_insert(error);
        }
    });
    if kind != "random" {
        fs::remove_file(&path).map_err(failed(&path))?;
    }
    match trouble {
        Some(error) => Err(Trouble::Io { what: path, error }),
        None => Ok(Some(json!({"kind": kind, "bytes": bytes, "calls": made}))),
    }
}

fn open_handles(arguments: &Arguments) -> Observation {
    let wanted = size(arguments, "handles")?;
    let directory = text(arguments, "directory");
    let path = format!("{directory}/open-handles");
    fs::write(&path, b"open me").map_err(failed(&path))?;
    let (mut open, mut error) = (Vec::new(), None);
    // Not through std: the adapter below it has a limit of its own.
    if let Some(directory) = crate::files::preopen(directory) {
        while (open.len() as u64) < wanted && error.is_none() {
            match directory.open_at(PathFlags::empty(), "open-handles", OpenFlags::empty(), DescriptorFlags::READ) {
                Ok(descriptor) => open.push(descriptor),
                Err(code) => error = Some(code.name().to_owned()),
            }
        }
    } else {
        error = Some(format!("no preopen is called {directory}"));
    }
    let opened = open.len();
    drop(open);
    fs::remove_file(&path).map_err(failed(&path))?;
    Ok(Some(json!({"requested": wanted, "opened": opened, "error": error})))
}

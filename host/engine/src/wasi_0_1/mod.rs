//! WASI 0.1, `wasi_snapshot_preview1`, over a [`World`](hutch_world::World): the files, clocks, random bytes and streams are those
//! of [`wasi`](crate::wasi), at the same prices. A core module calls these functions directly, and nothing of the host's lies in its
//! memory. Only what a module imports is linked.
//!
//! What numbers mean is written in the specification's `witx`; each function here has its name there.

mod above;
mod answer;
mod descriptors;
mod files;
mod folders;
mod memory;
mod paths;
mod poll;
mod process;
mod sockets;

pub(crate) use descriptors::Descriptors;

use crate::guest::Guest;
use answer::Fail;
use memory::Bytes;
use wasmtime::{Caller, Engine, Error, Extern, ExternType, Linker, Module, Result};

/// What modules call this version.
const MODULE: &str = "wasi_snapshot_preview1";

/// What a command begins with.
pub(crate) const START: &str = "_start";

/// One call of the guest: its memory, and what stands behind its world.
struct Call<'a> {
    bytes: Bytes<'a>,
    guest: &'a mut Guest,
}

/// Links what `module` imports.
///
/// # Errors
/// It is no command, or it imports what this host does not have: the message names it.
pub(crate) fn link(engine: &Engine, module: &Module) -> Result<Linker<Guest>> {
    check_command(module)?;
    let mut linker = Linker::new(engine);
    for import in module.imports() {
        let (from, name) = (import.module(), import.name());
        let ExternType::Func(_) = import.ty() else {
            return Err(Error::msg(format!("it imports {name:?} of {from:?}, which is no function")));
        };
        let linked = from == MODULE && (link_function(&mut linker, name)? || process::link(&mut linker, name)?);
        if !linked {
            return Err(Error::msg(format!(
                "it imports the function {name:?} of {from:?}, which this host does not have"
            )));
        }
        // One function may be imported twice.
        linker.allow_shadowing(true);
    }
    Ok(linker)
}

fn check_command(module: &Module) -> Result<()> {
    match module.get_export(START) {
        Some(ExternType::Func(start)) if start.params().len() == 0 && start.results().len() == 0 => {}
        Some(_) => return Err(Error::msg("its export _start is not a function without parameters and results")),
        None => return Err(Error::msg("it does not export the function _start, so it is no command")),
    }
    match module.get_export("memory") {
        Some(ExternType::Memory(memory)) if memory.is_64() => {
            Err(Error::msg("its memory has addresses of 64 bits, and WASI 0.1 has those of 32"))
        }
        _ => Ok(()),
    }
}

/// The functions that answer with an error number: the specification's name, its module here, its parameters.
macro_rules! functions {
    ($($home:ident::$name:ident($($parameter:ident: $type:ty),*);)+) => {
        fn link_function(linker: &mut Linker<Guest>, name: &str) -> Result<bool> {
            match name {
                $(stringify!($name) => {
                    linker.func_wrap(MODULE, name, |caller: Caller<'_, Guest>, $($parameter: $type),*| {
                        enter(caller, |call| $home::$name(call, $($parameter),*))
                    })?;
                })+
                _ => return Ok(false),
            }
            Ok(true)
        }
    };
}

functions! {
    process::args_get(argv: u32, buffer: u32);
    process::args_sizes_get(count: u32, bytes: u32);
    process::environ_get(environ: u32, buffer: u32);
    process::environ_sizes_get(count: u32, bytes: u32);
    process::clock_res_get(id: u32, resolution: u32);
    process::clock_time_get(id: u32, precision: u64, time: u32);
    process::proc_raise(signal: u32);
    process::sched_yield();
    process::random_get(buffer: u32, length: u32);
    files::fd_advise(fd: u32, offset: u64, length: u64, advice: u32);
    files::fd_allocate(fd: u32, offset: u64, length: u64);
    files::fd_close(fd: u32);
    files::fd_datasync(fd: u32);
    files::fd_fdstat_get(fd: u32, stat: u32);
    files::fd_fdstat_set_flags(fd: u32, flags: u32);
    files::fd_fdstat_set_rights(fd: u32, base: u64, inheriting: u64);
    files::fd_filestat_get(fd: u32, stat: u32);
    files::fd_filestat_set_size(fd: u32, size: u64);
    files::fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, flags: u32);
    files::fd_pread(fd: u32, vectors: u32, count: u32, offset: u64, read: u32);
    files::fd_pwrite(fd: u32, vectors: u32, count: u32, offset: u64, written: u32);
    files::fd_read(fd: u32, vectors: u32, count: u32, read: u32);
    files::fd_renumber(fd: u32, to: u32);
    files::fd_seek(fd: u32, offset: i64, whence: u32, position: u32);
    files::fd_sync(fd: u32);
    files::fd_tell(fd: u32, position: u32);
    files::fd_write(fd: u32, vectors: u32, count: u32, written: u32);
    folders::fd_prestat_get(fd: u32, prestat: u32);
    folders::fd_prestat_dir_name(fd: u32, name: u32, length: u32);
    folders::fd_readdir(fd: u32, buffer: u32, length: u32, cookie: u64, used: u32);
    paths::path_create_directory(fd: u32, path: u32, length: u32);
    paths::path_filestat_get(fd: u32, flags: u32, path: u32, length: u32, stat: u32);
    paths::path_filestat_set_times(
        fd: u32, lookup: u32, path: u32, length: u32, accessed: u64, modified: u64, flags: u32
    );
    paths::path_link(
        old_fd: u32, old_flags: u32, old_path: u32, old_length: u32, new_fd: u32, new_path: u32, new_length: u32
    );
    paths::path_open(
        fd: u32, lookup: u32, path: u32, length: u32, open: u32, rights: u64, inheriting: u64, flags: u32, opened: u32
    );
    paths::path_readlink(fd: u32, path: u32, length: u32, buffer: u32, buffer_length: u32, used: u32);
    paths::path_remove_directory(fd: u32, path: u32, length: u32);
    paths::path_rename(fd: u32, old_path: u32, old_length: u32, new_fd: u32, new_path: u32, new_length: u32);
    paths::path_symlink(target: u32, target_length: u32, fd: u32, path: u32, length: u32);
    paths::path_unlink_file(fd: u32, path: u32, length: u32);
    poll::poll_oneoff(subscriptions: u32, events: u32, count: u32, ready: u32);
    sockets::sock_accept(fd: u32, flags: u32, accepted: u32);
    sockets::sock_recv(fd: u32, data: u32, count: u32, flags: u32, read: u32, answered: u32);
    sockets::sock_send(fd: u32, data: u32, count: u32, flags: u32, written: u32);
    sockets::sock_shutdown(fd: u32, how: u32);
}

/// Every call begins here: it is charged for, and finds the guest's memory.
fn enter(mut caller: Caller<'_, Guest>, body: impl FnOnce(&mut Call<'_>) -> Result<(), Fail>) -> Result<u32> {
    caller.data_mut().enter()?;
    let memory = match caller.data().memory {
        Some(memory) => Some(memory),
        None => {
            let found = caller.get_export("memory").and_then(Extern::into_memory);
            caller.data_mut().memory = found;
            found
        }
    };
    let answer = match &memory {
        Some(memory) => {
            let (bytes, guest) = memory.data_and_store_mut(&mut caller);
            body(&mut Call { bytes: Bytes(bytes), guest })
        }
        None => body(&mut Call { bytes: Bytes(&mut []), guest: caller.data_mut() }),
    };
    match answer {
        Ok(()) => Ok(0),
        Err(Fail::Errno(errno)) => Ok(errno.number()),
        Err(Fail::Stop(stop)) => Err(stop.into()),
    }
}

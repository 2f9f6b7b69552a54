//! A guest that took over the process that runs it, played on the program itself: the system calls that native code would make there are made by
//! the one who started it and traces it, once a guest has run.
#![allow(unsafe_code, reason = "nothing safe traces a process")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The program, traced by this thread from its beginning on.
pub(crate) struct TakenOver(libc::pid_t);

/// Has what is started by this thread traced by it.
pub(crate) fn traced(command: &mut Command) {
    let traced = || {
        // SAFETY: the call touches no memory.
        match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: it makes one call of the system's, and nothing else.
    unsafe { command.pre_exec(traced) };
}

/// `syscall`, as the processor reads it.
const SYSCALL: i64 = 0x050f;
/// Below what a function may use without saying so.
const BELOW: u64 = 1024;

impl TakenOver {
    /// One that was started, and has done nothing yet.
    pub(crate) fn begun(pid: u32) -> TakenOver {
        let process = TakenOver::held(pid);
        process.trace(libc::PTRACE_CONT, 0, 0);
        process
    }

    /// The same, which does nothing before it is let go.
    pub(crate) fn held(pid: u32) -> TakenOver {
        let process = TakenOver(pid.try_into().unwrap());
        process.stopped(libc::SIGTRAP);
        process.trace(libc::PTRACE_SETOPTIONS, 0, (libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD) as u64);
        process
    }

    /// Lets one that is held go on until it is about to write to its standard output, has it make these calls there, and lets go of it.
    pub(crate) fn calls_at_its_answer(self, calls: &[(i64, [u64; 4], &Path)]) -> Vec<Result<i64, i32>> {
        const BEGINS: i64 = -(libc::ENOSYS as i64);
        let mut signal = 0;
        let begins = loop {
            self.trace(libc::PTRACE_SYSCALL, 0, signal);
            let by = self.stop();
            // What others tell it, it is to hear.
            signal = if by == libc::SIGTRAP | 0x80 { 0 } else { by.cast_unsigned().into() };
            if signal == 0 {
                let registers = self.registers();
                let is_write = registers.orig_rax == libc::SYS_write.cast_unsigned() && registers.rdi == 1;
                if is_write && registers.rax.cast_signed() == BEGINS {
                    break registers;
                }
            }
        };
        let (rip, before) = self.put_off(begins);
        let results = self.make(calls, rip, &before);
        self.trace(libc::PTRACE_DETACH, 0, 0);
        results
    }

    fn trace(&self, request: libc::c_uint, at: u64, data: u64) -> i64 {
        // SAFETY: what is written to is the other process's memory, or a structure of the caller's.
        let done = unsafe { libc::ptrace(request, self.0, at, data) };
        assert_ne!((request, done), (libc::PTRACE_GETREGS, -1), "{}", std::io::Error::last_os_error());
        done
    }

    fn stopped(&self, by: i32) {
        assert_eq!(self.stop(), by);
    }

    /// What it stops by next.
    fn stop(&self) -> i32 {
        let mut status = 0;
        // SAFETY: the number is this function's own.
        let waited = unsafe { libc::waitpid(self.0, &raw mut status, libc::__WALL) };
        assert!(waited == self.0 && libc::WIFSTOPPED(status), "{waited} {status:x}");
        libc::WSTOPSIG(status)
    }

    fn registers(&self) -> libc::user_regs_struct {
        // SAFETY: all its fields are numbers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        self.trace(libc::PTRACE_GETREGS, 0, &raw mut registers as u64);
        registers
    }

    fn set(&self, registers: &libc::user_regs_struct) {
        self.trace(libc::PTRACE_SETREGS, 0, std::ptr::from_ref(registers) as u64);
    }

    /// Where it makes a call of the system's, and how it goes on from there: it waits in one, or is held at the next.
    fn at_a_call(&self) -> (u64, libc::user_regs_struct) {
        let waits = self.registers();
        if self.trace(libc::PTRACE_PEEKTEXT, waits.rip - 2, 0) & 0xffff == SYSCALL {
            return (waits.rip - 2, waits);
        }
        let begins = self.next(None);
        self.put_off(begins)
    }

    /// Its next call begins, or ends.
    fn next(&self, registers: Option<libc::user_regs_struct>) -> libc::user_regs_struct {
        registers.iter().for_each(|registers| self.set(registers));
        self.trace(libc::PTRACE_SYSCALL, 0, 0);
        self.stopped(libc::SIGTRAP | 0x80);
        self.registers()
    }

    /// Another call, which changes nothing, takes the place of one that begins; that is made when the process goes on.
    fn put_off(&self, begins: libc::user_regs_struct) -> (u64, libc::user_regs_struct) {
        self.next(Some(libc::user_regs_struct { orig_rax: libc::SYS_getpid.cast_unsigned(), ..begins }));
        let (rax, rip) = (begins.orig_rax, begins.rip - 2);
        (rip, libc::user_regs_struct { rax, orig_rax: u64::MAX, rip, ..begins })
    }

    /// What these calls come to in its first thread: a number and arguments, of which the one that is a path stands in its place as `PATH`.
    pub(crate) fn calls(&self, calls: &[(i64, [u64; 4], &Path)]) -> Vec<Result<i64, i32>> {
        // SAFETY: a signal is sent.
        assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, self.0, self.0, libc::SIGSTOP) }, 0);
        self.stopped(libc::SIGSTOP);
        let (rip, before) = self.at_a_call();
        let results = self.make(calls, rip, &before);
        self.trace(libc::PTRACE_CONT, 0, 0);
        results
    }

    /// Has it make calls where its next instruction but one is a call, and puts it back where it was.
    fn make(
        &self,
        calls: &[(i64, [u64; 4], &Path)],
        rip: u64,
        before: &libc::user_regs_struct,
    ) -> Vec<Result<i64, i32>> {
        let results = calls.iter().map(|(number, arguments, path)| {
            let at = (before.rsp - BELOW * 4) & !7;
            let path = CString::new(path.as_os_str().as_bytes()).unwrap();
            for (place, word) in path.as_bytes_with_nul().chunks(8).enumerate() {
                let mut whole = [0; 8];
                whole[..word.len()].copy_from_slice(word);
                self.trace(libc::PTRACE_POKEDATA, at + 8 * place as u64, u64::from_le_bytes(whole));
            }
            let [rdi, rsi, rdx, r10] = arguments.map(|argument| if argument == PATH { at } else { argument });
            let rax = number.cast_unsigned();
            self.set(&libc::user_regs_struct { rax, orig_rax: u64::MAX, rip, rdi, rsi, rdx, r10, ..*before });
            for _ in ["it begins", "it ends"] {
                self.trace(libc::PTRACE_SYSCALL, 0, 0);
                self.stopped(libc::SIGTRAP | 0x80);
            }
            let result = self.registers().rax.cast_signed();
            if (-4095..0).contains(&result) { Err(i32::try_from(-result).unwrap()) } else { Ok(result) }
        });
        let results = results.collect();
        self.set(before);
        results
    }
}

/// Stands for the path of a call.
pub(crate) const PATH: u64 = 0x7061_7468;

//! A terminal that nobody sits at.

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

pub(crate) struct Terminal {
    controller: OwnedFd,
    name: CString,
}

impl Terminal {
    pub(crate) fn open() -> Terminal {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&controller).expect("access to the terminal");
        unlockpt(&controller).expect("an unlocked terminal");
        let name = ptsname(&controller, Vec::new()).expect("the terminal's name");
        Terminal { controller, name }
    }

    /// One of this many rows and columns.
    pub(crate) fn of(rows: u16, columns: u16) -> Terminal {
        let terminal = Terminal::open();
        let name = File::open(terminal.name()).expect("the terminal");
        let size = ["rows", &rows.to_string(), "cols", &columns.to_string()];
        assert!(Command::new("stty").args(size).stdin(name).status().expect("stty").success());
        terminal
    }

    /// The end that a program gets.
    pub(crate) fn end(&self) -> Stdio {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        Stdio::from(rustix::fs::open(self.name.as_c_str(), flags, Mode::empty()).expect("the terminal"))
    }

    /// Its path.
    pub(crate) fn name(&self) -> String {
        self.name.to_str().expect("UTF-8").to_owned()
    }

    /// Starts a program on this terminal, and gives its status and what a person would have seen, however much that is.
    pub(crate) fn run(self, command: &mut Command) -> (i32, String) {
        let mut child = command.stdout(self.end()).stderr(self.end()).spawn().expect("it starts");
        // The command keeps its ends of the terminal until it is given others.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let reader = std::thread::spawn(|| self.printed());
        let status = child.wait().expect("it ends").code().expect("it was not killed by a signal");
        (status, reader.join().expect("the reader"))
    }

    /// What a program that goes on has printed, up to this.
    pub(crate) fn seen_until(&self, end: &str) -> String {
        let mut controller = File::from(self.controller.try_clone().expect("another end"));
        let (mut seen, mut byte) = (String::new(), [0]);
        while !seen.ends_with(end) && controller.read(&mut byte).is_ok_and(|count| count == 1) {
            seen.push(byte[0].into());
        }
        seen.replace("\r\n", "\n")
    }

    /// What programs have printed, once all of them have ended. A terminal holds 4 KiB.
    pub(crate) fn printed(self) -> String {
        let mut bytes = Vec::new();
        // With the last program gone the terminal answers with an error instead of the end.
        let _ = File::from(self.controller).read_to_end(&mut bytes);
        String::from_utf8(bytes).expect("UTF-8").replace("\r\n", "\n")
    }
}

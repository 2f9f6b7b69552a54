//! `wasi:cli`: arguments, environment, standard streams, the end.

use super::bindings::wasi::cli::{
    environment, exit, stderr, stdin, stdout, terminal_input, terminal_output, terminal_stderr, terminal_stdin,
    terminal_stdout,
};
use crate::guest::{Guest, Terminal};
use hutch_world::{Input, Output, Stop, price};
use wasmtime::component::Resource;

impl environment::Host for Guest {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        let environment = self.invocation.environment();
        let bytes: usize = environment.iter().map(|(name, value)| name.len() + value.len()).sum();
        let pairs = environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let items = 2 * environment.len();
        self.enter()?.meter.spend(bytes as u64 * price::BYTE + items as u64 * price::ITEM)?;
        Ok(pairs)
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        let bytes: usize = self.invocation.argv().iter().map(String::len).sum();
        let items = self.invocation.argv().len();
        self.enter()?.meter.spend(bytes as u64 * price::BYTE + items as u64 * price::ITEM)?;
        Ok(self.invocation.argv().to_vec())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        self.enter()?;
        Ok(None)
    }
}

impl exit::Host for Guest {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(Stop::Exit(if status.is_ok() { 0 } else { 1 }).into())
    }

    fn exit_with_code(&mut self, status_code: u8) -> wasmtime::Result<()> {
        Err(Stop::Exit(status_code).into())
    }
}

impl stdin::Host for Guest {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<Input>> {
        self.enter()?;
        self.push(Input::Stdin)
    }
}

impl stdout::Host for Guest {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<Output>> {
        self.enter()?;
        self.push(Output::Stdout)
    }
}

impl stderr::Host for Guest {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<Output>> {
        self.enter()?;
        self.push(Output::Stderr)
    }
}

impl terminal_input::HostTerminalInput for Guest {
    fn drop(&mut self, terminal: Resource<Terminal>) -> wasmtime::Result<()> {
        match self.take_back(terminal)? {}
    }
}

impl terminal_input::Host for Guest {}

impl terminal_output::HostTerminalOutput for Guest {
    fn drop(&mut self, terminal: Resource<Terminal>) -> wasmtime::Result<()> {
        match self.take_back(terminal)? {}
    }
}

impl terminal_output::Host for Guest {}

impl terminal_stdin::Host for Guest {
    fn get_terminal_stdin(&mut self) -> wasmtime::Result<Option<Resource<Terminal>>> {
        self.enter()?;
        Ok(None)
    }
}

impl terminal_stdout::Host for Guest {
    fn get_terminal_stdout(&mut self) -> wasmtime::Result<Option<Resource<Terminal>>> {
        self.enter()?;
        Ok(None)
    }
}

impl terminal_stderr::Host for Guest {
    fn get_terminal_stderr(&mut self) -> wasmtime::Result<Option<Resource<Terminal>>> {
        self.enter()?;
        Ok(None)
    }
}

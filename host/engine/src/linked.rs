//! A guest's code, a component of WASI 0.2 or a core module of WASI 0.1, from the moment that it can be called.

use crate::feature::OF_WASI_0_3;
use crate::guest::Guest;
use crate::load_error::LoadError;
use crate::wasi::bindings::GuestPre;
use crate::{wasi, wasi_0_1};
use wasmtime::component::types::{Component as ComponentType, ComponentItem, Type};
use wasmtime::component::{Component, InstancePre as ComponentPre};
use wasmtime::{Engine, InstancePre, Module, Result, Store};

/// Compiled code.
pub enum Code {
    /// A component.
    Component(Component),
    /// A core module.
    Module(Module),
}

/// The same with everything that it imports. Clones share it.
#[derive(Clone)]
pub struct Linked(Kind);

#[derive(Clone)]
enum Kind {
    Component(GuestPre<Guest>),
    Module(InstancePre<Guest>),
}

impl Code {
    /// Whether what it imports to be denied can be answered at all: once for each component, and not at each of its runs.
    ///
    /// # Errors
    /// It can't: the message names what is too large.
    pub fn check_denied(&self, engine: &Engine) -> Result<(), String> {
        match self {
            Code::Component(component) => wasi::check_denied(engine, &component.component_type()),
            Code::Module(_) => Ok(()),
        }
    }

    /// Gives it what it imports.
    ///
    /// # Errors
    /// It is no command, or it imports what this host does not have: the message says so. Or there is no memory for it.
    pub fn link(&self, engine: &Engine) -> Result<Linked, LoadError> {
        let linked = match self {
            Code::Component(component) => link_component(engine, component),
            Code::Module(module) => {
                wasi_0_1::link(engine, module).and_then(|linker| linker.instantiate_pre(module)).map(Kind::Module)
            }
        };
        linked.map(Linked).map_err(|error| match error.is::<wasmtime::OutOfMemory>() {
            true => LoadError::Host(format!("{error:#}")),
            false => LoadError::refused(format!("{error:#}")),
        })
    }
}

fn link_component(engine: &Engine, component: &Component) -> Result<Kind> {
    let component_type = component.component_type();
    let link = || {
        check_command(engine, &component_type).map_err(wasmtime::Error::msg)?;
        let linker = wasi::link(engine, &component_type)?;
        Ok(Kind::Component(GuestPre::new(linker.instantiate_pre(component)?)?))
    };
    // What is of types alone is linked, whatever version it is of.
    link().map_err(|error: wasmtime::Error| match of_wasi_0_3(engine, &component_type) {
        Some(name) => wasmtime::Error::msg(format!("{error:#}; {name} {OF_WASI_0_3}")),
        None => error,
    })
}

/// An interface of WASI 0.3 that a component imports or exports.
fn of_wasi_0_3(engine: &Engine, component: &ComponentType) -> Option<String> {
    let imports = component.imports(engine).map(|(name, _)| name.to_owned());
    let mut names = imports.chain(component.exports(engine).map(|(name, _)| name.to_owned()));
    names.find(|name| name.starts_with("wasi:") && name.contains("@0.3."))
}

impl Linked {
    /// The component before it is instantiated, if it is one.
    pub fn component(&self) -> Option<&ComponentPre<Guest>> {
        match &self.0 {
            Kind::Component(component) => Some(component.instance_pre()),
            Kind::Module(_) => None,
        }
    }

    /// Calls the guest, from its instances to its return, and says the exit status that stands for that.
    pub(crate) fn call(&self, store: &mut Store<Guest>) -> Result<u8> {
        match &self.0 {
            Kind::Component(component) => {
                let ended = component.instantiate(&mut *store)?.wasi_cli_run().call_run(store)?;
                Ok(if ended.is_ok() { 0 } else { 1 })
            }
            Kind::Module(module) => {
                store.data_mut().open_descriptors()?;
                let instance = module.instantiate(&mut *store)?;
                instance.get_typed_func::<(), ()>(&mut *store, wasi_0_1::START)?.call(store, ())?;
                Ok(0)
            }
        }
    }
}

/// Whether a component exports `wasi:cli/run` with the one function that it has.
fn check_command(engine: &Engine, component: &ComponentType) -> Result<(), String> {
    let mut exports = component.exports(engine);
    let export = exports.find(|(name, _)| name.split('@').next() == Some("wasi:cli/run"));
    let Some((name, item)) = export else {
        return Err("it does not export wasi:cli/run, so it is no command".to_owned());
    };
    let fits = match item.ty {
        ComponentItem::ComponentInstance(instance) => {
            instance.get_export(engine, "run").is_some_and(|run| is_run(&run.ty))
        }
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("its export {name} is not the function `run: func() -> result`")) }
}

/// Whether it is `func() -> result`.
fn is_run(item: &ComponentItem) -> bool {
    let ComponentItem::ComponentFunc(run) = item else { return false };
    let results: Vec<Type> = run.results().collect();
    let fits = matches!(&results[..], [Type::Result(result)] if result.ok().is_none() && result.err().is_none());
    fits && run.params().len() == 0
}

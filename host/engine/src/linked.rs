//! A guest's code, a component of WASI 0.2 or a core module of WASI 0.1, from the moment that it can be called.

use crate::guest::Guest;
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

/// The same with everything that it imports.
pub struct Linked(Kind);

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
    /// It is no command, or it imports what this host does not have: the message says so.
    pub fn link(&self, engine: &Engine) -> Result<Linked> {
        Ok(Linked(match self {
            Code::Component(component) => {
                let component_type = component.component_type();
                check_command(engine, &component_type).map_err(wasmtime::Error::msg)?;
                let linker = wasi::link(engine, &component_type)?;
                Kind::Component(GuestPre::new(linker.instantiate_pre(component)?)?)
            }
            Code::Module(module) => Kind::Module(wasi_0_1::link(engine, module)?.instantiate_pre(module)?),
        }))
    }
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

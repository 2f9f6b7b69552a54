//! Sockets and HTTP: there, so that components which carry them start; denied, each call with its interface's own error. Answers
//! are made from the functions' types, so no list of interfaces has to be kept here.

use crate::guest::Guest;
use hutch_world::price;
use wasmtime::component::types::{ComponentItem, Type};
use wasmtime::component::{Linker, Resource, ResourceType, Val};
use wasmtime::{AsContextMut, Engine, Error, Result, StoreContextMut};

/// Packages whose every call is denied.
const PACKAGES: [&str; 2] = ["wasi:sockets/", "wasi:http/"];

/// Cases that say "not allowed", the most fitting first.
const REFUSALS: [&str; 6] = [
    "access-denied",
    "HTTP-request-denied",
    "not-permitted",
    "forbidden",
    "permanent-resolver-failure",
    "not-supported",
];

/// What constructors that can't fail hand out; nothing can be done with it.
struct Denied;

/// Links one import of `component` so that its calls are denied.
///
/// # Errors
/// It is of another package: the message names it.
pub(super) fn link(engine: &Engine, linker: &mut Linker<Guest>, import: &str, kind: &ComponentItem) -> Result<()> {
    let ComponentItem::ComponentInstance(interface) = kind else {
        return Err(Error::msg(format!("it imports {import:?}, which is no interface of WASI 0.2")));
    };
    let exports = || interface.exports(engine);
    let denied = PACKAGES.iter().any(|package| import.starts_with(package));
    if !denied && exports().any(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_))) {
        return Err(Error::msg(format!("it imports {import:?}, which this host does not have")));
    }
    let mut instance = linker.instance(import)?;
    for (name, item) in exports() {
        match item.ty {
            ComponentItem::ComponentFunc(_) => instance.func_new(name, move |cx, function, given, results| {
                let types: Vec<Type> = function.results().collect();
                deny(cx, given, &types, results)
            })?,
            ComponentItem::Resource(_) if !is_of_io(name) => {
                instance.resource(name, ResourceType::host::<Denied>(), |_, _| Ok(()))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Resources that interfaces take over from `wasi:io`, where they are linked.
fn is_of_io(name: &str) -> bool {
    matches!(name, "pollable" | "input-stream" | "output-stream" | "error")
}

fn deny(mut cx: StoreContextMut<'_, Guest>, given: &[Val], types: &[Type], results: &mut [Val]) -> Result<()> {
    cx.data_mut().enter()?;
    let_go(&mut cx, given)?;
    for (result, ty) in results.iter_mut().zip(types) {
        *result = refusal(&mut cx, ty)?;
    }
    Ok(())
}

/// Drops the resources in arguments: those given are ours to end, and those lent must be handed back before the call returns.
fn let_go(cx: &mut StoreContextMut<'_, Guest>, given: &[Val]) -> Result<()> {
    let mut pending: Vec<&Val> = given.iter().collect();
    while let Some(value) = pending.pop() {
        cx.data_mut().world.meter.spend(price::ITEM)?;
        match value {
            Val::Resource(resource) => resource.resource_drop(cx.as_context_mut())?,
            Val::String(text) => cx.data_mut().world.meter.spend(text.len() as u64 * price::BYTE)?,
            Val::List(values) | Val::Tuple(values) => pending.extend(values),
            Val::Record(fields) => pending.extend(fields.iter().map(|(_, value)| value)),
            Val::Variant(_, value) | Val::Option(value) | Val::Result(Ok(value) | Err(value)) => {
                pending.extend(value.as_deref());
            }
            _ => {}
        }
    }
    Ok(())
}

/// The value of a type that says no, or else says nothing.
fn refusal(cx: &mut StoreContextMut<'_, Guest>, ty: &Type) -> Result<Val> {
    Ok(match ty {
        Type::Bool => Val::Bool(false),
        Type::S8 => Val::S8(0),
        Type::U8 => Val::U8(0),
        Type::S16 => Val::S16(0),
        Type::U16 => Val::U16(0),
        Type::S32 => Val::S32(0),
        Type::U32 => Val::U32(0),
        Type::S64 => Val::S64(0),
        Type::U64 => Val::U64(0),
        Type::Float32 => Val::Float32(0.0),
        Type::Float64 => Val::Float64(0.0),
        Type::Char => Val::Char('\0'),
        Type::String => Val::String(String::new()),
        Type::List(_) => Val::List(Vec::new()),
        Type::Option(_) => Val::Option(None),
        Type::Flags(_) => Val::Flags(Vec::new()),
        Type::Result(result) => match result.err() {
            Some(error) => Val::Result(Err(Some(Box::new(refusal(cx, &error)?)))),
            None => Val::Result(Err(None)),
        },
        Type::Enum(cases) => {
            let names: Vec<&str> = cases.names().collect();
            Val::Enum(best(&names).to_owned())
        }
        Type::Variant(variant) => {
            let names: Vec<&str> = variant.cases().map(|case| case.name).collect();
            let name = best(&names);
            let payload = variant.cases().find(|case| case.name == name).and_then(|case| case.ty);
            let payload = payload.map(|ty| refusal(cx, &ty)).transpose()?;
            Val::Variant(name.to_owned(), payload.map(Box::new))
        }
        Type::Tuple(tuple) => Val::Tuple(tuple.types().map(|ty| refusal(cx, &ty)).collect::<Result<_>>()?),
        Type::Record(record) => {
            let field =
                |field: wasmtime::component::types::Field<'_>| Ok((field.name.to_owned(), refusal(cx, &field.ty)?));
            Val::Record(record.fields().map(field).collect::<Result<_>>()?)
        }
        Type::Own(_) => {
            let resource = Resource::<Denied>::new_own(0);
            Val::Resource(resource.try_into_resource_any(cx.as_context_mut())?)
        }
        other => return Err(Error::msg(format!("no answer of type {other:?} can be given"))),
    })
}

fn best<'a>(names: &[&'a str]) -> &'a str {
    let refusal = REFUSALS.iter().find_map(|refusal| names.iter().find(|name| *name == refusal));
    refusal.or(names.first()).copied().unwrap_or_default()
}

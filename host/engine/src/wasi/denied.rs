//! Sockets and HTTP: there, so that components which carry them start; denied, each call with its interface's own error. Answers
//! are made from the functions' types, so no list of interfaces has to be kept here.

use crate::guest::Guest;
use hutch_world::{Stop, price};
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

/// What the types of one denied function may come to with everything written out: a value for each part, and the bytes of all
/// names. The largest of `wasi:http` 0.2 has some 1,500.
const FUNCTION_SIZE_MAX: u64 = 64 * 1024;

/// The same for all denied functions together.
const SIZE_MAX: u64 = 4 * 1024 * 1024;

/// Both: what is refused follows from them.
pub const SIZES_MAX: [u64; 2] = [FUNCTION_SIZE_MAX, SIZE_MAX];

/// Whether what a component imports to be denied is of such a size that the host can make up answers.
///
/// # Errors
/// It is not: the message names the function.
pub(super) fn check(engine: &Engine, import: &str, kind: &ComponentItem, all: &mut u64) -> Result<(), String> {
    let ComponentItem::ComponentInstance(interface) = kind else { return Ok(()) };
    for (name, item) in interface.exports(engine) {
        let ComponentItem::ComponentFunc(function) = item.ty else { continue };
        let mut size = 0;
        let types = function.params().map(|(_, ty)| ty).chain(function.results());
        types.for_each(|ty| measure(&ty, &mut size));
        *all = all.saturating_add(size);
        if size > FUNCTION_SIZE_MAX || *all > SIZE_MAX {
            return Err(format!(
                "it imports {import:?}, whose function {name:?} has types that are too large to be answered"
            ));
        }
    }
    Ok(())
}

/// Adds what a type comes to, and stops when that is too much.
fn measure(ty: &Type, size: &mut u64) {
    if *size > FUNCTION_SIZE_MAX {
        return;
    }
    *size += 1;
    match ty {
        Type::List(list) => measure(&list.ty(), size),
        Type::Option(option) => measure(&option.ty(), size),
        Type::Result(result) => result.ok().iter().chain(result.err().iter()).for_each(|ty| measure(ty, size)),
        Type::Tuple(tuple) => tuple.types().for_each(|ty| measure(&ty, size)),
        Type::Flags(flags) => *size += flags.names().map(|name| 1 + name.len() as u64).sum::<u64>(),
        Type::Enum(cases) => *size += cases.names().map(|name| 1 + name.len() as u64).sum::<u64>(),
        Type::Record(record) => record.fields().for_each(|field| {
            *size += field.name.len() as u64;
            measure(&field.ty, size);
        }),
        Type::Variant(variant) => variant.cases().for_each(|case| {
            *size += 1 + case.name.len() as u64;
            case.ty.iter().for_each(|ty| measure(ty, size));
        }),
        _ => {}
    }
}

/// Whether the calls of an import are denied.
pub(super) fn is_denied(import: &str) -> bool {
    PACKAGES.iter().any(|package| import.starts_with(package))
}

/// Links one import of `component` so that its calls are denied.
///
/// # Errors
/// It is of another package: the message names it.
pub(super) fn link(engine: &Engine, linker: &mut Linker<Guest>, import: &str, kind: &ComponentItem) -> Result<()> {
    let ComponentItem::ComponentInstance(interface) = kind else {
        return Err(Error::msg(format!("it imports {import:?}, which is no interface of WASI 0.2")));
    };
    let exports = || interface.exports(engine);
    if !is_denied(import) && exports().any(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_))) {
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

/// The value of a type that says no, or else says nothing. Each part of it has its price, before it is made.
fn refusal(cx: &mut StoreContextMut<'_, Guest>, ty: &Type) -> Result<Val> {
    cx.data_mut().world.meter.spend(price::ITEM)?;
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
            Val::Enum(best(cx, &names)?.to_owned())
        }
        Type::Variant(variant) => {
            let names: Vec<&str> = variant.cases().map(|case| case.name).collect();
            let name = best(cx, &names)?;
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
        Type::Own(resource) if *resource == ResourceType::host::<Denied>() => {
            let resource = Resource::<Denied>::new_own(0);
            Val::Resource(resource.try_into_resource_any(cx.as_context_mut())?)
        }
        // A stream or a pollable, of a call that can't fail by its type: there is nothing it could be of.
        Type::Own(_) => return Err(Stop::Trap("denied_call_has_no_answer").into()),
        other => return Err(Error::msg(format!("no answer of type {other:?} can be given"))),
    })
}

/// The case that says no best; looking through them has its price.
fn best<'a>(cx: &mut StoreContextMut<'_, Guest>, names: &[&'a str]) -> Result<&'a str> {
    let bytes: usize = names.iter().map(|name| name.len()).sum();
    cx.data_mut().world.meter.spend(names.len() as u64 * price::STEP + bytes as u64 * price::BYTE)?;
    let refusal = REFUSALS.iter().find_map(|refusal| names.iter().find(|name| *name == refusal));
    Ok(refusal.or(names.first()).copied().unwrap_or_default())
}

//! Whatever a guest hands to a function of WASI 0.2 over the canonical ABI: guests are generated from `wit/`, call every function that a
//! component can import, with handles that they were given, texts and lists of theirs, and in some of them handles, pointers, lengths, cases
//! and flags that mean nothing, and a `realloc` that answers with such.

use crate::support::case::{exited, laws};
use crate::support::wat_guest::BUMP;
use crate::support::{generated, limits, parts, repository, run_parts, sandbox};
use hutch_model::limits::Limit;
use hutch_sandbox::{Backend, Compile, Sandbox};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::fmt::Write;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Function, Handle, Int, Resolve, SizeAlign, Type, TypeDefKind, TypeId, WorldId, WorldItem};

const WORLD: &str = "package generated:guest; world guest { include wasi:cli/command@0.2.12; }";

// Where a guest keeps what, in the first page of its memory: handles that it has, four of each resource, how often each function returned, what
// was returned, a list of pollables, texts, and bytes. What `realloc` gives stands behind that page.
const HANDLES: usize = 1024;
const RETURNS: usize = 2048;
const RETURNED: usize = 4096;
const DIRECT: usize = 4600;
const POLLABLES: usize = 4608;
const TEXTS: usize = 8192;
const BYTES: usize = 16_384;

/// Paths and names, some of them refused.
const WORDS: [&str; 8] = ["a", "b", "a/c", "..", "a/../b", "/a", "", "\u{301}e"];
/// Numbers at the edges of what is allowed or can be written.
const FAR: [u64; 8] = [u64::MAX, 0x7fff_ffff, 1 << 31, 1 << 63, 131_071, 131_072, 65_537, 0xffff_fffc];

/// Something that a core function imports.
struct Import {
    module: String,
    name: String,
    parameters: Vec<WasmType>,
    result: Option<WasmType>,
    /// Whether what it returns is written where its last argument points.
    returned_in_memory: bool,
    does: Does,
}

enum Does {
    Call(Box<Function>),
    Drop(TypeId),
}

/// All functions that a component can import, and the resources.
struct Interfaces {
    resolve: Resolve,
    world: WorldId,
    sizes: SizeAlign,
    imports: Vec<Import>,
    resources: Vec<TypeId>,
}

impl Interfaces {
    fn read() -> Interfaces {
        let mut resolve = Resolve::default();
        resolve.push_path(repository("wit")).expect("the interfaces");
        let package = resolve.push_str("guest.wit", WORLD).expect("a world");
        let world = resolve.select_world(&[package], None).expect("one world");
        let mut sizes = SizeAlign::default();
        sizes.fill(&resolve);
        let (mut imports, mut resources) = (Vec::new(), Vec::new());
        for (key, item) in &resolve.worlds[world].imports {
            let WorldItem::Interface { id, .. } = item else { continue };
            let module = resolve.name_world_key(key);
            for (name, id) in &resolve.interfaces[*id].types {
                if matches!(resolve.types[*id].kind, TypeDefKind::Resource) {
                    resources.push(*id);
                    imports.push(Import {
                        module: module.clone(),
                        name: format!("[resource-drop]{name}"),
                        parameters: vec![WasmType::I32],
                        result: None,
                        returned_in_memory: false,
                        does: Does::Drop(*id),
                    });
                }
            }
            for function in resolve.interfaces[*id].functions.values() {
                let signature = resolve.wasm_signature(AbiVariant::GuestImport, function);
                assert!(!signature.indirect_params, "{}: arguments in memory are not generated", function.name);
                imports.push(Import {
                    module: module.clone(),
                    name: function.name.clone(),
                    parameters: signature.params,
                    result: signature.results.first().copied(),
                    returned_in_memory: signature.retptr,
                    does: Does::Call(Box::new(function.clone())),
                });
            }
        }
        Interfaces { resolve, world, sizes, imports, resources }
    }

    /// The resource itself, whatever a type calls it.
    fn named(&self, mut id: TypeId) -> TypeId {
        while let TypeDefKind::Type(Type::Id(inner)) = self.resolve.types[id].kind {
            id = inner;
        }
        id
    }

    /// Where the handle of a resource stands.
    fn slot(&self, resource: TypeId, which: u64) -> usize {
        let resource = self.named(resource);
        let place = self.resources.iter().position(|known| *known == resource).expect("it is imported");
        HANDLES + place * 16 + which as usize * 4
    }

    /// Keeps the handles that stand in a value at `base` and `offset`.
    fn keep(&self, ty: &Type, base: &str, offset: usize, which: u64, text: &mut String) {
        let Type::Id(id) = ty else { return };
        let at = |offset: usize| format!("offset={offset} {base}");
        match &self.resolve.types[*id].kind {
            TypeDefKind::Type(inner) => self.keep(inner, base, offset, which, text),
            TypeDefKind::Handle(Handle::Own(resource)) => {
                let slot = self.slot(*resource, which);
                let _ = writeln!(text, "(i32.store (i32.const {slot}) (i32.load {}))", at(offset));
            }
            TypeDefKind::Result(result) => {
                let inside = self.sizes.payload_offset(Int::U8, [result.ok.as_ref(), result.err.as_ref()]);
                if let Some(ok) = &result.ok {
                    let _ = writeln!(text, "(if (i32.eqz (i32.load8_u {})) (then", at(offset));
                    self.keep(ok, base, offset + inside.size_wasm32(), which, text);
                    text.push_str("))\n");
                }
            }
            TypeDefKind::Option(some) => {
                let inside = self.sizes.payload_offset(Int::U8, [None, Some(some)]);
                let _ = writeln!(text, "(if (i32.load8_u {}) (then", at(offset));
                self.keep(some, base, offset + inside.size_wasm32(), which, text);
                text.push_str("))\n");
            }
            TypeDefKind::Tuple(tuple) => {
                for (inside, ty) in self.sizes.field_offsets(&tuple.types) {
                    self.keep(ty, base, offset + inside.size_wasm32(), which, text);
                }
            }
            TypeDefKind::List(element) => {
                let _ = writeln!(text, "(if (i32.load {}) (then", at(offset + 4));
                self.keep(element, &format!("(i32.load {})", at(offset)), 0, which, text);
                text.push_str("))\n");
            }
            _ => {}
        }
    }
}

/// What makes one guest.
struct Maker<'a> {
    interfaces: &'a Interfaces,
    random: ChaCha8Rng,
    /// How many of a thousand arguments mean nothing.
    wild: u64,
    /// Slots that must hold a handle for the call to be made, and that hold none after it.
    needed: Vec<usize>,
    taken: Vec<usize>,
}

impl Maker<'_> {
    fn below(&mut self, count: u64) -> u64 {
        self.random.next_u64() % count
    }

    fn far(&mut self) -> u64 {
        match self.below(4) {
            0 => self.random.next_u64(),
            _ => FAR[self.below(FAR.len() as u64) as usize],
        }
    }

    /// A number of that type, which means nothing in one of so many cases.
    fn number(&mut self, ty: WasmType, sound: u64) -> String {
        let value = if self.below(1000) < self.wild { self.far() } else { sound };
        match ty {
            WasmType::I64 | WasmType::PointerOrI64 => format!("(i64.const {})", value as i64),
            WasmType::F32 => format!("(f32.const {value})"),
            WasmType::F64 => format!("(f64.const {value})"),
            WasmType::I32 | WasmType::Pointer | WasmType::Length => format!("(i32.const {})", value as u32 as i32),
        }
    }

    fn handle(&mut self, resource: TypeId, given_away: bool) -> String {
        if self.below(1000) < self.wild {
            return self.number(WasmType::I32, 2);
        }
        let which = self.below(4);
        let slot = self.interfaces.slot(resource, which);
        self.needed.push(slot);
        if given_away {
            self.taken.push(slot);
        }
        format!("(i32.load (i32.const {slot}))")
    }

    /// A value in core values.
    fn flat(&mut self, ty: &Type, to: &mut Vec<(WasmType, String)>) {
        let interfaces = self.interfaces;
        let small = self.below(300);
        match ty {
            Type::String => {
                let word = self.below(WORDS.len() as u64);
                to.push((WasmType::Pointer, self.number(WasmType::Pointer, TEXTS as u64 + 16 * word)));
                to.push((WasmType::Length, self.number(WasmType::Length, WORDS[word as usize].len() as u64)));
            }
            Type::U64 | Type::S64 => {
                let number = if self.below(8) == 0 { self.far() } else { small };
                to.push((WasmType::I64, self.number(WasmType::I64, number)));
            }
            Type::Bool => to.push((WasmType::I32, self.number(WasmType::I32, small % 2))),
            Type::U8 | Type::U16 | Type::U32 | Type::S8 | Type::S16 | Type::S32 => {
                to.push((WasmType::I32, self.number(WasmType::I32, small)));
            }
            Type::F32 | Type::F64 | Type::Char | Type::ErrorContext => panic!("WASI has none: {ty:?}"),
            Type::Id(id) => match &interfaces.resolve.types[*id].kind {
                TypeDefKind::Type(inner) => self.flat(inner, to),
                TypeDefKind::Handle(Handle::Own(resource)) => to.push((WasmType::I32, self.handle(*resource, true))),
                TypeDefKind::Handle(Handle::Borrow(resource)) => {
                    to.push((WasmType::I32, self.handle(*resource, false)))
                }
                TypeDefKind::Record(record) => record.fields.iter().for_each(|field| self.flat(&field.ty, to)),
                TypeDefKind::Tuple(tuple) => tuple.types.iter().for_each(|ty| self.flat(ty, to)),
                TypeDefKind::Flags(flags) => {
                    let some = self.random.next_u64() & self.random.next_u64() & ((1 << flags.flags.len()) - 1);
                    to.push((WasmType::I32, self.number(WasmType::I32, some)));
                }
                TypeDefKind::Enum(cases) => {
                    to.push((WasmType::I32, self.number(WasmType::I32, small % cases.cases.len() as u64)));
                }
                TypeDefKind::Variant(variant) => {
                    let cases: Vec<_> = variant.cases.iter().map(|case| case.ty.as_ref()).collect();
                    self.case(ty, &cases, to);
                }
                TypeDefKind::Option(some) => self.case(ty, &[None, Some(some)], to),
                TypeDefKind::Result(result) => self.case(ty, &[result.ok.as_ref(), result.err.as_ref()], to),
                TypeDefKind::List(element) => {
                    let (at, most) = match interfaces.sizes.size(element).size_wasm32() {
                        1 => (BYTES, 5000),
                        _ => (POLLABLES, 3),
                    };
                    to.push((WasmType::Pointer, self.number(WasmType::Pointer, at as u64)));
                    let length = self.below(most);
                    to.push((WasmType::Length, self.number(WasmType::Length, length)));
                }
                kind => panic!("WASI has none: {}", kind.as_str()),
            },
        }
    }

    /// One case of several, in core values that have room for each of them.
    fn case(&mut self, ty: &Type, cases: &[Option<&Type>], to: &mut Vec<(WasmType, String)>) {
        let chosen = self.below(cases.len() as u64);
        let mut storage = [WasmType::I32; 16];
        let mut joined = wit_parser::abi::FlatTypes::new(&mut storage);
        assert!(self.interfaces.resolve.push_flat(ty, &mut joined), "no case is as large");
        let mut inside = Vec::new();
        if let Some(ty) = cases[chosen as usize] {
            self.flat(ty, &mut inside);
        }
        to.push((WasmType::I32, self.number(WasmType::I32, chosen)));
        let mut inside = inside.into_iter();
        for wanted in joined.to_vec().into_iter().skip(1) {
            let value = match (wanted, inside.next()) {
                (WasmType::I64, Some((WasmType::I64, value))) => value,
                (WasmType::I64, Some((_, value))) => format!("(i64.extend_i32_u {value})"),
                (_, Some((_, value))) => value,
                (_, None) => self.number(wanted, 0),
            };
            to.push((wanted, value));
        }
    }

    /// A call, and what is kept of it.
    fn call(&mut self, index: usize) -> String {
        let interfaces = self.interfaces;
        let import = &interfaces.imports[index];
        (self.needed, self.taken) = (Vec::new(), Vec::new());
        let mut arguments = Vec::new();
        match &import.does {
            Does::Drop(resource) => arguments.push((WasmType::I32, self.handle(*resource, true))),
            Does::Call(function) => function.params.iter().for_each(|given| self.flat(&given.ty, &mut arguments)),
        }
        if import.returned_in_memory {
            arguments.push((WasmType::Pointer, self.number(WasmType::Pointer, RETURNED as u64)));
        }
        assert_eq!(arguments.len(), import.parameters.len(), "{}", import.name);
        let given: Vec<_> = arguments.into_iter().map(|(_, value)| value).collect();
        let mut text = String::new();
        for slot in &self.needed {
            let _ = writeln!(text, "(if (i32.load (i32.const {slot})) (then");
        }
        let call = format!("(call $f{index} {})", given.join(" "));
        let _ = match import.result {
            None => writeln!(text, "{call}"),
            Some(WasmType::I64) => writeln!(text, "(i64.store (i32.const {DIRECT}) {call})"),
            Some(_) => writeln!(text, "(i32.store (i32.const {DIRECT}) {call})"),
        };
        for slot in &self.taken {
            let _ = writeln!(text, "(i32.store (i32.const {slot}) (i32.const 0))");
        }
        let result = match &import.does {
            Does::Call(function) => function.result.as_ref(),
            Does::Drop(_) => None,
        };
        if let Some(result) = result {
            let at = if import.returned_in_memory { RETURNED } else { DIRECT };
            let which = self.below(4);
            interfaces.keep(result, &format!("(i32.const {at})"), 0, which, &mut text);
        }
        let count = RETURNS + 4 * index;
        let _ =
            writeln!(text, "(i32.store (i32.const {count}) (i32.add (i32.load (i32.const {count})) (i32.const 1)))");
        text.push_str("(global.set $top (i32.const 65536))");
        text + &"))".repeat(self.needed.len())
    }

    /// The guest: it calls what gives handles first, and prints in the end what it has seen. It imports what it calls.
    fn guest(&mut self, realloc: &str) -> Vec<u8> {
        let interfaces = self.interfaces;
        let calls = self.calls();
        let mut text = "(module\n".to_owned();
        let name_of = |ty: &WasmType| match ty {
            WasmType::I64 | WasmType::PointerOrI64 => "i64",
            WasmType::F32 => "f32",
            WasmType::F64 => "f64",
            WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
        };
        let called = calls.split("(call $f").skip(1).filter_map(|rest| rest.split([' ', ')']).next()?.parse().ok());
        for index in called.collect::<BTreeSet<usize>>() {
            let import = &interfaces.imports[index];
            let parameters: Vec<_> = import.parameters.iter().map(name_of).collect();
            let result = import.result.as_ref().map(|ty| format!("(result {})", name_of(ty))).unwrap_or_default();
            let _ = writeln!(
                text,
                "(import {:?} {:?} (func $f{index} (param {}) {result}))",
                import.module,
                import.name,
                parameters.join(" ")
            );
        }
        text.push_str("(memory (export \"memory\") 2 32) (global $top (mut i32) (i32.const 65536))\n");
        for (place, word) in WORDS.iter().enumerate() {
            let _ = writeln!(text, "(data (i32.const {}) {word:?})", TEXTS + 16 * place);
        }
        let _ = writeln!(
            text,
            "(func (export \"cabi_realloc\") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
             {realloc})
             (func (export \"wasi:cli/run@0.2.12#run\") (result i32)"
        );
        text += &calls;
        let mut module = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        embed_component_metadata(&mut module, &interfaces.resolve, interfaces.world, StringEncoding::UTF8)
            .expect("what is imported is in the world");
        let encoder = ComponentEncoder::default().validate(true).module(&module).expect("a module of the world");
        let mut encoder = encoder;
        encoder.encode().expect("a component")
    }

    /// What it does.
    fn calls(&mut self) -> String {
        let interfaces = self.interfaces;
        let mut text = String::new();
        let place_of = |name: &str| {
            let place = interfaces.imports.iter().position(|import| import.name == name);
            place.unwrap_or_else(|| panic!("no interface has {name}"))
        };
        let wild = std::mem::take(&mut self.wild);
        for name in
            ["get-stdout", "get-stdin", "get-directories", "get-directories", "subscribe-duration", "instance-network"]
        {
            let call = self.call(place_of(name));
            text.push_str(&call);
        }
        self.wild = wild;
        let pollable = interfaces.slot(self.resource("pollable"), 0);
        for _ in 0..60 {
            // Pollables are lent from where a list of them stands.
            let _ = writeln!(text, "(memory.copy (i32.const {POLLABLES}) (i32.const {pollable}) (i32.const 16))");
            let mut index = self.below(interfaces.imports.len() as u64) as usize;
            // To end at once is tried by few, and to give a handle back by not so many that none are left.
            let import = &interfaces.imports[index];
            let rare = match import.does {
                _ if import.module.contains("exit") => 4,
                Does::Drop(_) => 2,
                Does::Call(_) => 1,
            };
            if self.below(rare) > 0 {
                let gives = ["[method]descriptor.open-at", "[method]descriptor.read-directory"];
                index = place_of(gives[self.below(2) as usize]);
            }
            let call = self.call(index);
            text.push_str(&call);
        }
        let _ = writeln!(
            text,
            "(call $f{} (call $f{}) (i32.const {RETURNS}) (i32.const 4096) (i32.const {RETURNED})) (i32.const 0)))",
            place_of("[method]output-stream.blocking-write-and-flush"),
            place_of("get-stdout")
        );
        text
    }

    fn resource(&self, name: &str) -> TypeId {
        let types = &self.interfaces.resolve.types;
        let mut resources = self.interfaces.resources.iter();
        *resources.find(|id| types[**id].name.as_deref() == Some(name)).expect("a resource")
    }
}

/// What some guests answer who is asked for memory.
const UNSOUND: [&str; 5] =
    ["(i32.const -1)", "(i32.const 3)", "(i32.const 131071)", "unreachable", "(loop $on (br $on)) (i32.const 0)"];

#[test]
fn any_call_is_answered_or_ends_the_run() {
    let interfaces = Interfaces::read();
    let interpreter = Sandbox::new(Compile::Here, None).on(Backend::Interpreter64);
    let changed = [(Limit::Fuel, 20_000_000)];
    let mut returns = vec![0_u64; interfaces.imports.len()];
    let mut whole = 0;
    // Fewer do not come to every call.
    let guests = generated(200).max(200);
    for seed in 0..guests {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let wild = [0, 0, 10, 100][seed as usize % 4];
        let mut maker = Maker { interfaces: &interfaces, random, wild, needed: Vec::new(), taken: Vec::new() };
        let realloc = match maker.below(10) {
            kind @ 0..5 if wild > 0 => UNSOUND[kind as usize],
            _ => BUMP,
        };
        let bytes = maker.guest(realloc);
        let run = |sandbox: &Sandbox| {
            let program = sandbox.load(&bytes, &limits(&changed)).unwrap_or_else(|error| panic!("{seed}: {error}"));
            let mut parts = parts(&["one", "two"], limits(&changed));
            parts.stdin = b"what stands on standard input".repeat(100);
            run_parts(&program, parts).unwrap_or_else(|error| panic!("{seed}: {error}"))
        };
        let [native, again, interpreted] = [sandbox(), sandbox(), &interpreter].map(run);
        for other in [again, interpreted] {
            assert_eq!((&native.outcome, &native.after.volumes), (&other.outcome, &other.after.volumes), "{seed}");
        }
        assert_eq!(laws(&native, &changed), [""; 0], "{seed}");
        let said = native.outcome.stdout.len().checked_sub(4096);
        if let Some(said) = said.filter(|_| native.outcome.ending == exited(0)) {
            whole += 1;
            let counts = native.outcome.stdout[said..].chunks_exact(4);
            for (all, count) in returns.iter_mut().zip(counts) {
                *all += u64::from(u32::from_le_bytes(count.try_into().expect("four bytes")));
            }
        }
    }
    let never =
        interfaces.imports.iter().zip(&returns).filter(|(import, count)| **count == 0 && !is_out_of_reach(import));
    let never: Vec<_> = never.map(|(import, _)| format!("{} {}", import.module, import.name)).collect();
    println!("{whole} of {guests} went all the way, with {} calls", returns.iter().sum::<u64>());
    assert!(whole > guests / 4, "only {whole} of {guests} went all the way");
    assert_eq!(never, [""; 0], "never answered");
}

/// What no guest comes to with handles that it was given, or does not come back from: there are no sockets, no terminals and no errors of a
/// system's own behind a stream, and who exits has ended.
fn is_out_of_reach(import: &Import) -> bool {
    let of = [
        "tcp-socket",
        "udp-socket",
        "datagram-stream",
        "resolve-address-stream",
        "terminal-",
        "]error",
        "filesystem-error-code",
    ];
    import.module.starts_with("wasi:cli/exit@") || of.iter().any(|resource| import.name.contains(resource))
}

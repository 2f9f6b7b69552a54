//! What is given as a component and is none, or hardly one. Loading answers with a program or a reason; what then runs, ends.

use crate::support::case::laws;
use crate::support::wat_guest::{WatGuest, wat};
use crate::support::{KEY, limits, parts, probe_bytes, run_parts, sandbox, saw, todo_bytes};
use hutch_model::error_code::ErrorCode;
use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::{ArtifactCache, Compile, Sandbox};

fn code(bytes: &[u8], limits: &Limits) -> Option<ErrorCode> {
    // Without a cache: nothing of another test is found.
    Sandbox::new(Compile::Here, None).load(bytes, limits).err().map(|error| {
        saw("refused");
        error.code()
    })
}

#[test]
fn what_is_no_component_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = ArtifactCache::open(folder.path(), || Some(KEY));
    Sandbox::new(Compile::Here, cache)
        .load(&WatGuest::body("i32.const 0").bytes(), &Limits::default())
        .expect("a program");
    let entry = std::fs::read_dir(folder.path()).expect("the cache").next().expect("an entry").expect("an entry");
    let artifact = std::fs::read(entry.path()).expect("an artifact");
    let begins = artifact.windows(4).position(|bytes| bytes == b"\x7fELF");
    let artifact = artifact[begins.expect("machine code is an ELF file, which is what this test needs")..].to_vec();
    let this_program = std::fs::read(std::env::current_exe().expect("a path")).expect("this program");
    let cases: [(&str, &[u8]); 10] = [
        ("nothing", b""),
        ("half a magic number", b"\0as"),
        ("a magic number alone", b"\0asm"),
        ("a version of the future", b"\0asm\x02\0\x01\0"),
        ("text", b"(component)"),
        ("prose", b"hello, world"),
        ("a script", b"#!/bin/sh\nexit 0\n"),
        ("zeros", &[0; 4096]),
        ("compiled code of this very host", &artifact),
        ("a native program", &this_program),
    ];
    for (what, bytes) in cases {
        assert_eq!(code(bytes, &Limits::default()), Some(ErrorCode::ComponentInvalid), "{what}");
    }
}

#[test]
fn size_is_held_to_the_byte() {
    let bytes = WatGuest::body("i32.const 0").bytes();
    let size = bytes.len() as u64;
    assert_eq!(code(&bytes, &limits(&[(Limit::Component, size)])), None);
    assert_eq!(code(&bytes, &limits(&[(Limit::Component, size - 1)])), Some(ErrorCode::ComponentLimit));
}

#[test]
fn shapes_beyond_their_bounds_are_refused() {
    let too_much = [
        ("nested components", "(component ".repeat(9) + &")".repeat(9)),
        ("many modules", format!("(component {})", "(core module)".repeat(2_000))),
        ("many functions", format!("(component (core module {}))", "(func)".repeat(200_001))),
        ("many locals", format!("(component (core module (func (local {}))))", "i32 ".repeat(20_001))),
        ("a long function", format!("(component (core module (func {})))", "nop ".repeat(512 * 1024))),
        (
            "many large functions",
            format!("(component (core module {}))", format!("(func {})", "nop ".repeat(200_000)).repeat(14)),
        ),
    ];
    for (what, text) in too_much {
        assert_eq!(code(&wat(&text), &Limits::default()), Some(ErrorCode::ComponentLimit), "{what}");
    }
    // Proposals that are off, one each.
    let off = [
        ("64-bit memory", "(memory i64 1)"),
        ("shared memory", "(memory 1 1 shared)"),
        ("tail calls", "(func (return_call 0))"),
        ("other page sizes", "(memory 1 (pagesize 1))"),
        ("exceptions", "(tag)"),
        ("garbage collection", "(type (struct))"),
        ("external references", "(table 1 externref)"),
        ("relaxed vectors", "(func (drop (i32x4.relaxed_trunc_f32x4_s (v128.const i64x2 0 0))))"),
        ("wide arithmetic", "(func (i64.mul_wide_u (i64.const 1) (i64.const 1)) drop drop)"),
        ("atomics", "(memory 1) (func (drop (i32.atomic.load (i32.const 0))))"),
    ];
    for (what, field) in off {
        let bytes = wat(&format!("(component (core module {field}))"));
        assert_eq!(code(&bytes, &Limits::default()), Some(ErrorCode::ComponentInvalid), "{what}");
    }
}

#[test]
fn truncations_are_refused() {
    let bytes = WatGuest::body("i32.const 0").bytes();
    let lengths = 0..bytes.len();
    let whole =
        lengths.filter(|length| code(&bytes[..*length], &Limits::default()) != Some(ErrorCode::ComponentInvalid));
    // Only where nothing but names is missing.
    let whole: Vec<usize> = whole.collect();
    assert!(whole.len() <= 1 && whole.iter().all(|length| bytes.len() - length < 100), "{whole:?} of {}", bytes.len());
    for whole in [probe_bytes(), todo_bytes()] {
        for part in 1..100 {
            let length = whole.len() * part / 100;
            assert_eq!(code(&whole[..length], &Limits::default()), Some(ErrorCode::ComponentInvalid), "{length} bytes");
        }
    }
}

/// A number as WebAssembly writes it.
fn leb(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

const MODULE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The beginning of a component or a module, with one more section that says it has so many bytes.
fn with_section(begins: &[u8], id: u8, announced: usize, content: &[u8]) -> Vec<u8> {
    [begins, &[id], &leb(announced as u64), content].concat()
}

/// What is said to be there, and is not: nothing is set aside for it.
#[test]
fn what_is_announced_and_not_there_is_refused() {
    for begins in [MODULE, COMPONENT] {
        for id in 0..=13 {
            for content in [&b""[..], b"\0", &[0xff; 100]] {
                let section = with_section(begins, id, 1 << 30, content);
                assert_eq!(code(&section, &Limits::default()), Some(ErrorCode::ComponentInvalid), "section {id}");
                // Entries without end in a section that is whole.
                let entries = [&leb(u64::from(u32::MAX)), content].concat();
                let section = with_section(begins, id, entries.len(), &entries);
                let refusal = code(&section, &Limits::default());
                let refused = matches!(refusal, Some(ErrorCode::ComponentInvalid | ErrorCode::ComponentLimit));
                assert!(refused, "entries of {id}: {refusal:?}");
            }
        }
    }
}

/// A million of what is small, and components in components as deep as that many bytes can be.
#[test]
fn a_million_of_anything_is_refused() {
    const MILLION: u64 = 1_000_001;
    let many = |id: u8, entry: &dyn Fn(u64) -> Vec<u8>| {
        let mut entries = leb(MILLION);
        (0..MILLION).for_each(|at| entries.extend(entry(at)));
        // Types, one function type; imports of it; one function of it, exported under many names.
        let begins = match id {
            2 => with_section(MODULE, 1, 4, b"\x01\x60\0\0"),
            7 => with_section(&with_section(MODULE, 1, 4, b"\x01\x60\0\0"), 3, 2, b"\x01\0"),
            _ => MODULE.to_vec(),
        };
        let module = with_section(&begins, id, entries.len(), &entries);
        [module.clone(), with_section(COMPONENT, 1, module.len(), &module)]
    };
    let cases = [
        ("types", ErrorCode::ComponentLimit, many(1, &|_| b"\x60\0\0".to_vec())),
        ("imports", ErrorCode::ComponentLimit, many(2, &|_| b"\0\0\0\0".to_vec())),
        ("functions", ErrorCode::ComponentInvalid, many(3, &|_| b"\0".to_vec())),
        ("globals", ErrorCode::ComponentLimit, many(6, &|_| b"\x7f\0\x41\0\x0b".to_vec())),
        (
            "exports",
            ErrorCode::ComponentLimit,
            many(7, &|at| [b"\x07", format!("{at:07}").as_bytes(), b"\0\0"].concat()),
        ),
    ];
    for (what, expected, [module, component]) in cases {
        for bytes in [module, component] {
            assert_eq!(code(&bytes, &Limits::default()), Some(expected), "{what}");
        }
    }
    let mut nested = COMPONENT.to_vec();
    for deep in 2..=1_000 {
        nested = with_section(COMPONENT, 4, nested.len(), &nested);
        let expected = if deep > 8 { ErrorCode::ComponentLimit } else { ErrorCode::ComponentInvalid };
        if deep < 20 || deep % 100 == 0 {
            assert_eq!(code(&nested, &Limits::default()), Some(expected), "{deep} deep");
        }
    }
}

/// Numbers that follow from a seed (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

fn mutate(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut mutated = bytes.to_vec();
    for _ in 0..=numbers.next(3) {
        let at = numbers.next(mutated.len());
        match numbers.next(6) {
            0 => mutated[at] ^= 1 << numbers.next(8),
            1 => mutated[at] = [0, 1, 0x7f, 0x80, 0xff][numbers.next(5)],
            2 => mutated.insert(at, numbers.next(256) as u8),
            3 => drop(mutated.remove(at)),
            4 => {
                let (from, length) = (numbers.next(bytes.len()), 1 + numbers.next(16));
                let piece: Vec<u8> = bytes[from..].iter().copied().take(length).collect();
                mutated.splice(at..at, piece);
            }
            _ => mutated[at] = mutated[at].wrapping_add(1),
        }
    }
    mutated
}

const MUTATIONS: usize = 12_000;

#[test]
fn mutated_components_load_or_are_refused_and_what_loads_ends() {
    let mut adding = WatGuest::core(
        "(table 2 funcref) (elem (i32.const 0) $f) (data (i32.const 0) \"data\") (global $g (mut f64) (f64.const 1))
         (func $f (param i32) (result i32) (global.set $g (f64.mul (global.get $g) (f64.const 1.5)))
           (i32.add (local.get 0) (i32.load (i32.const 0))))
         (func (export \"run\") (result i32) (local i32)
           (loop $l (br_if $l (i32.lt_u (local.tee 0 (call_indirect (param i32) (result i32) (local.get 0) (i32.const 0))) (i32.const 1000))))
           (memory.fill (i32.const 8) (i32.const 1) (i32.const 100)) (i32.const 0))",
    );
    adding.imports =
        "(import \"wasi:random/random@0.2.0\" (instance $random (export \"get-random-u64\" (func (result u64)))))"
            .to_owned();
    adding.lowered = vec![("random", "$random \"get-random-u64\"")];
    let module = wat("(module (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32))) (memory (export \"memory\") 1)
        (func (export \"_start\") (call $exit (i32.load (i32.const 16)))))");
    let changed = [(Limit::Fuel, 10_000_000), (Limit::Memory, 64 << 20)];
    // One for all: what is wrong with one of them is nothing to those after it.
    let unharmed = Sandbox::new(Compile::Here, None);
    let (mut loaded, mut good) = (0, 0);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for (bytes, count) in [(adding.bytes(), MUTATIONS * 9 / 10), (module, MUTATIONS / 10)] {
        for number in 0..count {
            let mutated = mutate(&bytes, &mut numbers);
            let program = match unharmed.load(&mutated, &limits(&changed)) {
                Ok(program) => program,
                Err(error) => {
                    let refusal = matches!(error.code(), ErrorCode::ComponentInvalid | ErrorCode::ComponentLimit);
                    assert!(refusal, "mutation {number}: {error}");
                    continue;
                }
            };
            loaded += 1;
            let run = run_parts(&program, parts(&[], limits(&changed))).expect("an outcome");
            assert_eq!(laws(&run, &changed), Vec::<String>::new(), "mutation {number}");
            good += usize::from(!run.after.volumes.is_empty());
        }
    }
    println!("{MUTATIONS} mutations: {loaded} loaded, {good} of them ended well");
    // Mutations that all fail at the first byte, or that change nothing, would prove nothing.
    assert!(
        loaded > MUTATIONS / 100 && good > 0 && loaded - good > MUTATIONS / 1000,
        "{loaded} loaded, {good} ended well"
    );
    assert!(sandbox().load(&adding.bytes(), &Limits::default()).is_ok());
}

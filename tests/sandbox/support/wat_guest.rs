//! Guests in WebAssembly's text format: small enough that what they do is what is written here.

use std::fmt::Write;

/// A component that runs one core function.
#[derive(Clone)]
pub(crate) struct WatGuest {
    /// Component-level text before anything else: imports and aliases of their types.
    pub(crate) imports: String,
    /// Functions lowered for the core module `"host"`: name there, then the component function's index expression.
    pub(crate) lowered: Vec<(&'static str, &'static str)>,
    /// Core functions made by other means, such as `(canon resource.drop $t)`.
    pub(crate) made: Vec<(&'static str, &'static str)>,
    /// Fields of the core module; one must be `(func (export "run") (result i32) …)`, 0 for ok and 1 for err.
    pub(crate) core: String,
    /// Pages of the memory, at the start and at most.
    pub(crate) memory: String,
    /// The body of `realloc`, parameters `$old $old_size $align $size`; a bump allocator if empty.
    pub(crate) realloc: String,
    /// More fields of the module that has memory and `realloc`.
    pub(crate) libc: String,
    /// Text after the core instance.
    pub(crate) after: String,
    /// What its export is called.
    pub(crate) export: String,
}

impl Default for WatGuest {
    fn default() -> WatGuest {
        WatGuest {
            imports: String::new(),
            lowered: Vec::new(),
            made: Vec::new(),
            core: String::new(),
            memory: "2".to_owned(),
            realloc: String::new(),
            libc: String::new(),
            after: String::new(),
            export: "wasi:cli/run@0.2.0".to_owned(),
        }
    }
}

/// A bump allocator that grows memory as it must, and starts again at 64 KiB when asked by setting `$top`.
pub(crate) const BUMP: &str = "
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
                            (i32.sub (i32.const 0) (local.get $align))))
    (global.set $top (i32.add (local.get $at) (local.get $size)))
    (block $fits
      (br_if $fits (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
      (drop (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get $size) (i32.const 16))))))
    (local.get $at)";

impl WatGuest {
    /// A guest whose `run` has this body: instructions that leave 0 or 1.
    pub(crate) fn body(body: &str) -> WatGuest {
        WatGuest::core(&format!("(func (export \"run\") (result i32) {body})"))
    }

    /// A guest with these fields in its core module.
    pub(crate) fn core(core: &str) -> WatGuest {
        WatGuest { core: core.to_owned(), ..WatGuest::default() }
    }

    /// The component's text.
    pub(crate) fn text(&self) -> String {
        let mut canons = String::new();
        let mut given = String::new();
        for (name, function) in &self.lowered {
            let memory = "(memory (core memory $libc \"memory\")) (realloc (core func $libc \"realloc\"))";
            writeln!(canons, "(core func ${name} (canon lower (func {function}) {memory}))").expect("a string");
            write!(given, "(export \"{name}\" (func ${name}))").expect("a string");
        }
        for (name, canon) in &self.made {
            writeln!(canons, "(core func ${name} {canon})").expect("a string");
            write!(given, "(export \"{name}\" (func ${name}))").expect("a string");
        }
        let realloc = if self.realloc.is_empty() { BUMP } else { &self.realloc };
        let WatGuest { imports, memory, core, libc, after, export, .. } = self;
        format!(
            "(component
              {imports}
              (core module $libc
                (memory (export \"memory\") {memory})
                (global $top (export \"top\") (mut i32) (i32.const 65536))
                (func (export \"realloc\") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
                  {realloc})
                {libc})
              (core instance $libc (instantiate $libc))
              {canons}
              (core module $main
                (import \"libc\" \"memory\" (memory 1))
                (import \"libc\" \"top\" (global $top (mut i32)))
                {core})
              (core instance $main (instantiate $main
                (with \"libc\" (instance $libc))
                (with \"host\" (instance {given}))))
              {after}
              (func $run (result (result)) (canon lift (core func $main \"run\")))
              (instance $exported (export \"run\" (func $run)))
              (export \"{export}\" (instance $exported)))"
        )
    }

    /// The component's bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        wat(&self.text())
    }
}

/// The bytes of WebAssembly text.
pub(crate) fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

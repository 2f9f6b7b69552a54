//! What a component may look like before it is compiled at all: bounds on its parts, checked in one pass over its bytes. A
//! compiler's time can grow with the square of one function, so large functions have a budget of their own, which says by their
//! lengths alone, and the same everywhere, what no clock could. And a component can be made of components that are made of others:
//! what that comes to when all of them are instantiated is counted here, where nothing of it has been made yet.

use wasmparser::{
    BinaryReader, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentType,
    ComponentTypeDeclaration, ComponentTypeRef, ElementItems, Encoding, ExternalKind, Instance, Parser, Payload,
    TypeRef,
};

/// Bytes of one function's body.
const BODY_BYTES_MAX: u64 = 512 * 1024;
/// Bytes beyond which a function's body is large. The largest of CPython's has 104 KB.
const LARGE_BYTES: u64 = 64 * 1024;
/// The sum of the squares of the lengths of all large bodies. Measured, the compiler took at most 0.14 ns for each (wasmtime issue
/// 4923), so 77 s for all of this; yosys, 69 MB of ordinary code, has two thirds of it.
const LARGE_SQUARES_MAX: u64 = 1 << 39;
/// Local variables of one function, parameters not counted.
const LOCALS_MAX: u64 = 20_000;
/// Functions of all modules.
const FUNCTIONS_MAX: u64 = 200_000;
/// Modules and components, nested ones included.
const PARTS_MAX: u64 = 2_000;
/// Modules and components within each other.
const NESTING_MAX: u64 = 8;
/// Types of components and instances within each other. Those of WASI's interfaces have three.
const TYPES_NESTING_MAX: u64 = 100;
/// Component instances, core instances, resources, and functions between them, each, once all is instantiated.
const INSTANTIATED_MAX: u64 = 100_000;
/// Types of functions and the like, of all modules. Each takes more than a kilobyte at each run. CPython has some hundreds.
const TYPES_MAX: u64 = 20_000;
/// Bytes that the engine takes for core instances beside their memories and tables, once all is instantiated: see [`SLOT_BYTES`].
const INSTANCES_BYTES_MAX: u64 = 8 << 20;
/// Counted for each global and tag, and for each element of a segment.
const SLOT_BYTES: u64 = 16;
/// Counted for each thing that is imported, and for each function that others may call: those that are exported or stand in a segment.
const REFERENCE_BYTES: u64 = 32;

/// All of what a component may have before it is compiled: with others, other components are refused.
pub const CAPS: [u64; 13] = [
    BODY_BYTES_MAX,
    LARGE_BYTES,
    LARGE_SQUARES_MAX,
    LOCALS_MAX,
    FUNCTIONS_MAX,
    PARTS_MAX,
    NESTING_MAX,
    TYPES_NESTING_MAX,
    INSTANTIATED_MAX,
    TYPES_MAX,
    INSTANCES_BYTES_MAX,
    SLOT_BYTES,
    REFERENCE_BYTES,
];

/// What the bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Payloads {
    /// A component.
    Component,
    /// A core module, as WASI 0.1 has them.
    CoreModule,
}

/// Why the bytes are not compiled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShapeError {
    /// They are not WebAssembly.
    #[error("{0}")]
    Malformed(String),
    /// They are, and too much of it.
    #[error("{what} is {count}, more than {max}")]
    TooMuch { what: &'static str, count: u64, max: u64 },
}

/// What instantiating a component makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    /// Instances of components, its own included.
    pub(crate) component_instances: u64,
    core_instances: u64,
    /// Bytes of core instances.
    core_bytes: u64,
    /// Types of resources that it defines.
    pub(crate) resources: u64,
    functions: u64,
}

impl Made {
    const ITSELF: Made = Made { component_instances: 1, core_instances: 0, core_bytes: 0, resources: 0, functions: 0 };

    fn add(&mut self, inner: Made) {
        self.component_instances = self.component_instances.saturating_add(inner.component_instances);
        self.core_instances = self.core_instances.saturating_add(inner.core_instances);
        self.core_bytes = self.core_bytes.saturating_add(inner.core_bytes);
        self.resources = self.resources.saturating_add(inner.resources);
        self.functions = self.functions.saturating_add(inner.functions);
    }
}

/// Says what `bytes` are and what they make, if they may be compiled.
pub(crate) fn inspect(bytes: &[u8]) -> Result<(Payloads, Made), ShapeError> {
    let mut kind = None;
    let mut code = Code::default();
    let (mut open, mut parts, mut types, mut whole) = (Vec::new(), 0u64, 0u64, Made::ITSELF);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(malformed)? {
            Payload::Version { encoding, .. } => {
                let is = match encoding {
                    Encoding::Component => Payloads::Component,
                    Encoding::Module => Payloads::CoreModule,
                };
                kind.get_or_insert(is);
                open.push(Part { made: Made::ITSELF, components: Vec::new(), modules: Vec::new(), is });
                parts += 1;
                at_most("the number of modules and components", parts, PARTS_MAX)?;
                at_most("the nesting of modules and components", open.len() as u64, NESTING_MAX)?;
            }
            Payload::End(_) => {
                let Some(ended) = open.pop() else { continue };
                if ended.is == Payloads::Component {
                    whole = ended.made;
                }
                match (open.last_mut(), ended.is) {
                    (Some(outer), Payloads::Component) => outer.components.push(Some(ended.made)),
                    (Some(outer), Payloads::CoreModule) => outer.modules.push(Some(ended.made.core_bytes)),
                    (None, _) => {}
                }
            }
            Payload::TypeSection(section) => {
                for group in section {
                    types += group.map_err(malformed)?.types().len() as u64;
                    at_most("the number of types of modules", types, TYPES_MAX)?;
                }
            }
            Payload::CodeSectionEntry(body) => code.add(&body)?,
            Payload::ComponentTypeSection(section) => {
                let range = section.range();
                check_nesting(bytes.get(range.clone()).unwrap_or_default(), range.start)?;
                read_section(Payload::ComponentTypeSection(section), &mut open)?;
            }
            other => read_section(other, &mut open)?,
        }
    }
    let kind = kind.ok_or_else(|| ShapeError::Malformed("there are no bytes".to_owned()))?;
    Ok((kind, whole))
}

fn malformed(error: wasmparser::BinaryReaderError) -> ShapeError {
    ShapeError::Malformed(error.to_string())
}

/// Sums over the functions of all modules.
#[derive(Default)]
struct Code {
    functions: u64,
    large_squares: u64,
}

impl Code {
    fn add(&mut self, body: &wasmparser::FunctionBody<'_>) -> Result<(), ShapeError> {
        self.functions += 1;
        at_most("the number of functions", self.functions, FUNCTIONS_MAX)?;
        let bytes = body.range().len() as u64;
        at_most("the length of a function", bytes, BODY_BYTES_MAX)?;
        if bytes > LARGE_BYTES {
            self.large_squares += bytes * bytes;
            at_most("the sum of the squares of the lengths of large functions", self.large_squares, LARGE_SQUARES_MAX)?;
        }
        let mut locals = 0u64;
        for group in body.get_locals_reader().map_err(malformed)? {
            let (count, _) = group.map_err(malformed)?;
            locals = locals.saturating_add(u64::from(count));
        }
        at_most("the number of local variables of a function", locals, LOCALS_MAX)
    }
}

/// A module or component that is being read.
struct Part {
    is: Payloads,
    /// What instantiating it makes, so far.
    made: Made,
    /// The components that can be named in it, with what instantiating them makes; `None` for one that is only known when it runs.
    components: Vec<Option<Made>>,
    /// The same of modules, with the bytes of an instance.
    modules: Vec<Option<u64>>,
}

/// Refuses types that stand too deep within each other, in a section of them. Parsers read one within another by calling themselves, so
/// whoever may write any number of them says where a stack ends: they are gone through here first, without that.
fn check_nesting(section: &[u8], at: usize) -> Result<(), ShapeError> {
    const COMPONENT: u8 = 0x41;
    const INSTANCE: u8 = 0x42;
    const DECLARES_A_TYPE: u8 = 0x01;
    let mut reader = BinaryReader::new(section, at);
    // How many types of the section are still to come, and how many declarations of each type that is being read.
    let mut left = vec![reader.read_var_u32().map_err(malformed)?];
    while let Some(count) = left.last_mut() {
        if *count == 0 {
            left.pop();
            continue;
        }
        *count -= 1;
        let is_within = left.len() > 1;
        let mut ahead = reader.clone();
        let is_type = !is_within || ahead.read_u8().map_err(malformed)? == DECLARES_A_TYPE;
        if is_type && matches!(ahead.read_u8().map_err(malformed)?, COMPONENT | INSTANCE) {
            at_most("the nesting of types", left.len() as u64, TYPES_NESTING_MAX)?;
            left.push(ahead.read_var_u32().map_err(malformed)?);
            reader = ahead;
        } else if is_within {
            reader.read::<ComponentTypeDeclaration<'_>>().map_err(malformed)?;
        } else {
            reader.read::<ComponentType<'_>>().map_err(malformed)?;
        }
    }
    Ok(())
}

/// Counts what a section of a component or module makes, and follows what components and modules are called.
fn read_section(payload: Payload<'_>, open: &mut [Part]) -> Result<(), ShapeError> {
    let missing = |what: &str| ShapeError::Malformed(format!("a {what} is named that is not there"));
    let given = |what: &str| {
        ShapeError::Malformed(format!("it instantiates a {what} that it is given, which this host does not do"))
    };
    let Some((part, outer)) = open.split_last_mut() else { return Ok(()) };
    let held = |slots: u64, references: u64| {
        slots.saturating_mul(SLOT_BYTES).saturating_add(references.saturating_mul(REFERENCE_BYTES))
    };
    match payload {
        Payload::ImportSection(section) => {
            for import in section.into_imports() {
                let is_global = matches!(import.map_err(malformed)?.ty, TypeRef::Global(_));
                part.made.core_bytes += held(u64::from(is_global), 1);
            }
        }
        Payload::GlobalSection(section) => part.made.core_bytes += held(u64::from(section.count()), 0),
        Payload::TagSection(section) => part.made.core_bytes += held(u64::from(section.count()), 0),
        Payload::ExportSection(section) => {
            for export in section {
                let is_function = export.map_err(malformed)?.kind == ExternalKind::Func;
                part.made.core_bytes += held(0, u64::from(is_function));
            }
        }
        Payload::ElementSection(section) => {
            for segment in section {
                let elements = match segment.map_err(malformed)?.items {
                    ElementItems::Functions(functions) => functions.count(),
                    ElementItems::Expressions(_, expressions) => expressions.count(),
                };
                part.made.core_bytes += held(u64::from(elements), u64::from(elements));
            }
        }
        Payload::InstanceSection(section) => {
            for instance in section {
                if let Instance::Instantiate { module_index, .. } = instance.map_err(malformed)? {
                    let known = part.modules.get(module_index as usize).ok_or_else(|| missing("module"))?;
                    let bytes = known.ok_or_else(|| given("module"))?;
                    part.made.core_instances += 1;
                    part.made.core_bytes = part.made.core_bytes.saturating_add(bytes);
                }
            }
        }
        Payload::ComponentInstanceSection(section) => {
            for instance in section {
                let ComponentInstance::Instantiate { component_index, .. } = instance.map_err(malformed)? else {
                    continue;
                };
                let known = part.components.get(component_index as usize).ok_or_else(|| missing("component"))?;
                part.made.add(known.ok_or_else(|| given("component"))?);
            }
        }
        Payload::ComponentAliasSection(section) => {
            for alias in section {
                match alias.map_err(malformed)? {
                    ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                        part.components.push(None);
                    }
                    ComponentAlias::InstanceExport { kind: ComponentExternalKind::Module, .. } => {
                        part.modules.push(None);
                    }
                    ComponentAlias::Outer { kind, count, index } => {
                        let of = match count {
                            0 => Some(&*part),
                            _ => outer.len().checked_sub(count as usize).and_then(|at| outer.get(at)),
                        };
                        let index = index as usize;
                        match kind {
                            ComponentOuterAliasKind::Component => {
                                let known = of.and_then(|of| of.components.get(index));
                                let known = *known.ok_or_else(|| missing("component"))?;
                                part.components.push(known);
                            }
                            ComponentOuterAliasKind::CoreModule => {
                                let known = of.and_then(|of| of.modules.get(index));
                                let known = *known.ok_or_else(|| missing("module"))?;
                                part.modules.push(known);
                            }
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
        }
        Payload::ComponentImportSection(section) => {
            for import in section {
                match import.map_err(malformed)?.ty {
                    ComponentTypeRef::Component(_) => part.components.push(None),
                    ComponentTypeRef::Module(_) => part.modules.push(None),
                    _ => {}
                }
            }
        }
        Payload::ComponentExportSection(section) => {
            for export in section {
                let export = export.map_err(malformed)?;
                let index = export.index as usize;
                match export.kind {
                    ComponentExternalKind::Component => {
                        let known = *part.components.get(index).ok_or_else(|| missing("component"))?;
                        part.components.push(known);
                    }
                    ComponentExternalKind::Module => {
                        let known = *part.modules.get(index).ok_or_else(|| missing("module"))?;
                        part.modules.push(known);
                    }
                    _ => {}
                }
            }
        }
        Payload::ComponentTypeSection(section) => {
            for ty in section {
                if let ComponentType::Resource { .. } = ty.map_err(malformed)? {
                    part.made.resources += 1;
                }
            }
        }
        Payload::ComponentCanonicalSection(section) => part.made.functions += u64::from(section.count()),
        _ => return Ok(()),
    }
    let Made { component_instances, core_instances, core_bytes, resources, functions } = part.made;
    at_most("the number of component instances", component_instances, INSTANTIATED_MAX)?;
    at_most("the number of core instances", core_instances, INSTANTIATED_MAX)?;
    at_most("what instances hold beside memories and tables, in bytes,", core_bytes, INSTANCES_BYTES_MAX)?;
    at_most("the number of resource types", resources, INSTANTIATED_MAX)?;
    at_most("the number of functions between components", functions, INSTANTIATED_MAX)
}

fn at_most(what: &'static str, count: u64, max: u64) -> Result<(), ShapeError> {
    if count > max { Err(ShapeError::TooMuch { what, count, max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_bytes() {
        assert!(matches!(inspect(&wat::parse_str("(component)").unwrap()), Ok((Payloads::Component, Made::ITSELF))));
        assert!(matches!(inspect(&wat::parse_str("(module)").unwrap()), Ok((Payloads::CoreModule, _))));
        for bad in [&b""[..], b"\0asm", b"\x7fELF\x02\x01\x01\0", b"(component)", b"\0asm\x0e\0\x01\0"] {
            assert!(matches!(inspect(bad), Err(ShapeError::Malformed(_))), "{bad:?} was taken");
        }
    }

    #[test]
    fn each_bound_bites_just_beyond_it() {
        let locals = |count: u64| format!("(module (func (local {})))", "i32 ".repeat(count as usize));
        let body = |bytes: u64| format!("(func {})", "nop ".repeat(bytes as usize - 2));
        let bodies = |bytes: u64, count: u64| format!("(module {})", body(bytes).repeat(count as usize));
        let modules = |count: u64| format!("(component {})", "(core module)".repeat(count as usize));
        let nested = |depth: u64| "(component ".repeat(depth as usize) + &")".repeat(depth as usize);
        let functions = |count: u64| format!("(module {})", "(func)".repeat(count as usize));
        let instances =
            |count: u64| format!("(component (component $c) {})", "(instance (instantiate $c))".repeat(count as usize));
        let resources = |count: u64| format!("(component {})", "(type (resource (rep i32)))".repeat(count as usize));
        let types = |count: u64| format!("(module {})", "(type (func))".repeat(count as usize));
        let globals = |count: u64| format!("(module {})", "(global i32 (i32.const 0))".repeat(count as usize));
        let elements = |count: u64| format!("(module (func $f) (elem func {}))", "$f ".repeat(count as usize));
        let imported = |count: u64| format!("(module {})", "(import \"a\" \"b\" (func))".repeat(count as usize));
        let filled = |count: u64| {
            let again = "(core instance (instantiate $n))".repeat(count as usize);
            let module = globals(1_024).replacen("(module", "(core module $m", 1);
            format!(
                "(component {module} (component (alias outer 1 $m (core module $n)) {again}) (instance (instantiate 0)))"
            )
        };
        let (slots, references) = (INSTANCES_BYTES_MAX / SLOT_BYTES, INSTANCES_BYTES_MAX / REFERENCE_BYTES);
        let both = INSTANCES_BYTES_MAX / (SLOT_BYTES + REFERENCE_BYTES);
        // Of 128 KiB each: 2^34.
        let large = LARGE_SQUARES_MAX >> 34;
        let cases = [
            (locals(LOCALS_MAX), locals(LOCALS_MAX + 1)),
            (bodies(BODY_BYTES_MAX, 1), bodies(BODY_BYTES_MAX + 1, 1)),
            (bodies(128 * 1024, large), bodies(128 * 1024, large + 1)),
            (modules(PARTS_MAX - 1), modules(PARTS_MAX)),
            (nested(NESTING_MAX), nested(NESTING_MAX + 1)),
            (functions(FUNCTIONS_MAX), functions(FUNCTIONS_MAX + 1)),
            (instances(INSTANTIATED_MAX - 1), instances(INSTANTIATED_MAX)),
            (resources(INSTANTIATED_MAX), resources(INSTANTIATED_MAX + 1)),
            (types(TYPES_MAX), types(TYPES_MAX + 1)),
            (globals(slots), globals(slots + 1)),
            (elements(both), elements(both + 1)),
            (imported(references), imported(references + 1)),
            (filled(slots / 1_024), filled(slots / 1_024 + 1)),
        ];
        // Each is large, so they are read side by side.
        std::thread::scope(|scope| {
            for (fits, exceeds) in cases {
                scope.spawn(move || {
                    let fits = inspect(&wat::parse_str(&fits).unwrap());
                    assert!(fits.is_ok(), "{fits:?}");
                    let exceeds = inspect(&wat::parse_str(&exceeds).unwrap());
                    assert!(matches!(exceeds, Err(ShapeError::TooMuch { .. })), "{exceeds:?}");
                });
            }
        });
        // What is not large may be much.
        assert!(inspect(&wat::parse_str(bodies(LARGE_BYTES, 3 * large)).unwrap()).is_ok());
    }

    #[test]
    fn components_in_components_are_counted_as_often_as_they_are_instantiated() {
        let inner = "(component $a (type (resource (rep i32))) (core module $m) (core instance (instantiate $m)))";
        let twice = |name: &str, of: &str| {
            format!("(component ${name} (instance (instantiate ${of})) (instance (instantiate ${of})))")
        };
        let text = format!("(component {inner} {} {} (instance (instantiate $c)))", twice("b", "a"), twice("c", "b"));
        let (_, made) = inspect(&wat::parse_str(&text).unwrap()).unwrap();
        assert_eq!((made.component_instances, made.resources, made.core_instances), (1 + 1 + 2 + 4, 4, 4));
        // Reached by another name: exported, or taken from further out.
        let text = format!(
            "(component {inner} (export $again \"again\" (component $a)) (instance (instantiate $again))
               (component $b (component $c (instance (instantiate $a))) (instance (instantiate $c)))
               (instance (instantiate $b)))"
        );
        let (_, made) = inspect(&wat::parse_str(&text).unwrap()).unwrap();
        assert_eq!((made.component_instances, made.resources), (1 + 1 + 3, 2));
        // What can't be counted is not taken.
        for text in [
            "(component (import \"c\" (component $c)) (instance (instantiate $c)))",
            "(component (import \"i\" (instance $i (export \"c\" (component)))) (alias export $i \"c\" (component $c)) (instance (instantiate $c)))",
        ] {
            let error = inspect(&wat::parse_str(text).unwrap());
            assert!(matches!(&error, Err(ShapeError::Malformed(why)) if why.contains("is given")), "{error:?}");
        }
    }

    #[test]
    fn a_tree_of_instances_in_a_few_bytes_is_refused() {
        let level = |at: u32, below: &str| {
            format!("(component $c{at} {})", format!("(instance (instantiate {below}))").repeat(16))
        };
        for innermost in ["", "(type (resource (rep i32)))"] {
            let mut text = format!("(component $c0 {innermost})");
            for at in 1..=6 {
                text += &level(at, &format!("$c{}", at - 1));
            }
            let bytes = wat::parse_str(format!("(component {text} (instance (instantiate $c6)))")).unwrap();
            assert!(bytes.len() < 2_000, "{} bytes, names included", bytes.len());
            assert!(matches!(
                inspect(&bytes),
                Err(ShapeError::TooMuch { what: "the number of component instances", .. })
            ));
        }
    }
}

//! A component that is ready to run, and the sandbox that makes it so.

use crate::cache::ArtifactCache;
use crate::compile::{ANSWER_BYTES_MAX, Compile, compile, given, is_final};
use crate::deadline::{Keeper, Stopwatch, Watch, Work};
use crate::given::Given;
use crate::loaded::Program;
use crate::memories;
use crate::ring;
use crate::stop::Stop;
use crate::verdict::{self, MachineCode, Verdict};
use hutch_engine::settings::{self, Backend, Target};
use hutch_engine::{Code, LoadError};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::limits::{Limit, Limits};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use wasmtime::Engine;

/// Makes programs. One for a process; it may be shared by threads.
pub struct Sandbox {
    backend: Backend,
    cache: Option<Arc<ArtifactCache>>,
    compile: Compile,
    /// The code of all its programs, if it compiles none.
    given: Option<Given>,
    keeper: Keeper,
    /// Whether a component is compiled, and asked what it is, behind a ring alone.
    requires_ring: bool,
    /// Engines by stack size, the one setting that differs between runs, of which there are few.
    engines: Mutex<HashMap<u64, Engine>>,
    /// The last programs, the one that was used last at the end.
    programs: Mutex<Vec<Program>>,
    /// What is kept for as long as this is, by component and stack size: also that there is no program, and why.
    held: Mutex<HashMap<(Digest, u64), Result<Program, LoadError>>>,
}

/// Why there is no ring around a compiler, or around a component that is asked what it is.
pub(crate) const NO_FILTER: &str = "this system has no filter for system calls";

/// Programs that are kept ready. Each holds its machine code mapped, of which only the pages that are used take memory.
const PROGRAMS_MAX: usize = 16;

/// What code can be made for, by its name.
///
/// # Errors
/// The compiler makes none for it; what there is is named.
pub fn target_named(name: &str) -> Result<Target, LoadError> {
    Target::named(name).ok_or_else(|| LoadError::Target {
        name: name.to_owned(),
        has: Target::all().iter().map(|target| target.name().to_owned()).collect(),
    })
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        Sandbox::new(Compile::default(), None)
    }
}

impl Sandbox {
    /// A sandbox that compiles as it is told and keeps artifacts in `cache`, if there is one.
    pub fn new(compile: Compile, cache: Option<ArtifactCache>) -> Sandbox {
        Sandbox {
            backend: Backend::Native,
            cache: cache.map(Arc::new),
            compile,
            given: None,
            keeper: Keeper::default(),
            requires_ring: false,
            engines: Mutex::default(),
            programs: Mutex::default(),
            held: Mutex::default(),
        }
    }

    /// A sandbox that has been given nothing yet, and compiles nothing.
    pub fn of_artifacts(backend: Backend) -> Sandbox {
        Sandbox { given: Some(Given::default()), ..Sandbox::default() }.on(backend)
    }

    /// Gives such a sandbox the code of a component, and says of which.
    ///
    /// # Errors
    /// It is no artifact, or one for another kind of host; or the sandbox compiles by itself.
    ///
    /// # Safety
    /// Its bytes are run as they are: they must be what a compiler of hutch made, and nobody may have changed them since. That their own
    /// digest holds says nothing of who made them.
    #[allow(unsafe_code, reason = "whoever calls this vouches for machine code")]
    pub unsafe fn give(&self, artifact: Vec<u8>) -> Result<Digest, LoadError> {
        let compiles = || LoadError::Host("this sandbox compiles by itself, and takes no code".to_owned());
        let component = self.given.as_ref().ok_or_else(compiles)?.take(self.backend, artifact)?;
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.retain(|program| program.digest != component);
        Ok(component)
    }

    /// The same on another backend: outcomes are equal, and one engine is checked by another so.
    pub fn on(self, backend: Backend) -> Sandbox {
        Sandbox { backend, engines: Mutex::default(), programs: Mutex::default(), held: Mutex::default(), ..self }
    }

    /// The same, keeping artifacts in a cache that has other users too.
    pub fn sharing(self, cache: Arc<ArtifactCache>) -> Sandbox {
        Sandbox { cache: Some(cache), ..self }
    }

    /// The same, compiling no component, and asking none what it is, where that is not done behind a ring.
    pub fn requiring_ring(self) -> Sandbox {
        Sandbox { requires_ring: true, ..self }
    }

    /// The same, telling of what may take long.
    pub fn watched(self, watch: Watch) -> Sandbox {
        Sandbox { keeper: Keeper { watch: Some(watch), ..self.keeper }, ..self }
    }

    /// Makes a program of a component, or of a core module of WASI 0.1. Compiles it unless its artifact is in the cache.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load(&self, component: &[u8], limits: &Limits) -> Result<Program, LoadError> {
        let digest = Digest::of(Kind::Component, component);
        self.load_known(digest, component.len() as u64, limits, || Ok(component))
    }

    /// The same, of a component of which digest and length are known: it is read only if it has to be compiled.
    ///
    /// # Errors
    /// See [`LoadError`]; or the failure of `read`.
    pub fn load_known<'c, E: From<LoadError>>(
        &self,
        digest: Digest,
        bytes: u64,
        limits: &Limits,
        read: impl FnOnce() -> Result<&'c [u8], E>,
    ) -> Result<Program, E> {
        let start = Stopwatch::start();
        check_length(bytes, limits)?;
        let stack_bytes = settings::stack_bytes(limits.get(Limit::Stack));
        if let Some(loaded) = self.loaded(digest, stack_bytes) {
            let load_time_us = start.elapsed_us();
            return Ok(Program { load_time_us, compiled: false, ..loaded? });
        }
        let engine = self.engine(stack_bytes)?;
        let (Ready { code, made }, compiled) = match &self.given {
            Some(given) => {
                let (code, made) = given.code(&engine, &digest)?;
                (Ready { code, made }, false)
            }
            None => self.found_or_compiled(&engine, &digest, limits, read)?,
        };
        let linked = code.link(&engine)?;
        let load_time_us = start.elapsed_us();
        let keeper = self.keeper.clone();
        let program = Program { engine, linked, stack_bytes, made, load_time_us, compiled, keeper, digest };
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() >= PROGRAMS_MAX {
            programs.remove(0);
        }
        programs.push(program.clone());
        Ok(program)
    }

    /// Keeps what loading a component came to for as long as this sandbox is: for a process in which nothing is compiled from then on. That is
    /// its code, of which only the pages that are used take memory where it lies in the cache; memory for guests is not among it.
    pub fn hold(&self, component: Digest, limits: &Limits, loaded: Result<Program, LoadError>) {
        let stack_bytes = settings::stack_bytes(limits.get(Limit::Stack));
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert((component, stack_bytes), loaded);
    }

    /// An artifact of a component for a target, wherever that is, as [`read_artifact`](crate::read_artifact) takes it; nothing of it is
    /// kept here, and what the cache holds for this backend is not compiled again. Where it is loaded, what the component imports may still
    /// be refused.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn compile_for(&self, target: &str, component: &[u8], limits: &Limits) -> Result<Vec<u8>, LoadError> {
        check_length(component.len() as u64, limits)?;
        let target = target_named(target)?;
        let name = artifact_name(self.backend, &Digest::of(Kind::Component, component));
        let cache = self.cache.as_ref().filter(|_| target == self.backend.into());
        let kept = cache.and_then(|cache| cache.get(&name)).and_then(Verdict::into_read_code);
        let verdict = match kept {
            Some(kept) => kept,
            None => {
                self.check_ring()?;
                let _watched = self.keeper.watch.as_ref().map(|watch| watch(Work::Compile));
                compile(&self.compile, &target, component, limits, &|| None)
            }
        };
        let (code, made) = given(verdict)?;
        hutch_engine::written_artifact(component, &target, made, &code)
    }

    /// Whether the cache holds what a component comes to.
    pub fn is_kept(&self, component: &Digest) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.get(&artifact_name(self.backend, component)).is_some())
    }

    /// What loading came to before.
    fn loaded(&self, digest: Digest, stack_bytes: u64) -> Option<Result<Program, LoadError>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).get(&(digest, stack_bytes)).cloned();
        if held.is_some() {
            return held;
        }
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |program: &Program| program.digest == digest && program.stack_bytes == stack_bytes;
        let program = programs.iter().position(is_it).map(|at| programs.remove(at))?;
        programs.push(program.clone());
        Some(Ok(program))
    }

    /// The code of a component, and whether it was compiled now.
    fn found_or_compiled<'c, E: From<LoadError>>(
        &self,
        engine: &Engine,
        digest: &Digest,
        limits: &Limits,
        read: impl FnOnce() -> Result<&'c [u8], E>,
    ) -> Result<(Ready, bool), E> {
        let name = artifact_name(self.backend, digest);
        let usable = |verdict: Verdict| ready(engine, verdict, limits);
        if let Some(found) = self.cache.as_ref().and_then(|cache| cache.get(&name)).and_then(usable) {
            return Ok((found?, false));
        }
        let component = read()?;
        let _watched = self.keeper.watch.as_ref().map(|watch| watch(Work::Compile));
        Ok((self.compile(engine, &name, component, limits)?, true))
    }

    /// Whether a compiler may start.
    fn check_ring(&self) -> Result<(), LoadError> {
        match self.requires_ring && !ring::is_there() {
            true => Err(LoadError::Unenclosed(NO_FILTER)),
            false => Ok(()),
        }
    }

    /// Compiles a component and keeps what that comes to.
    fn compile(&self, engine: &Engine, name: &Digest, component: &[u8], limits: &Limits) -> Result<Ready, LoadError> {
        self.check_ring()?;
        let aside = OnceLock::new();
        let beside = || {
            let aside = aside.get_or_init(|| self.cache.as_ref()?.aside(name)).as_ref()?;
            aside.file.try_clone().ok()
        };
        let verdict = compile(&self.compile, &self.backend.into(), component, limits, &beside);
        let ready = match &verdict {
            Verdict::Code { code, component_instances, resources } => {
                let code = code.map(engine).map_err(|error| LoadError::Host(format!("{error:#}")))?;
                let denied = code.check_denied(engine).map_err(LoadError::Invalid);
                denied.map(|()| Ready { code, made: *component_instances.max(resources) })
            }
            Verdict::Refused(refusal) => Err(refusal.clone()),
        };
        if let Some(cache) = &self.cache {
            match &ready {
                Ok(_) => cache.put(name, &verdict, aside.into_inner().flatten()),
                Err(refusal) if is_final(refusal) => cache.put(name, &Verdict::Refused(refusal.clone()), None),
                Err(_) => {}
            }
        }
        ready
    }

    fn engine(&self, stack_bytes: u64) -> Result<Engine, LoadError> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = engines.get(&stack_bytes) {
            return Ok(engine.clone());
        }
        LoadError::if_processor_lacks(self.backend)?;
        let memories = (self.backend == Backend::Native).then(memories::shared).flatten();
        let engine = settings::runner(self.backend, stack_bytes, memories);
        let engine = engine.map_err(|error| LoadError::Host(format!("no engine: {error:#}")))?;
        engines.insert(stack_bytes, engine.clone());
        Ok(engine)
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    pub(crate) fn cache(&self) -> Option<&ArtifactCache> {
        self.cache.as_deref()
    }

    pub(crate) fn compile_how(&self) -> &Compile {
        &self.compile
    }

    pub(crate) fn requires_ring(&self) -> bool {
        self.requires_ring
    }

    /// What is kept of a program's description: it follows from this.
    pub(crate) fn described_name(&self, program: &Program, limits: &Limits) -> Digest {
        let mut hasher = Hasher::new(Kind::Note);
        hasher.update_part(b"described");
        hasher.update_part(artifact_name(self.backend, &program.digest).as_bytes());
        hasher.update_part(&serde_json::to_vec(limits).unwrap_or_default());
        hasher.finish()
    }
}

impl Program {
    /// The same program, whose runs `stop` ends: none of them comes to an outcome then.
    #[must_use]
    pub fn stopped_by(self, stop: Stop) -> Program {
        Program { keeper: Keeper { stop: Some(stop), ..self.keeper }, ..self }
    }

    /// The same program, for a run for which the host has worked so long already: that counts as the run's own time.
    #[must_use]
    pub fn having_spent(self, spent: Duration) -> Program {
        Program { keeper: Keeper { spent, ..self.keeper }, ..self }
    }

    /// A program of nothing but code, for a process that does no more than ask it what it is.
    pub(crate) fn of_code(backend: Backend, code: Option<Verdict>, limits: &Limits) -> Result<Program, LoadError> {
        let sandbox = Sandbox::default().on(backend);
        let stack_bytes = settings::stack_bytes(limits.get(Limit::Stack));
        let engine = sandbox.engine(stack_bytes)?;
        let none = || LoadError::Host("there is no code".to_owned());
        let Ready { code, made } = code.and_then(|code| ready(&engine, code, limits)).ok_or_else(none)??;
        let (linked, digest) = (code.link(&engine)?, Digest::of(Kind::Component, &[]));
        let keeper = sandbox.keeper.clone();
        Ok(Program { engine, linked, stack_bytes, made, load_time_us: 0, compiled: false, keeper, digest })
    }

    /// Its code, for a process of its own.
    pub(crate) fn code(&self) -> wasmtime::Result<Verdict> {
        let linked = self.linked.component().ok_or_else(|| wasmtime::format_err!("it is no component"))?;
        let code = MachineCode::Bytes(linked.component().serialize()?);
        Ok(Verdict::Code { code, component_instances: self.made, resources: self.made })
    }
}

/// Code that can be run, and what instantiating it makes: the larger number, of component instances or of resource types.
struct Ready {
    code: Code,
    made: u64,
}

/// What a verdict is worth now; nothing if it has to be given again: code that this processor can't run, or a refusal for want of
/// time when there is more of it.
fn ready(engine: &Engine, verdict: Verdict, limits: &Limits) -> Option<Result<Ready, LoadError>> {
    match verdict {
        Verdict::Code { code, component_instances, resources } => {
            let code = code.map(engine).ok()?;
            Some(Ok(Ready { code, made: component_instances.max(resources) }))
        }
        Verdict::Refused(LoadError::TooSlow { time_ms }) if time_ms < limits.get(Limit::CompileTime) => None,
        Verdict::Refused(refusal) => Some(Err(refusal)),
    }
}

fn check_length(bytes: u64, limits: &Limits) -> Result<(), LoadError> {
    let max = limits.get(Limit::Component);
    if bytes > max { Err(LoadError::TooMuch(format!("it has {bytes} bytes, more than {max}"))) } else { Ok(()) }
}

/// What the verdict on a component is kept as: everything is in it that the verdict follows from.
fn artifact_name(backend: Backend, component: &Digest) -> Digest {
    let mut hasher = Hasher::new(Kind::Artifact);
    hasher.update_part(component.as_bytes());
    hasher.update_part(settings::build_key(backend).as_bytes());
    for bounds in
        [format!("{:?}", hutch_engine::CAPS), format!("{:?} {ANSWER_BYTES_MAX}", hutch_engine::DENIED_SIZES_MAX)]
    {
        hasher.update_part(bounds.as_bytes());
    }
    hasher.update_part(&verdict::LAYOUT.to_le_bytes());
    hasher.finish()
}

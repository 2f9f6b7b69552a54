//! Code for all that this processor has, beyond the baseline that hutch compiles for.

use hutch_engine::settings::{Backend, compiler_with};
use hutch_model::digest::{Digest, Kind};
use hutch_model::limits::Limits;
use hutch_sandbox::{LoadError, Sandbox, compiled_in_place_of, read_artifact};
use wasmtime::Engine;

/// A sandbox that is given such code.
pub(crate) struct Full {
    /// What the code may use, by the compiler's names.
    pub(crate) features: Vec<&'static str>,
    compiler: Engine,
    sandbox: Sandbox,
}

impl Full {
    /// None where the processor has no more than the baseline, or is of a kind whose features the compiler does not use by name.
    pub(crate) fn new() -> Option<Full> {
        let features = features();
        let compiler = compiler_with(Backend::Native, &features).expect("a compiler");
        let sandbox = Sandbox::of_artifacts(Backend::Native);
        (!features.is_empty()).then_some(Full { features, compiler, sandbox })
    }

    /// The sandbox, with the code of this component; and whether the code is other than the baseline's.
    pub(crate) fn with(&self, component: &[u8]) -> Result<(&Sandbox, bool), LoadError> {
        let (artifact, differs) = self.artifact(component)?;
        #[allow(unsafe_code, reason = "code for the whole processor is compared")]
        // SAFETY: the compiler made it a moment ago.
        let given = unsafe { self.sandbox.give(artifact) };
        given?;
        Ok((&self.sandbox, differs))
    }

    /// The code, as an artifact by the name of the baseline's; and whether it is other than that.
    pub(crate) fn artifact(&self, component: &[u8]) -> Result<(Vec<u8>, bool), LoadError> {
        // What the tests' sandbox has compiled already is found.
        let ours = super::sandbox().compile_for(&Backend::Native.name(), component, &Limits::default())?;
        let (_, code) = read_artifact(&ours).expect("an artifact");
        let source = compiled_in_place_of(component);
        let full = match source.get(4) {
            Some(0x0d) => self.compiler.precompile_component(&source),
            _ => self.compiler.precompile_module(&source),
        };
        let full = full.expect("what compiles for the baseline");
        // The digest is the last.
        let (at, digest) = (ours.len() - 32 - code.len(), ours.len() - 32);
        assert_eq!(&ours[at..digest], code);
        let mut artifact = [&ours[..at], &full].concat();
        artifact.extend_from_slice(Digest::of(Kind::Artifact, &artifact).as_bytes());
        // What the flags are stands in the code too: they are not the difference that is meant.
        let differs =
            full.len() != code.len() || full.iter().zip(code).filter(|(one, other)| one != other).count() > 64;
        Ok((artifact, differs))
    }
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    let has = [
        ("has_avx", std::is_x86_feature_detected!("avx")),
        ("has_avx2", std::is_x86_feature_detected!("avx2")),
        ("has_fma", std::is_x86_feature_detected!("fma")),
        ("has_bmi1", std::is_x86_feature_detected!("bmi1")),
        ("has_bmi2", std::is_x86_feature_detected!("bmi2")),
        ("has_lzcnt", std::is_x86_feature_detected!("lzcnt")),
        ("has_avx512f", std::is_x86_feature_detected!("avx512f")),
        ("has_avx512dq", std::is_x86_feature_detected!("avx512dq")),
        ("has_avx512vl", std::is_x86_feature_detected!("avx512vl")),
        ("has_avx512vbmi", std::is_x86_feature_detected!("avx512vbmi")),
        ("has_avx512bitalg", std::is_x86_feature_detected!("avx512bitalg")),
    ];
    has.into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

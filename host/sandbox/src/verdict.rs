//! What compiling a component came to: machine code, or why there is none. Machine code is trusted by the engine as it is, so its
//! bytes have a type of their own, [`MachineCode`], which two things make: the compiler, in this process, and a seal that holds under
//! a key which only hutch has. All that comes from outside, from a child or from a file, comes through [`Verdict::open`].

use crate::program::LoadError;
use crate::shape::{Made, Payloads};
use hutch_engine::Code;
use hutch_model::digest::Digest;
use wasmtime::component::Component;
use wasmtime::{Engine, Module, Precompiled};

/// A secret that seals are made with.
#[derive(Clone, Copy)]
pub struct SealKey([u8; SealKey::BYTES]);

impl SealKey {
    /// Its length.
    pub const BYTES: usize = 32;

    /// The key of these bytes: random ones that nobody else can read.
    pub const fn new(bytes: [u8; SealKey::BYTES]) -> SealKey {
        SealKey(bytes)
    }

    /// For the child that is to answer under it.
    pub(crate) const fn bytes(&self) -> &[u8; SealKey::BYTES] {
        &self.0
    }

    /// What a file of this key on `name` is called; it says neither.
    pub(crate) fn name(&self, name: &Digest) -> blake3::Hash {
        self.seal(name, b"name")
    }

    fn seal(&self, name: &Digest, bytes: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(name.as_bytes());
        hasher.update(bytes);
        hasher.finalize()
    }
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealKey")
    }
}

/// What the compiler made, unchanged.
pub(crate) struct MachineCode {
    bytes: Vec<u8>,
    /// Where it begins among the bytes: what stands before it is not moved out of the way.
    at: usize,
}

impl MachineCode {
    /// Compiles a component or a core module.
    pub(crate) fn compile(compiler: &Engine, kind: Payloads, code: &[u8]) -> wasmtime::Result<MachineCode> {
        let bytes = match kind {
            Payloads::Component => compiler.precompile_component(code)?,
            Payloads::CoreModule => compiler.precompile_module(code)?,
        };
        Ok(MachineCode { bytes, at: 0 })
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Makes the code executable.
    #[allow(unsafe_code, reason = "wasmtime trusts machine code; this is where that trust is given")]
    pub(crate) fn map(&self, runner: &Engine) -> wasmtime::Result<Code> {
        // SAFETY: the bytes are those of `precompile_component`: from this process, or sealed by one that had the key. What keeps the
        // key, and the child that is given one, to this program is said where they are taken (`SealKey::new`, `Compile::Child`).
        unsafe {
            match Engine::detect_precompiled(self.bytes()) {
                Some(Precompiled::Module) => Ok(Code::Module(Module::deserialize(runner, self.bytes())?)),
                _ => Ok(Code::Component(Component::deserialize(runner, self.bytes())?)),
            }
        }
    }
}

/// What compiling came to.
pub(crate) enum Verdict {
    /// There is code, and this is what instantiating it makes.
    Code { code: MachineCode, component_instances: u64, resources: u64 },
    /// There is none.
    Refused(LoadError),
}

const CODE: u8 = b'C';
const INVALID: u8 = b'I';
const TOO_MUCH: u8 = b'M';
const TOO_SLOW: u8 = b'S';
const HOST: u8 = b'H';

/// Where code begins: after its tag and two numbers.
const CODE_AT: usize = 1 + 8 + 8;

/// Bytes of a seal, at the end.
const SEAL_BYTES: usize = 32;

impl Verdict {
    pub(crate) fn code(code: MachineCode, made: Made) -> Verdict {
        Verdict::Code { code, component_instances: made.component_instances, resources: made.resources }
    }

    /// The verdict's bytes, sealed under `key` as that on `name`.
    pub(crate) fn seal(&self, key: &SealKey, name: &Digest) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Verdict::Code { code, component_instances, resources } => {
                bytes.reserve_exact(CODE_AT + code.bytes().len() + SEAL_BYTES);
                bytes.push(CODE);
                bytes.extend_from_slice(&component_instances.to_le_bytes());
                bytes.extend_from_slice(&resources.to_le_bytes());
                bytes.extend_from_slice(code.bytes());
            }
            Verdict::Refused(LoadError::TooSlow { time_ms }) => {
                bytes.push(TOO_SLOW);
                bytes.extend_from_slice(&time_ms.to_le_bytes());
            }
            Verdict::Refused(error) => {
                let (tag, text) = match error {
                    LoadError::Invalid(text) => (INVALID, text.clone()),
                    LoadError::TooMuch(text) => (TOO_MUCH, text.clone()),
                    other => (HOST, other.to_string()),
                };
                bytes.push(tag);
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        let seal = key.seal(name, &bytes);
        bytes.extend_from_slice(seal.as_bytes());
        bytes
    }

    /// The verdict on `name` in these bytes, if its seal holds.
    pub(crate) fn open(key: &SealKey, name: &Digest, mut bytes: Vec<u8>) -> Option<Verdict> {
        let at = bytes.len().checked_sub(SEAL_BYTES)?;
        let (sealed, seal) = bytes.split_at(at);
        // Compared in constant time.
        if key.seal(name, sealed) != blake3::Hash::from_slice(seal).ok()? {
            return None;
        }
        bytes.truncate(at);
        let (tag, rest) = bytes.split_first()?;
        let text = || String::from_utf8_lossy(rest).into_owned();
        let number = |at: usize| Some(u64::from_le_bytes(*rest.get(at..)?.first_chunk()?));
        Some(match *tag {
            CODE => {
                let (component_instances, resources) = (number(0)?, number(8)?);
                Verdict::Code { code: MachineCode { bytes, at: CODE_AT }, component_instances, resources }
            }
            INVALID => Verdict::Refused(LoadError::Invalid(text())),
            TOO_MUCH => Verdict::Refused(LoadError::TooMuch(text())),
            TOO_SLOW => Verdict::Refused(LoadError::TooSlow { time_ms: number(0)? }),
            HOST => Verdict::Refused(LoadError::Host(text())),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::digest::Kind;

    #[test]
    fn a_verdict_comes_back_under_its_key_and_name_and_under_no_other() {
        let (key, other) = (SealKey::new([1; 32]), SealKey::new([2; 32]));
        let (name, another) = (Digest::of(Kind::Artifact, b"1"), Digest::of(Kind::Artifact, b"2"));
        let code = || {
            let code = MachineCode { bytes: b"code".to_vec(), at: 0 };
            Verdict::Code { code, component_instances: 7, resources: 9 }
        };
        let refused = |error: LoadError| Verdict::Refused(error);
        let verdicts = [
            code(),
            refused(LoadError::Invalid("bad".to_owned())),
            refused(LoadError::TooMuch("big".to_owned())),
            refused(LoadError::TooSlow { time_ms: 5 }),
        ];
        for verdict in verdicts {
            let bytes = verdict.seal(&key, &name);
            let back = Verdict::open(&key, &name, bytes.clone());
            match (back, verdict) {
                (Some(Verdict::Code { code, component_instances, resources }), Verdict::Code { .. }) => {
                    assert_eq!((code.bytes(), component_instances, resources), (&b"code"[..], 7, 9));
                }
                (Some(Verdict::Refused(back)), Verdict::Refused(error)) => assert_eq!(back, error),
                _ => panic!("something else came back"),
            }
            assert!(Verdict::open(&other, &name, bytes.clone()).is_none(), "another key");
            assert!(Verdict::open(&key, &another, bytes.clone()).is_none(), "another name");
            for at in 0..bytes.len() {
                let mut bad = bytes.clone();
                bad[at] ^= 1;
                assert!(Verdict::open(&key, &name, bad).is_none(), "a flipped bit in byte {at} was not seen");
                assert!(Verdict::open(&key, &name, bytes[..at].to_vec()).is_none(), "a cut after {at} was not seen");
            }
        }
        assert!(Verdict::open(&key, &name, Vec::new()).is_none());
    }
}

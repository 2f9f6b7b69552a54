//! What compiling a component came to: machine code, or why there is none. Machine code is trusted by the engine as it is, so its
//! bytes have a type of their own, [`MachineCode`], which two things make: the compiler, in this process, and a seal that holds under
//! a key which only hutch has; and what is mapped already is given to a child that asks it what it is. All that comes from outside, from
//! a child or from a file, comes through [`Verdict::open`] or [`Verdict::of_file`].

use hutch_engine::{Code, Compiled, Feature, LoadError};
use hutch_model::digest::Digest;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
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

    /// The same of the bytes of a file before its seal, and how many they are.
    fn seal_in(&self, name: &Digest, mut file: &File) -> io::Result<(blake3::Hash, u64)> {
        let bytes = file.metadata()?.len().checked_sub(SEAL_BYTES as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        file.rewind()?;
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(name.as_bytes());
        hasher.update_reader(file.take(bytes))?;
        Ok((hasher.finalize(), bytes))
    }

    /// Puts another seal in the place of the one at the end of a file.
    pub(crate) fn seal_again(&self, name: &Digest, mut file: &File) -> io::Result<()> {
        let (seal, bytes) = self.seal_in(name, file)?;
        file.seek(SeekFrom::Start(bytes))?;
        file.write_all(seal.as_bytes())
    }

    /// The same bytes, with a seal that says whose they are.
    pub(crate) fn sealed(&self, name: &Digest, mut bytes: Vec<u8>) -> Vec<u8> {
        let seal = self.seal(name, &bytes);
        bytes.extend_from_slice(seal.as_bytes());
        bytes
    }

    /// What was sealed, if the seal holds.
    pub(crate) fn unsealed(&self, name: &Digest, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let at = bytes.len().checked_sub(SEAL_BYTES)?;
        let (sealed, seal) = bytes.split_at(at);
        // Compared in constant time.
        if self.seal(name, sealed) != blake3::Hash::from_slice(seal).ok()? {
            return None;
        }
        bytes.truncate(at);
        Some(bytes)
    }
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealKey")
    }
}

/// What the compiler made, unchanged.
pub(crate) enum MachineCode {
    /// In memory.
    Bytes(Vec<u8>),
    /// At the beginning of the file of the verdict on `name`, whose seal was found to hold, and which nobody changed since.
    File { file: File, key: SealKey, name: Digest },
}

impl MachineCode {
    /// Makes the code executable.
    pub(crate) fn map(&self, runner: &Engine) -> wasmtime::Result<Code> {
        match self {
            MachineCode::Bytes(bytes) => copied(runner, bytes),
            MachineCode::File { file, key, name } => mapped(runner, file).or_else(|_| read(runner, file, key, name)),
        }
    }
}

#[allow(unsafe_code, reason = "wasmtime trusts machine code; this is where that trust is given")]
fn copied(runner: &Engine, code: &[u8]) -> wasmtime::Result<Code> {
    // SAFETY: the bytes are those of a `Compiled`: from this process, or sealed by one that had the key. What keeps the
    // key, and the child that is given one, to this program is said where they are taken (`SealKey::new`, `Compile::Child`).
    unsafe {
        match Engine::detect_precompiled(code) {
            Some(Precompiled::Module) => Ok(Code::Module(Module::deserialize(runner, code)?)),
            _ => Ok(Code::Component(Component::deserialize(runner, code)?)),
        }
    }
}

/// The same of what a verdict's file holds: bytes that are read are checked first.
fn read(runner: &Engine, file: &File, key: &SealKey, name: &Digest) -> wasmtime::Result<Code> {
    match checked(file, key, name) {
        Some(Verdict::Code { code: MachineCode::Bytes(code), .. }) => copied(runner, &code),
        _ => Err(wasmtime::format_err!("the seal of the machine code does not hold")),
    }
}

/// The verdict that a file holds, if its seal does.
fn checked(mut file: &File, key: &SealKey, name: &Digest) -> Option<Verdict> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).ok()?;
    Verdict::open(key, name, bytes)
}

/// The same without copying: only the pages that are used are ever read.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "wasmtime trusts machine code; this is where that trust is given")]
fn mapped(runner: &Engine, file: &File) -> wasmtime::Result<Code> {
    use std::os::fd::AsRawFd;
    // Through the open file, so that it is the one that was looked at, whatever has its name by now.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: as above, of a file whose seal held and that shows no change since (`ArtifactCache::get`), or was checked a moment ago, in a folder
    // where nobody else may write. Nothing of hutch writes to a finished file, nor to code in one that is not.
    unsafe {
        match Engine::detect_precompiled_file(&path)? {
            Some(Precompiled::Module) => Ok(Code::Module(Module::deserialize_file(runner, path)?)),
            _ => Ok(Code::Component(Component::deserialize_file(runner, path)?)),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn mapped(_: &Engine, _: &File) -> wasmtime::Result<Code> {
    Err(wasmtime::format_err!("no file is mapped here"))
}

/// What compiling came to.
pub(crate) enum Verdict {
    /// There is code, and this is what instantiating it makes.
    Code { code: MachineCode, component_instances: u64, resources: u64 },
    /// There is none.
    Refused(LoadError),
}

/// The number of the layout that [`Verdict::seal`] writes: another layout has another number, and its files other names.
pub(crate) const LAYOUT: u64 = 2;

const CODE: u8 = b'C';
const INVALID: u8 = b'I';
const LACKING: u8 = b'L';
const TOO_MUCH: u8 = b'M';
const TOO_SLOW: u8 = b'S';
const HOST: u8 = b'H';

/// Bytes of two numbers, which follow the code.
const NUMBERS_BYTES: usize = 8 + 8;

/// Bytes of a seal, at the end; before it stands the tag, and first of all the code, which is mapped from there.
const SEAL_BYTES: usize = 32;

impl Verdict {
    pub(crate) fn code(compiled: Compiled) -> Verdict {
        let (component_instances, resources) = (compiled.component_instances(), compiled.resources());
        Verdict::Code { code: MachineCode::Bytes(compiled.into_code()), component_instances, resources }
    }

    /// The same with its code in memory, read and checked where it lies in a file; nothing if there is no code.
    pub(crate) fn into_read_code(self) -> Option<Verdict> {
        match self {
            Verdict::Code { code: MachineCode::File { file, key, name }, .. } => checked(&file, &key, &name),
            Verdict::Code { .. } => Some(self),
            Verdict::Refused(_) => None,
        }
    }

    /// The verdict's bytes, sealed under `key` as that on `name`. None for code that lies in a file: it is there, sealed.
    pub(crate) fn seal(&self, key: &SealKey, name: &Digest) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let tag = match self {
            Verdict::Code { code: MachineCode::File { .. }, .. } => return None,
            Verdict::Code { code: MachineCode::Bytes(code), component_instances, resources } => {
                bytes.reserve_exact(code.len() + NUMBERS_BYTES + 1 + SEAL_BYTES);
                bytes.extend_from_slice(code);
                bytes.extend_from_slice(&component_instances.to_le_bytes());
                bytes.extend_from_slice(&resources.to_le_bytes());
                CODE
            }
            Verdict::Refused(LoadError::TooSlow { time_ms }) => {
                bytes.extend_from_slice(&time_ms.to_le_bytes());
                TOO_SLOW
            }
            Verdict::Refused(error) => {
                let (tag, text) = match error {
                    LoadError::Invalid(text) => (INVALID, text.clone()),
                    LoadError::Lacking { feature, said } => (LACKING, format!("{}\n{said}", feature.name())),
                    LoadError::TooMuch(text) => (TOO_MUCH, text.clone()),
                    LoadError::Host(text) => (HOST, text.clone()),
                    other => (HOST, other.to_string()),
                };
                bytes.extend_from_slice(text.as_bytes());
                tag
            }
        };
        bytes.push(tag);
        Some(key.sealed(name, bytes))
    }

    /// The verdict on `name` in this file, if its seal holds. Code is left there.
    pub(crate) fn of_file(key: &SealKey, name: &Digest, mut file: File) -> Option<Verdict> {
        let (seal, bytes) = key.seal_in(name, &file).ok()?;
        let beside = (NUMBERS_BYTES + 1) as u64;
        let mut end = [0; NUMBERS_BYTES + 1 + SEAL_BYTES];
        let code = bytes.checked_sub(beside)?;
        file.seek(SeekFrom::Start(code)).ok()?;
        file.read_exact(&mut end).ok()?;
        let (numbers, rest) = end.split_first_chunk::<NUMBERS_BYTES>()?;
        let (tag, sealed) = rest.split_first()?;
        // Compared in constant time.
        if seal != blake3::Hash::from_slice(sealed).ok()? || *tag != CODE {
            return None;
        }
        let (instances, resources) = numbers.split_first_chunk::<8>()?;
        Some(Verdict::Code {
            code: MachineCode::File { file, key: *key, name: *name },
            component_instances: u64::from_le_bytes(*instances),
            resources: u64::from_le_bytes(*resources.first_chunk()?),
        })
    }

    /// The verdict on `name` in these bytes, if its seal holds.
    pub(crate) fn open(key: &SealKey, name: &Digest, bytes: Vec<u8>) -> Option<Verdict> {
        let mut bytes = key.unsealed(name, bytes)?;
        let tag = bytes.pop()?;
        let text = || String::from_utf8_lossy(&bytes).into_owned();
        let number = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(match tag {
            CODE => {
                let end = bytes.len().checked_sub(NUMBERS_BYTES)?;
                let (component_instances, resources) = (number(end)?, number(end + 8)?);
                bytes.truncate(end);
                Verdict::Code { code: MachineCode::Bytes(bytes), component_instances, resources }
            }
            INVALID => Verdict::Refused(LoadError::Invalid(text())),
            LACKING => {
                let text = text();
                let (name, said) = text.split_once('\n')?;
                Verdict::Refused(LoadError::Lacking { feature: Feature::named(name)?, said: said.to_owned() })
            }
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
    use hutch_engine::settings::{self, Backend};
    use hutch_model::digest::Kind;
    use std::io::Write;

    fn lacking() -> LoadError {
        LoadError::Lacking { feature: Feature::named("threads").unwrap(), said: "words\nof the engine".to_owned() }
    }

    #[test]
    fn another_layout_has_another_number() {
        let (key, name) = (SealKey::new([1; 32]), Digest::of(Kind::Artifact, b"1"));
        let code = MachineCode::Bytes(b"code".to_vec());
        let verdicts = [
            Verdict::Code { code, component_instances: 7, resources: 9 },
            Verdict::Refused(LoadError::Invalid("bad".to_owned())),
            Verdict::Refused(LoadError::TooMuch("big".to_owned())),
            Verdict::Refused(LoadError::TooSlow { time_ms: 5 }),
            Verdict::Refused(lacking()),
        ];
        let mut all = blake3::Hasher::new();
        verdicts.iter().for_each(|verdict| {
            all.update(&verdict.seal(&key, &name).unwrap());
        });
        let layout = all.finalize().to_hex();
        assert_eq!((LAYOUT, &layout[..16]), (2, "851879df7bbd416d"));
    }

    /// Where a file can't be mapped, it is not known that nothing was written to it since it was opened.
    #[test]
    fn bytes_that_are_read_are_used_only_if_their_seal_holds() {
        let runner = settings::runner(Backend::Native, 1 << 19, None).unwrap();
        let (key, name) = (SealKey::new([1; 32]), Digest::of(Kind::Artifact, b"1"));
        let compiled = hutch_engine::compile(&Backend::Native.into(), b"\0asm\x01\0\0\0").unwrap();
        let sealed = Verdict::code(compiled).seal(&key, &name).unwrap();
        let of = |bytes: &[u8], key: &SealKey| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            read(&runner, &file, key, &name).is_ok()
        };
        assert!(of(&sealed, &key));
        assert!(!of(&sealed, &SealKey::new([2; 32])), "another's seal");
        let mut changed = sealed.clone();
        // No byte of the code: its numbers.
        *changed.iter_mut().rev().nth(SEAL_BYTES + 2).unwrap() ^= 1;
        assert!(!of(&changed, &key));
        assert!(!of(&sealed[..sealed.len() - 1], &key), "cut short");
    }

    /// Code that stays in its file is as good as code that is read, and another seal in the place of the first makes it another key's.
    #[test]
    fn what_a_file_holds_is_known_by_its_seal() {
        let (key, other) = (SealKey::new([1; 32]), SealKey::new([2; 32]));
        let (name, another) = (Digest::of(Kind::Artifact, b"1"), Digest::of(Kind::Artifact, b"2"));
        let code = MachineCode::Bytes(b"code".repeat(100_000));
        let sealed = Verdict::Code { code, component_instances: 7, resources: 9 }.seal(&key, &name).unwrap();
        let file = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            file
        };
        let holds =
            |key: &SealKey, name: &Digest, file: &File| match Verdict::of_file(key, name, file.try_clone().unwrap())? {
                Verdict::Code { code: MachineCode::File { .. }, component_instances, resources } => {
                    Some((component_instances, resources))
                }
                _ => panic!("something else came back"),
            };
        let whole = file(&sealed);
        assert_eq!(holds(&key, &name, &whole), Some((7, 9)));
        assert_eq!((holds(&other, &name, &whole), holds(&key, &another, &whole)), (None, None));
        for at in [0, 1, sealed.len() / 2, sealed.len() - 50, sealed.len() - 33, sealed.len() - 1] {
            let mut bad = sealed.clone();
            bad[at] ^= 1;
            assert_eq!(holds(&key, &name, &file(&bad)), None, "a flipped bit in byte {at} was not seen");
            assert_eq!(holds(&key, &name, &file(&sealed[..at])), None, "a cut after {at} was not seen");
        }
        other.seal_again(&another, &whole).unwrap();
        assert_eq!((holds(&other, &another, &whole), holds(&key, &name, &whole)), (Some((7, 9)), None));
        // A refusal is no code, and is read.
        let refused = Verdict::Refused(lacking()).seal(&key, &name).unwrap();
        assert_eq!(holds(&key, &name, &file(&refused)), None);
    }

    #[test]
    fn a_verdict_comes_back_under_its_key_and_name_and_under_no_other() {
        let (key, other) = (SealKey::new([1; 32]), SealKey::new([2; 32]));
        let (name, another) = (Digest::of(Kind::Artifact, b"1"), Digest::of(Kind::Artifact, b"2"));
        let code = || {
            let code = MachineCode::Bytes(b"code".to_vec());
            Verdict::Code { code, component_instances: 7, resources: 9 }
        };
        let refused = |error: LoadError| Verdict::Refused(error);
        let verdicts = [
            code(),
            refused(LoadError::Invalid("bad".to_owned())),
            refused(LoadError::TooMuch("big".to_owned())),
            refused(LoadError::TooSlow { time_ms: 5 }),
            refused(lacking()),
        ];
        for verdict in verdicts {
            let bytes = verdict.seal(&key, &name).unwrap();
            let back = Verdict::open(&key, &name, bytes.clone());
            match (back, verdict) {
                (
                    Some(Verdict::Code { code: MachineCode::Bytes(code), component_instances, resources }),
                    Verdict::Code { .. },
                ) => {
                    assert_eq!((&code[..], component_instances, resources), (&b"code"[..], 7, 9));
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

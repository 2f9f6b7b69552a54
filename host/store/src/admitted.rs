//! Who is admitted to an instance, as stores write it beside the ledger. No entry says it, so no chain would show that it was changed: a digest
//! beside it does. Whoever can write there can write both, as he can what the key is; it is what a disk did that is found. Pure.

use hutch_model::digest::Digest;
use hutch_model::ledger::{Origin, Standing};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Who may use an instance into which entries were [taken](crate::Store::take) that were made elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// The packages, and what each was when it was last used.
    pub packages: BTreeMap<Origin, Digest>,
    /// The last of those entries: it and those before it are nobody's words here.
    pub through: u64,
}

fn digest(Admitted { packages, through }: &Admitted) -> Digest {
    Standing { owners: packages.clone(), open: [*through].into(), ..Standing::default() }.standing()
}

/// As it is written.
pub fn admitted_text(admitted: &Admitted) -> Value {
    json!({ "packages": admitted.packages, "through": admitted.through, "digest": digest(admitted) })
}

/// What was written.
///
/// # Errors
/// It is something else than what was written.
pub fn admitted(written: Value) -> Result<Admitted, String> {
    let mut fields: Map<String, Value> = serde_json::from_value(written).map_err(|error| error.to_string())?;
    let mut field = |name: &str| fields.remove(name).unwrap_or_default();
    let packages = serde_json::from_value(field("packages")).map_err(|error| error.to_string())?;
    let through = serde_json::from_value(field("through")).map_err(|error| error.to_string())?;
    let said: Digest = serde_json::from_value(field("digest")).map_err(|error| error.to_string())?;
    let admitted = Admitted { packages, through };
    match said == digest(&admitted) {
        true => Ok(admitted),
        false => Err("who is admitted does not match its digest".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::digest::Kind;

    #[test]
    fn no_flipped_bit_admits_another_or_nobody() {
        let packages: BTreeMap<_, _> = [Origin::installed(), Origin::path("/p/q")]
            .map(|origin| (origin.clone(), Digest::of(Kind::Package, origin.as_str().as_bytes())))
            .into();
        for packages in [BTreeMap::new(), packages] {
            let is = Admitted { packages, through: 70 };
            let text = admitted_text(&is).to_string();
            assert_eq!(admitted(serde_json::from_str(&text).unwrap()), Ok(is.clone()));
            for (at, bit) in (0..text.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let Ok(written) = serde_json::from_slice(&bytes) else { continue };
                // A digest is read in either case.
                let read = admitted(written);
                assert!(read.is_err() || read == Ok(is.clone()), "{at} {bit}: {read:?}");
            }
        }
    }
}

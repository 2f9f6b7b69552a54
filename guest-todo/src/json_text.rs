//! Values that are text in JSON: written by `Display`, read back by the one strict constructor.

/// Gives each type `Serialize` through its `Display` and `Deserialize` through its `parse`.
macro_rules! as_json_text {
    ($($kind:ty),*) => {$(
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::parse(&text).map_err(|expected| serde::de::Error::custom(format_args!("expected {expected}")))
            }
        }
    )*};
}
pub(crate) use as_json_text;

//! Types of an application's own that are one text: in arguments, in answers and in the state alike.

/// Makes a type that has `Display` and a strict `parse(&str) -> Result<Self, Expected>` a text everywhere: an argument, a
/// field of a row, a field of the state. Bounds and a pattern stand in the contract; `parse` is what holds them.
///
/// ```
/// use hutch_guest::calendar::Expected;
///
/// /// A colour as in CSS, of six digits.
/// #[derive(Clone, Debug, PartialEq)]
/// struct Colour(String);
///
/// impl Colour {
///     fn parse(text: &str) -> Result<Self, Expected> {
///         let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
///         let hexadecimal = digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
///         if hexadecimal { Ok(Self(text.to_owned())) } else { Err("a colour such as #00ff7f") }
///     }
/// }
///
/// impl std::fmt::Display for Colour {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str(&self.0)
///     }
/// }
///
/// hutch_guest::text_value!(Colour, min_length = 7, max_length = 7);
///
/// assert_eq!(serde_json::to_string(&Colour::parse("#00ff7f").unwrap()).unwrap(), "\"#00ff7f\"");
/// assert!(serde_json::from_str::<Colour>("\"green\"").is_err());
/// ```
#[macro_export]
macro_rules! text_value {
    ($kind:ty $(, $word:ident = $bound:expr)* $(,)?) => {
        $crate::json_text!($kind);
        impl $crate::value::Argument for $kind {
            const TYPE: $crate::contract::ValueType = $crate::contract::ValueType::String;
            const CONSTRAINTS: $crate::contract::Constraints = $crate::contract::Constraints {
                $($word: ::std::option::Option::Some($bound),)*
                ..$crate::contract::Constraints::NONE
            };

            fn of(value: &$crate::argv::Value) -> ::std::result::Result<Self, $crate::calendar::Expected> {
                match value {
                    $crate::argv::Value::Text(text) => <$kind>::parse(text),
                    _ => ::std::result::Result::Err("a text"),
                }
            }
        }
        impl $crate::schema::Described for $kind {
            const SCHEMA: &'static $crate::schema::Schema = &$crate::schema::Schema::Constrained(
                <$kind as $crate::value::Argument>::CONSTRAINTS,
            );
        }
        impl $crate::row::Shown for $kind {
            fn shown(&self) -> ::std::string::String {
                ::std::string::ToString::to_string(self)
            }
        }
    };
}

/// The JSON form alone of a type that has `Display` and `parse`.
#[doc(hidden)]
#[macro_export]
macro_rules! json_text {
    ($kind:ty) => {
        impl $crate::serde::Serialize for $kind {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> $crate::serde::Deserialize<'de> for $kind {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let text = <::std::string::String as $crate::serde::Deserialize>::deserialize(deserializer)?;
                <$kind>::parse(&text).map_err(|expected| {
                    <D::Error as $crate::serde::de::Error>::custom(::std::format_args!("expected {expected}"))
                })
            }
        }
    };
}

/// Makes a type of identifiers: a prefix and a number from 1, of at least four digits. They count up, see
/// [`Table`](crate::table::Table).
///
/// ```
/// hutch_guest::id!(pub NoteId, "note_");
///
/// assert_eq!(NoteId::FIRST.to_string(), "note_0001");
/// assert!(NoteId::parse("note_1").is_err(), "an identifier has one form");
/// ```
#[macro_export]
macro_rules! id {
    ($visibility:vis $name:ident, $prefix:literal) => {
        #[doc = concat!("An identifier: `", $prefix, "` and a number from 1, of at least four digits.")]
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        $visibility struct $name(u64);

        #[allow(dead_code, reason = "not every application needs all of it")]
        impl $name {
            /// The first one.
            pub const FIRST: Self = Self(1);

            /// Reads the one form in which an identifier is written.
            ///
            /// # Errors
            /// What was expected.
            pub fn parse(text: &str) -> ::std::result::Result<Self, $crate::calendar::Expected> {
                $crate::table::number_of(text, $prefix)
                    .map(Self)
                    .ok_or(concat!("an id such as ", $prefix, "0001"))
            }
        }

        impl $crate::table::Identifier for $name {
            const FIRST: Self = Self::FIRST;

            fn next(self) -> ::std::option::Option<Self> {
                self.0.checked_add(1).map(Self)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::write!(f, "{}{:04}", $prefix, self.0)
            }
        }

        $crate::text_value!($name, pattern = concat!("^", $prefix, "([0-9]{4}|[1-9][0-9]{4,})$"));
    };
}

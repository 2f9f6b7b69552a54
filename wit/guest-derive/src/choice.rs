//! The derive `Choice`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::words;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "a choice is an enum"));
    };
    if let Some(variant) = data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(Error::new_spanned(variant, "a choice has no fields: it is one word"));
    }
    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let names: Vec<String> = variants.iter().map(|variant| words(&variant.to_string()).join("-")).collect();
    let expected = format!("one of: {}", names.join(", "));
    Ok(quote! {
        impl #name {
            /// The words, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[#(#names),*];

            /// Reads one of the words.
            ///
            /// # Errors
            /// What was expected.
            pub fn parse(text: &str) -> ::std::result::Result<Self, ::hutch_guest::calendar::Expected> {
                match text {
                    #(#names => ::std::result::Result::Ok(Self::#variants),)*
                    _ => ::std::result::Result::Err(#expected),
                }
            }
        }

        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self { #(Self::#variants => #names),* })
            }
        }

        ::hutch_guest::json_text!(#name);

        impl ::hutch_guest::value::Argument for #name {
            const TYPE: ::hutch_guest::contract::ValueType = ::hutch_guest::contract::ValueType::String;
            const CHOICES: &'static [&'static str] = Self::NAMES;

            fn of(value: &::hutch_guest::argv::Value) -> ::std::result::Result<Self, ::hutch_guest::calendar::Expected> {
                match value {
                    ::hutch_guest::argv::Value::Text(text) => Self::parse(text),
                    _ => ::std::result::Result::Err(#expected),
                }
            }
        }

        impl ::hutch_guest::schema::Described for #name {
            const SCHEMA: &'static ::hutch_guest::schema::Schema = &::hutch_guest::schema::Schema::Choice(Self::NAMES);
        }

        impl ::hutch_guest::row::Shown for #name {
            fn shown(&self) -> ::std::string::String {
                ::std::string::ToString::to_string(self)
            }
        }
    })
}

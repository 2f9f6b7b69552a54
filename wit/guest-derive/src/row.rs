//! The derives `Row` and `Document`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataStruct, DeriveInput, Error, Fields, LitStr, Result};

use crate::camel_case;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(DataStruct { fields: Fields::Named(fields), .. }) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "a row is a struct with named fields"));
    };
    let name = &input.ident;
    let mut many = TokenStream::new();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("row")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("any_number") {
                return Err(meta.error("a row may be there any_number of times"));
            }
            many = quote!(
                const CHANGED_MAX: ::std::option::Option<u32> = ::std::option::Option::None;
            );
            Ok(())
        })?;
    }
    let (mut table, mut written, mut shown) = (Vec::new(), Vec::new(), Vec::new());
    for (index, field) in fields.named.iter().enumerate() {
        let Some(member) = &field.ident else { continue };
        let (key, kind) = (camel_case(&member.to_string()), &field.ty);
        let mut place = quote!(InOrder);
        let mut schema = quote!(<#kind as ::hutch_guest::schema::Described>::SCHEMA);
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("row")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("last") {
                    place = quote!(Last);
                } else if meta.path.is_ident("aside") {
                    place = quote!(Aside);
                } else if meta.path.is_ident("schema") {
                    let text: LitStr = meta.value()?.parse()?;
                    schema = quote!(&::hutch_guest::schema::Schema::Text(#text));
                } else {
                    return Err(meta.error("a field of a row is last, aside, or has a schema = \"…\""));
                }
                Ok(())
            })?;
        }
        table.push(quote! {
            ::hutch_guest::schema::Field {
                place: ::hutch_guest::schema::Place::#place,
                ..::hutch_guest::schema::Field::new(#key, #schema)
            }
        });
        written.push(quote!(#index => ::hutch_guest::serde_json::to_writer(json, &self.#member),));
        shown.push(quote!(#index => ::hutch_guest::row::Shown::shown(&self.#member),));
    }
    Ok(quote! {
        impl ::hutch_guest::Row for #name {
            const FIELDS: &'static [::hutch_guest::schema::Field] = &[#(#table),*];

            fn write(
                &self,
                field: usize,
                json: &mut ::std::vec::Vec<u8>,
            ) -> ::hutch_guest::serde_json::Result<()> {
                match field {
                    #(#written)*
                    _ => ::std::result::Result::Ok(()),
                }
            }

            fn shown(&self, field: usize) -> ::std::string::String {
                match field {
                    #(#shown)*
                    _ => ::std::string::String::new(),
                }
            }

            #many
        }
    })
}

pub(crate) fn document(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let attribute = input.attrs.iter().find(|attribute| attribute.path().is_ident("document"));
    let file: LitStr = attribute
        .ok_or_else(|| Error::new_spanned(name, "say which file holds it: #[document(\"notes.json\")]"))?
        .parse_args()?;
    Ok(quote! {
        impl ::hutch_guest::Document for #name {
            const FILE: ::std::option::Option<&'static str> = ::std::option::Option::Some(#file);

            fn decode(bytes: &[u8]) -> ::std::result::Result<Self, ::std::string::String> {
                ::hutch_guest::serde_json::from_slice(bytes)
                    .map_err(|error| ::std::string::ToString::to_string(&error))
            }

            fn encode(self) -> ::hutch_guest::serde_json::Result<::std::vec::Vec<u8>> {
                let mut bytes = ::hutch_guest::serde_json::to_vec_pretty(&self)?;
                bytes.push(b'\n');
                ::std::result::Result::Ok(bytes)
            }
        }
    })
}

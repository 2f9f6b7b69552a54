//! The derive `Command`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Data, DataStruct, DeriveInput, Error, Expr, Field, Fields, GenericArgument, Ident, LitInt, LitStr, Path,
    PathArguments, Result, Token, Type, bracketed, parenthesized,
};

use crate::{comment, words};

/// What `#[command(…)]` says.
struct Settings {
    name: String,
    effect: Ident,
    idempotent: bool,
    confirm: bool,
    errors: Vec<Path>,
}

impl Settings {
    fn of(input: &DeriveInput) -> Result<Self> {
        let ident = |name| Ident::new(name, Span::call_site());
        let mut settings = Self {
            name: words(&input.ident.to_string()).join(" "),
            effect: ident("Read"),
            idempotent: false,
            confirm: false,
            errors: Vec::new(),
        };
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("command")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("write") {
                    settings.effect = ident("Write");
                } else if meta.path.is_ident("delete") {
                    settings.effect = ident("Delete");
                    settings.confirm = true;
                } else if meta.path.is_ident("idempotent") {
                    settings.idempotent = true;
                } else if meta.path.is_ident("confirm") {
                    settings.confirm = true;
                } else if meta.path.is_ident("name") {
                    settings.name = meta.value()?.parse::<LitStr>()?.value();
                } else if meta.path.is_ident("errors") {
                    let list;
                    parenthesized!(list in meta.input);
                    settings.errors = Punctuated::<Path, Token![,]>::parse_terminated(&list)?.into_iter().collect();
                } else {
                    return Err(meta.error(
                        "a command is write, delete, idempotent or confirm, or has a name = \"…\" or errors(…)",
                    ));
                }
                Ok(())
            })?;
        }
        settings.idempotent |= settings.effect == "Read";
        Ok(settings)
    }
}

/// How the type of a field is given.
enum Shape {
    Flag,
    One(Type),
    Optional(Type),
    Several(Type),
}

impl Shape {
    fn of(kind: &Type) -> Self {
        let Type::Path(path) = kind else { return Self::One(kind.clone()) };
        let Some(last) = path.path.segments.last() else { return Self::One(kind.clone()) };
        let inner = match &last.arguments {
            PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(inner) => Some(inner.clone()),
                _ => None,
            }),
            _ => None,
        };
        match (last.ident.to_string().as_str(), inner) {
            ("bool", None) => Self::Flag,
            ("Option", Some(inner)) => Self::Optional(inner),
            ("Vec" | "BTreeSet", Some(inner)) => Self::Several(inner),
            _ => Self::One(kind.clone()),
        }
    }
}

/// One field: a parameter, with what `#[arg(…)]` says.
struct Parameter<'a> {
    member: &'a Ident,
    shape: Shape,
    name: String,
    description: String,
    positional: bool,
    required: bool,
    free_text: bool,
    default: Option<LitStr>,
    constraints: Vec<TokenStream>,
}

impl<'a> Parameter<'a> {
    fn of(field: &'a Field) -> Result<Self> {
        let member = field.ident.as_ref().ok_or_else(|| Error::new_spanned(field, "a parameter has a name"))?;
        let mut parameter = Self {
            member,
            shape: Shape::of(&field.ty),
            name: words(&member.to_string()).join("-"),
            description: comment(&field.attrs),
            positional: false,
            required: false,
            free_text: false,
            default: None,
            constraints: Vec::new(),
        };
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("arg")) {
            attribute.parse_nested_meta(|meta| parameter.set(&meta))?;
        }
        if parameter.description.is_empty() {
            return Err(Error::new_spanned(member, "a parameter needs a comment: it is what its users read"));
        }
        if parameter.default.is_some() && !matches!(parameter.shape, Shape::One(_)) {
            return Err(Error::new_spanned(member, "a parameter with a default is of its plain type"));
        }
        parameter.required |=
            matches!(parameter.shape, Shape::One(_)) && parameter.default.is_none() || parameter.is_bare_truth();
        Ok(parameter)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match word.as_str() {
            "positional" => self.positional = true,
            "required" => self.required = true,
            "free_text" => self.free_text = true,
            "default" => self.default = Some(meta.value()?.parse()?),
            "name" => self.name = meta.value()?.parse::<LitStr>()?.value(),
            "minimum" | "maximum" => {
                let bound: Expr = meta.value()?.parse()?;
                let text = bound.to_token_stream().to_string().replace([' ', '_'], "");
                let field = &meta.path;
                self.constraints.push(quote!(#field: ::std::option::Option::Some(#text)));
            }
            "min_length" | "max_length" | "pattern" => {
                let (field, bound): (_, Expr) = (&meta.path, meta.value()?.parse()?);
                self.constraints.push(quote!(#field: ::std::option::Option::Some(#bound)));
            }
            _ => {
                return Err(meta.error(
                    "an argument is positional, required or free_text, or has a default, name, minimum, maximum, min_length, max_length or pattern",
                ));
            }
        }
        Ok(())
    }

    /// `true` or `false` written bare.
    fn is_bare_truth(&self) -> bool {
        self.positional && matches!(self.shape, Shape::Flag)
    }

    fn is_flag(&self) -> bool {
        !self.positional && matches!(self.shape, Shape::Flag)
    }

    fn kind(&self) -> TokenStream {
        match &self.shape {
            Shape::Flag => quote!(bool),
            Shape::One(kind) | Shape::Optional(kind) | Shape::Several(kind) => kind.to_token_stream(),
        }
    }

    /// The parameter in the contract, and its opposite if it is a flag.
    fn table(&self, position: Option<u32>) -> TokenStream {
        let (name, description) = (&self.name, &self.description);
        if self.is_flag() {
            let opposite = format!("no-{name}");
            let told = format!("not --{name}, as in a call with neither");
            return quote! {
                ::hutch_guest::contract::Parameter::flag(#name, #description),
                ::hutch_guest::contract::Parameter::flag(#opposite, #told),
            };
        }
        let (kind, required, free_text) = (self.kind(), self.required, self.free_text);
        let repeated = matches!(self.shape, Shape::Several(_));
        let default = option(self.default.as_ref());
        let position = option(position);
        let constraints = &self.constraints;
        quote! {
            ::hutch_guest::contract::Parameter {
                name: #name,
                position: #position,
                value_type: <#kind as ::hutch_guest::value::Argument>::TYPE,
                required: #required,
                repeated: #repeated,
                default: #default,
                choices: <#kind as ::hutch_guest::value::Argument>::CHOICES,
                free_text: #free_text,
                constraints: ::hutch_guest::contract::Constraints {
                    #(#constraints,)*
                    ..::hutch_guest::contract::Constraints::NONE
                }.or(<#kind as ::hutch_guest::value::Argument>::CONSTRAINTS),
                description: #description,
            },
        }
    }

    /// What the field is read from; `place` is that of the parameter in the table.
    fn read(&self, place: usize) -> TokenStream {
        let (member, name) = (self.member, &self.name);
        let read = match self.shape {
            Shape::Flag if !self.positional => quote!(arguments.flag(#name)),
            Shape::Flag | Shape::One(_) => {
                quote!(::hutch_guest::value::required(arguments, &PARAMETERS[#place])?)
            }
            Shape::Optional(_) => quote!(::hutch_guest::value::optional(arguments, &PARAMETERS[#place])?),
            Shape::Several(_) => quote!(::hutch_guest::value::all(arguments, &PARAMETERS[#place])?),
        };
        quote!(#member: #read,)
    }
}

fn option(value: Option<impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::std::option::Option::Some(#value)),
        None => quote!(::std::option::Option::None),
    }
}

/// `#[example("what for", ["ARGUMENT", …], EXIT_STATUS)]`
struct Example {
    description: LitStr,
    args: Vec<LitStr>,
    exit_status: u8,
}

impl Parse for Example {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let description = input.parse()?;
        input.parse::<Token![,]>()?;
        let list;
        bracketed!(list in input);
        let args = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?.into_iter().collect();
        let exit_status = match input.parse::<Option<Token![,]>>()? {
            Some(_) => input.parse::<LitInt>()?.base10_parse()?,
            None => 0,
        };
        Ok(Self { description, args, exit_status })
    }
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let fields = match &input.data {
        Data::Struct(DataStruct { fields: Fields::Named(fields), .. }) => fields.named.iter().collect(),
        Data::Struct(DataStruct { fields: Fields::Unit, .. }) => Vec::new(),
        _ => return Err(Error::new_spanned(&input.ident, "a command is a struct with named fields")),
    };
    let settings = Settings::of(input)?;
    let description = comment(&input.attrs);
    if description.is_empty() {
        return Err(Error::new_spanned(&input.ident, "a command needs a comment: it is what its users read"));
    }
    let examples: Vec<Example> = input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("example"))
        .map(syn::Attribute::parse_args)
        .collect::<Result<_>>()?;
    let parameters: Vec<Parameter<'_>> = fields.into_iter().map(Parameter::of).collect::<Result<_>>()?;
    Ok(implementation(&input.ident, &settings, &description, &parameters, &examples))
}

fn implementation(
    command: &Ident,
    settings: &Settings,
    description: &str,
    parameters: &[Parameter<'_>],
    examples: &[Example],
) -> TokenStream {
    let Settings { name, effect, idempotent, confirm, errors } = settings;
    let (mut table, mut reads, mut place) = (Vec::new(), Vec::new(), 0);
    let ordered = parameters.iter().filter(|it| it.positional).chain(parameters.iter().filter(|it| !it.positional));
    for (position, parameter) in (0_u32..).zip(ordered) {
        table.push(parameter.table(parameter.positional.then_some(position)));
        reads.push((parameter.member, parameter.read(place)));
        place += if parameter.is_flag() { 2 } else { 1 };
    }
    // Read in the order of the fields, so that of several mistakes the first is told.
    let reads = parameters.iter().filter_map(|parameter| reads.iter().find(|(member, _)| *member == parameter.member));
    let reads: Vec<_> = reads.map(|(_, read)| read).collect();
    let writes = effect != "Read";
    let role = if writes { quote!(::hutch_guest::Writes) } else { quote!(::hutch_guest::Reads) };
    let confirmation = confirm.then(|| quote!(::hutch_guest::standard::CONFIRM, ::hutch_guest::standard::NO_CONFIRM,));
    let trying = writes.then(|| {
        quote! {
            ::hutch_guest::standard::JSON_INPUT,
            ::hutch_guest::standard::NO_JSON_INPUT,
            ::hutch_guest::standard::DRY_RUN,
            ::hutch_guest::standard::NO_DRY_RUN,
        }
    });
    let batches = writes.then(|| quote!(::hutch_guest::batch::INVALID_BATCH, ::hutch_guest::batch::BATCH_TOO_LARGE,));
    let unconfirmed = confirm.then(|| quote!(::hutch_guest::failure::CONFIRMATION_REQUIRED,));
    let answer = if writes {
        quote!(::hutch_guest::answer::Changed<<#command as ::hutch_guest::Writes>::Row>)
    } else {
        quote!(<#command as ::hutch_guest::Reads>::Answer)
    };
    let errors = quote! {
        ::hutch_guest::failure::UNKNOWN_FLAG,
        ::hutch_guest::failure::MISSING_ARGUMENT,
        ::hutch_guest::failure::UNEXPECTED_ARGUMENT,
        ::hutch_guest::failure::INVALID_VALUE,
        #batches
        #unconfirmed
        #(#errors,)*
    };
    let kinds = parameters.iter().map(Parameter::kind);
    let state = if writes { quote!(state) } else { quote!(&*state) };
    let words: Vec<&str> = name.split(' ').collect();
    let examples = examples.iter().map(|Example { description, args, exit_status }| {
        quote! {
            ::hutch_guest::contract::Example {
                description: #description,
                args: &[#(#words,)* #(#args,)*],
                exit_status: #exit_status,
            }
        }
    });
    quote! {
        const _: () = {
            type State = <#command as #role>::State;
            type Answered = #answer;
            const PARAMETERS: &[::hutch_guest::contract::Parameter] =
                if <Answered as ::hutch_guest::answer::Answer>::PAGED {
                    &[#(#table)* #confirmation #trying ::hutch_guest::standard::LIMIT, ::hutch_guest::standard::OFFSET]
                } else {
                    &[#(#table)* #confirmation #trying]
                };
            const LISTS: &[&[::hutch_guest::contract::FailureCode]] = &[
                &[#errors],
                #(<#kinds as ::hutch_guest::value::Argument>::CODES,)*
                if <State as ::hutch_guest::Document>::FILE.is_some() {
                    &[::hutch_guest::document::STATE_CORRUPT, ::hutch_guest::storage::STATE_UNAVAILABLE]
                } else {
                    &[]
                },
            ];
            const ERRORS: &[::hutch_guest::contract::FailureCode; ::hutch_guest::standard::count_codes(LISTS)] =
                &::hutch_guest::standard::codes(LISTS);

            impl ::hutch_guest::Command for #command {
                type State = State;
                const CONTRACT: ::hutch_guest::contract::Command = ::hutch_guest::contract::Command {
                    name: #name,
                    description: #description,
                    parameters: PARAMETERS,
                    effect: ::hutch_guest::contract::Effect::#effect,
                    idempotent: #idempotent,
                    confirmation_required: #confirm,
                    output_schema: ::hutch_guest::schema::Schema::Document(
                        #name,
                        <Answered as ::hutch_guest::answer::Answer>::OWN,
                        <Answered as ::hutch_guest::answer::Answer>::ITEMS,
                    ),
                    errors: ERRORS,
                    examples: &[#(#examples),*],
                };
                const FIELDS: &'static [::hutch_guest::schema::Field] =
                    <<Answered as ::hutch_guest::answer::Answer>::Row as ::hutch_guest::Row>::FIELDS;

                fn read(
                    arguments: &::hutch_guest::argv::Arguments,
                ) -> ::std::result::Result<Self, ::hutch_guest::Failure> {
                    let read = Self { #(#reads)* };
                    #role::check(&read)?;
                    ::std::result::Result::Ok(read)
                }

                fn perform(
                    self,
                    state: &mut State,
                    call: &::hutch_guest::Call,
                ) -> ::std::result::Result<::hutch_guest::answer::Outcome, ::hutch_guest::Failure> {
                    let answer = #role::run(self, #state, call)?;
                    ::std::result::Result::Ok(::hutch_guest::answer::Answer::outcome(answer))
                }
            }
        };
    }
}

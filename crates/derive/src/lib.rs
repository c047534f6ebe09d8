//! The derive macros of deskpass.

mod doc;
mod from_fields;
mod settings;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, parse_macro_input};

/// Implements the trait `FromFields` of `deskpass::http::request::fields`.
///
/// The type of a struct field implements `FieldValue`; an `Option` may be missing or null. The doc comment of a struct field is
/// published in the API description.
///
/// Attributes of a struct field:
/// - `#[field(name = "…")]`: the name in requests, where it is not the name of the struct field. Fields of tuple structs need one.
/// - `#[field(default = …)]`: the value of a field that is missing or null.
/// - `#[field(range = 1..=200)]`: the values of a field of type `u64`.
/// - `#[field(flatten)]`: the type implements `FromFields`, and its fields belong to this request.
///
/// Attributes of the struct:
/// - `#[field(into = Type)]`: the struct only declares the fields, and `Type` is what is read: `Type: TryFrom<Struct>`. The
///   conversion is the place for rules across fields; its error is `InvalidFields`.
/// - `#[field(deny_unknown)]`: a query with other fields is rejected.
#[proc_macro_derive(FromFields, attributes(field))]
pub fn derive_from_fields(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    from_fields::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a section of the settings, such as `[session]` for `struct Session`.
///
/// A field with `#[setting(…)]` is a key of the section: its name is the key, its documentation is the help text, and its type
/// parses the value. The attribute takes these arguments, with values written as in the environment:
///
/// - `default`: the default in both profiles; or `development` and `production`: one default each;
/// - `required`: production has no default and refuses to start without a value;
/// - `example`: the value in the example file, for a setting that has no default in production and is no secret;
/// - `min` and `max`: the range of a number, a duration or a size;
/// - `restart`: a change takes effect at the next start; every other setting also changes with a reload;
/// - `name`: the key within the section, if it is not the name of the field, such as `tls.key`.
///
/// A setting that some profile leaves unset is an `Option`. A field with `#[computed(…)]` is no setting: it has the value in
/// parentheses until it is computed from the settings.
#[proc_macro_derive(Section, attributes(setting, computed))]
pub fn derive_section(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let prefix = format!("{}.", input.ident.to_string().to_lowercase());
    settings::expand(&input, &prefix).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct the root of the settings: as [`derive_section`], with top-level keys, and a section for each field with
/// `#[section]`.
#[proc_macro_derive(Settings, attributes(setting, section, computed))]
pub fn derive_settings(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    settings::expand(&input, "").unwrap_or_else(Error::into_compile_error).into()
}

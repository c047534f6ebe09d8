//! The derive macros of deskpass.

mod settings;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, parse_macro_input};

/// Makes a struct a section of the settings, such as `[session]` for `struct Session`.
///
/// A field with `#[setting(…)]` is a key of the section: its name is the key, its documentation is the help text, and its type
/// parses the value. The attribute takes these arguments, with values written as in the environment:
///
/// - `default`: the default in both profiles; or `development` and `production`: one default each;
/// - `required`: production has no default and refuses to start without a value;
/// - `example`: the value in the example file, for a setting that has no default in production and is no secret;
/// - `min` and `max`: the range of a number, a duration or a size.
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

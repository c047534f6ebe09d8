//! `#[derive(Section)]` and `#[derive(Settings)]`.
//!
//! For `struct Session`, this generates `struct SessionEntries`, which has each setting with its origin, and the
//! implementation of `Section`, which lists the keys, resolves them to entries, and builds the struct from valid entries.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::{
    Attribute, Data, DataStruct, DeriveInput, Error, Expr, ExprLit, Field, GenericArgument, Ident, Lit, LitStr,
    PathArguments, Result, Type,
};

use crate::doc::doc_lines;

/// The implementation of `Section`; `prefix` precedes the names of the keys.
pub(crate) fn expand(input: &DeriveInput, prefix: &str) -> Result<TokenStream> {
    let Data::Struct(DataStruct { fields, .. }) = &input.data else {
        return Err(Error::new_spanned(input, "settings are the fields of a struct"));
    };
    let mut declared = Declared::default();
    for field in fields {
        declared.add(field, prefix)?;
    }
    Ok(declared.implementation(&input.ident))
}

/// The fields of a struct, by their role.
#[derive(Default)]
struct Declared<'a> {
    settings: Vec<Setting<'a>>,
    sections: Vec<(&'a Ident, &'a Type)>,
    /// With the value that a field has until it is computed.
    computed: Vec<(&'a Ident, TokenStream)>,
}

struct Setting<'a> {
    name: &'a Ident,
    /// The type of its values: that of the field, without the `Option` of a setting that may be unset.
    value_type: &'a Type,
    may_be_unset: bool,
    /// Whether a change needs a restart.
    restart: bool,
    /// The `SettingKey`.
    key: TokenStream,
}

impl<'a> Declared<'a> {
    fn add(&mut self, field: &'a Field, prefix: &str) -> Result<()> {
        let Some(name) = &field.ident else { return Err(Error::new_spanned(field, "a setting has a name")) };
        let attribute = |name| field.attrs.iter().find(|attribute| attribute.path().is_ident(name));
        if let Some(attribute) = attribute("setting") {
            self.settings.push(Setting::parse(field, name, attribute, prefix)?);
        } else if attribute("section").is_some() {
            self.sections.push((name, &field.ty));
        } else if let Some(attribute) = attribute("computed") {
            self.computed.push((name, attribute.parse_args()?));
        } else {
            return Err(Error::new_spanned(field, "a field is a #[setting(…)], a #[section] or #[computed(…)]"));
        }
        Ok(())
    }

    fn implementation(&self, owner: &Ident) -> TokenStream {
        let entries = format_ident!("{owner}Entries");
        let names: Vec<_> = self.settings.iter().map(|setting| setting.name).collect();
        let types = self.settings.iter().map(|setting| setting.value_type);
        let keys = self.settings.iter().map(|setting| &setting.key);
        let (count, section_count) = (self.settings.len(), self.sections.len());
        let (sections, section_types): (Vec<_>, Vec<_>) = self.sections.iter().copied().unzip();
        let values = self.settings.iter().map(Setting::value);
        let computed = self.computed.iter().map(|(name, _)| name);
        let initial_values = self.computed.iter().map(|(_, value)| value);
        let documentation = format!("The settings of [`{owner}`] with their origins.");
        let reload = self.reload(&entries);
        quote! {
            #[doc = #documentation]
            #[derive(Clone, Debug)]
            pub(in crate::config) struct #entries {
                #(pub(in crate::config) #names: crate::config::section::Setting<#types>,)*
                #(pub(in crate::config) #sections: <#section_types as crate::config::section::Section>::Entries,)*
            }

            const _: () = {
                use crate::config::declaration::Declaration;
                use crate::config::key::{SettingKey, ValueType};
                use crate::config::section::{Resolver, Section};

                static KEYS: [SettingKey; #count] = [#(#keys),*];

                impl Section for #owner {
                    type Entries = #entries;

                    fn keys() -> Vec<&'static SettingKey> {
                        let sections: [Vec<&'static SettingKey>; #section_count] =
                            [#(<#section_types as Section>::keys()),*];
                        KEYS.iter().chain(sections.into_iter().flatten()).collect()
                    }

                    fn resolve(resolver: &mut Resolver<'_>) -> #entries {
                        let [#(#names),*] = &KEYS;
                        #entries {
                            #(#names: resolver.setting(#names),)*
                            #(#sections: <#section_types as Section>::resolve(resolver),)*
                        }
                    }

                    fn build(entries: &#entries) -> Option<Self> {
                        Some(Self {
                            #(#names: #values,)*
                            #(#sections: Section::build(&entries.#sections)?,)*
                            #(#computed: #initial_values,)*
                        })
                    }

                    #reload
                }
            };
        }
    }

    /// The functions that compare and merge the settings of a reload. Computed fields have no part in it.
    fn reload(&self, entries: &Ident) -> TokenStream {
        let names: Vec<_> = self.settings.iter().map(|setting| setting.name).collect();
        let fixed: Vec<_> =
            self.settings.iter().filter(|setting| setting.restart).map(|setting| setting.name).collect();
        let (sections, section_types): (Vec<_>, Vec<_>) = self.sections.iter().copied().unzip();
        quote! {
            fn changed_keys(&self, other: &Self, found: &mut Vec<&'static SettingKey>) {
                let [#(#names),*] = &KEYS;
                #(if self.#names != other.#names {
                    found.push(#names);
                })*
                #(Section::changed_keys(&self.#sections, &other.#sections, found);)*
            }

            fn keep_fixed(&mut self, running: &Self) {
                // Not every section has a setting that needs a restart.
                let _ = running;
                #(self.#fixed.clone_from(&running.#fixed);)*
                #(Section::keep_fixed(&mut self.#sections, &running.#sections);)*
            }

            fn keep_fixed_entries(entries: &mut #entries, running: &#entries) {
                // Not every section has a setting that needs a restart.
                let _ = (&entries, running);
                #(entries.#fixed.clone_from(&running.#fixed);)*
                #(<#section_types as Section>::keep_fixed_entries(&mut entries.#sections, &running.#sections);)*
            }
        }
    }
}

impl<'a> Setting<'a> {
    fn parse(field: &'a Field, name: &'a Ident, attribute: &Attribute, prefix: &str) -> Result<Self> {
        let spec = Spec::parse(attribute)?;
        let may_be_unset = spec.may_be_unset();
        let value_type = match (may_be_unset, option_argument(&field.ty)) {
            (false, _) => &field.ty,
            (true, Some(argument)) => argument,
            (true, None) => {
                return Err(Error::new_spanned(&field.ty, "a setting that may be unset is an Option"));
            }
        };
        let written = spec.name.clone().unwrap_or_else(|| name.to_string());
        let key = spec.key(&format!("{prefix}{written}"), &doc_lines(&field.attrs).join("\n"), value_type);
        Ok(Self { name, value_type, may_be_unset, restart: spec.restart, key })
    }

    fn value(&self) -> TokenStream {
        let name = self.name;
        let question_mark = (!self.may_be_unset).then(|| quote!(?));
        quote!(entries.#name.value.clone()#question_mark)
    }
}

/// The arguments of `#[setting(…)]`.
#[derive(Default)]
struct Spec {
    /// The name of the key, if it is not that of the field.
    name: Option<String>,
    development: Option<TokenStream>,
    production: Option<TokenStream>,
    required: bool,
    restart: bool,
    example: Option<TokenStream>,
    min: Option<TokenStream>,
    max: Option<TokenStream>,
}

impl Spec {
    fn parse(attribute: &Attribute) -> Result<Self> {
        let mut spec = Self::default();
        attribute.parse_nested_meta(|meta| spec.add(&meta))?;
        Ok(spec)
    }

    fn add(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.require_ident()?.to_string();
        match name.as_str() {
            "required" => {
                self.required = true;
                return Ok(());
            }
            "restart" => {
                self.restart = true;
                return Ok(());
            }
            "name" => {
                self.name = Some(meta.value()?.parse::<LitStr>()?.value());
                return Ok(());
            }
            _ => {}
        }
        let text = Some(text(&meta.value()?.parse()?)?);
        match name.as_str() {
            "default" => (self.development, self.production) = (text.clone(), text),
            "development" => self.development = text,
            "production" => self.production = text,
            "example" => self.example = text,
            "min" => self.min = text,
            "max" => self.max = text,
            _ => return Err(meta.error("there is no such argument")),
        }
        Ok(())
    }

    /// Whether one of the profiles has no value, unless it is given.
    fn may_be_unset(&self) -> bool {
        self.development.is_none() || (self.production.is_none() && !self.required)
    }

    fn key(&self, name: &str, help: &str, value_type: &Type) -> TokenStream {
        let optional =
            |text: &Option<TokenStream>| text.as_ref().map_or_else(|| quote!(None), |text| quote!(Some(#text)));
        let (development, production) = (optional(&self.development), optional(&self.production));
        let or_empty = |text: &Option<TokenStream>| text.clone().unwrap_or_else(|| quote!(""));
        let (example, min, max) = (or_empty(&self.example), or_empty(&self.min), or_empty(&self.max));
        let (required, restart) = (self.required, self.restart);
        quote! {
            SettingKey {
                declaration: Declaration {
                    name: #name,
                    help: #help,
                    development: #development,
                    production: #production,
                    required: #required,
                    restart: #restart,
                    example: #example,
                    min: #min,
                    max: #max,
                },
                value_type: ValueType::of::<#value_type>(),
            }
        }
    }
}

/// A literal as text, so that a number needs no quotes; any other expression, such as the name of a constant, as it is.
fn text(value: &Expr) -> Result<TokenStream> {
    let Expr::Lit(ExprLit { lit, .. }) = value else { return Ok(quote!(#value)) };
    let text = match lit {
        Lit::Str(text) => text.value(),
        Lit::Int(number) => number.base10_digits().to_owned(),
        Lit::Bool(flag) => flag.value.to_string(),
        _ => return Err(Error::new_spanned(lit, "expected a string, a whole number or a boolean")),
    };
    Ok(quote!(#text))
}

/// The `T` of `Option<T>`.
fn option_argument(field_type: &Type) -> Option<&Type> {
    let Type::Path(path) = field_type else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(argument)) => Some(argument),
        _ => None,
    }
}

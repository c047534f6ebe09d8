//! Reading a request and describing it for OpenAPI both follow from its struct.

mod attributes;

use proc_macro2::TokenStream;
use quote::{ToTokens as _, format_ident, quote};
use syn::{Data, DeriveInput, Error, Field, Ident, Member, Result, Type};

use self::attributes::{FieldAttributes, StructAttributes};
use crate::doc::doc_lines;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(input, "FromFields can be derived for structs only"));
    };
    let StructAttributes { into, deny_unknown } = StructAttributes::parse(&input.attrs)?;
    let fields = data.fields.members().zip(&data.fields).enumerate();
    let fields = fields.map(|(place, (member, field))| RequestField::parse(place, member, field));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let (declared, module) = (&input.ident, module());
    let (descriptions, readings) = (fields.iter().map(RequestField::describe), fields.iter().map(RequestField::read));
    let (members, values) = (fields.iter().map(|field| &field.member), fields.iter().map(|field| &field.value));
    let whole = quote!(#declared { #(#members: #values?),* });
    let (target, result) = match into {
        None => (declared.to_token_stream(), quote!(::core::option::Option::Some(#whole))),
        Some(target) => (target.to_token_stream(), quote!(fields.convert(#whole))),
    };
    let unknown = deny_unknown.then(|| quote!(fields.deny_unknown::<Self>();));
    Ok(quote! {
        #[automatically_derived]
        impl #module::FromFields for #target {
            fn describe(specs: &mut ::std::vec::Vec<#module::FieldSpec>) {
                #(#descriptions)*
            }

            fn from_fields(fields: &mut #module::Fields) -> ::core::option::Option<Self> {
                #unknown
                #(#readings)*
                #result
            }
        }
    })
}

/// The module of the trait.
fn module() -> TokenStream {
    quote!(crate::http::request::fields)
}

struct RequestField<'a> {
    member: Member,
    /// The variable of the value that was read; `None` where the field is invalid.
    value: Ident,
    field_type: &'a Type,
    doc: String,
    attributes: FieldAttributes,
}

impl<'a> RequestField<'a> {
    fn parse(place: usize, member: Member, field: &'a Field) -> Result<Self> {
        let (value, attributes) = (format_ident!("field_{place}"), FieldAttributes::parse(field)?);
        Ok(Self { member, value, field_type: &field.ty, doc: doc_lines(&field.attrs).join(" "), attributes })
    }

    /// The type that the value is read as.
    fn read_as(&self) -> TokenStream {
        let (field_type, module) = (self.field_type, module());
        let range = self.attributes.range.as_ref();
        let bounded = range.map(|(least, most)| quote!(#module::BoundedInteger<#least, { #most }>));
        bounded.unwrap_or_else(|| quote!(#field_type))
    }

    /// The statement that adds the field to a description.
    fn describe(&self) -> TokenStream {
        let (module, field_type, doc) = (module(), self.read_as(), &self.doc);
        match &self.attributes {
            FieldAttributes { flatten: true, .. } => quote!(<#field_type as #module::FromFields>::describe(specs);),
            FieldAttributes { name, default: Some(_), .. } => {
                quote!(specs.push(#module::FieldSpec::of::<::core::option::Option<#field_type>>(#name, #doc));)
            }
            FieldAttributes { name, .. } => quote!(specs.push(#module::FieldSpec::of::<#field_type>(#name, #doc));),
        }
    }

    /// The statement that reads the field.
    fn read(&self) -> TokenStream {
        let (module, field_type, value) = (module(), self.read_as(), &self.value);
        let FieldAttributes { name, default, range, flatten } = &self.attributes;
        if *flatten {
            return quote!(let #value = <#field_type as #module::FromFields>::from_fields(fields););
        }
        match (default, range) {
            (None, None) => quote!(let #value = fields.read::<#field_type>(#name);),
            (Some(default), None) => quote!(let #value = fields.read_or::<#field_type>(#name, #default);),
            (None, Some(_)) => quote!(let #value = fields.read::<#field_type>(#name).map(|bounded| bounded.0);),
            (Some(default), Some(_)) => {
                let default = quote!(#module::BoundedInteger(#default));
                quote!(let #value = fields.read_or::<#field_type>(#name, #default).map(|bounded| bounded.0);)
            }
        }
    }
}

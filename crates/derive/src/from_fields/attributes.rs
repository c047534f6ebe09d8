//! The attributes of a request type.

use syn::{Attribute, Error, Expr, Field, LitInt, LitStr, Result, Token, Type};

#[derive(Default)]
pub(crate) struct StructAttributes {
    /// The type that is read.
    pub(crate) into: Option<Type>,
    /// Whether other fields are rejected.
    pub(crate) deny_unknown: bool,
}

impl StructAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = Self::default();
        for attribute in field_attributes(attributes) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("into") {
                    parsed.into = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("deny_unknown") {
                    parsed.deny_unknown = true;
                } else {
                    return Err(meta.error("expected into or deny_unknown"));
                }
                Ok(())
            })?;
        }
        Ok(parsed)
    }
}

pub(crate) struct FieldAttributes {
    /// The name in requests; empty where the field is flattened.
    pub(crate) name: String,
    pub(crate) default: Option<Expr>,
    /// The least and the greatest value.
    pub(crate) range: Option<(LitInt, Expr)>,
    pub(crate) flatten: bool,
}

impl FieldAttributes {
    pub(crate) fn parse(field: &Field) -> Result<Self> {
        let own_name = field.ident.as_ref().map(ToString::to_string);
        let mut parsed = Self { name: own_name.unwrap_or_default(), default: None, range: None, flatten: false };
        for attribute in field_attributes(&field.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    parsed.name = meta.value()?.parse::<LitStr>()?.value();
                } else if meta.path.is_ident("default") {
                    parsed.default = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("range") {
                    let value = meta.value()?;
                    let least = value.parse()?;
                    value.parse::<Token![..=]>()?;
                    parsed.range = Some((least, value.parse()?));
                } else if meta.path.is_ident("flatten") {
                    parsed.flatten = true;
                } else {
                    return Err(meta.error("expected name, default, range or flatten"));
                }
                Ok(())
            })?;
        }
        if parsed.name.is_empty() && !parsed.flatten {
            return Err(Error::new_spanned(field, "a field of a tuple struct needs a name: #[field(name = \"…\")]"));
        }
        Ok(parsed)
    }
}

fn field_attributes(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("field"))
}

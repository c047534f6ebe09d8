//! Doc comments, which the settings and the API description publish.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The lines of a doc comment.
pub(crate) fn doc_lines(attributes: &[Attribute]) -> Vec<String> {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(line) if line.path.is_ident("doc") => match &line.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    lines.collect()
}

//! Lists in parts.

use serde_json::{Value, json};

use super::{FeishuCall, success};
use crate::feishu::refusal::Refused;

const DEFAULT_SIZE: usize = 10;
const MAX_SIZE: usize = 50;

/// The part of a list that was asked for. An empty part has no list.
pub(super) fn page(ask: &FeishuCall<'_>, items: &[Value]) -> Result<Value, Refused> {
    named_page(ask, "items", MAX_SIZE, items)
}

/// The same for a list with a name and a maximum of its own.
pub(super) fn named_page(ask: &FeishuCall<'_>, name: &str, max_size: usize, items: &[Value]) -> Result<Value, Refused> {
    let query = ask.call.query;
    let size = query.non_empty("page_size").map_or(Some(DEFAULT_SIZE), |size| size.parse().ok());
    let size = size.filter(|size| (1..=max_size).contains(size)).ok_or(40_011)?;
    let start = match query.non_empty("page_token") {
        Some(token) => token.strip_prefix("from-").and_then(|start| start.parse().ok()).ok_or(40_012)?,
        None => 0_usize,
    };
    let end = start.saturating_add(size).min(items.len());
    let part = items.get(start..end).ok_or(40_012)?;
    let mut data = json!({ "has_more": end < items.len() });
    if let Value::Object(fields) = &mut data {
        if end < items.len() {
            fields.insert("page_token".to_owned(), format!("from-{end}").into());
        }
        if !part.is_empty() {
            fields.insert(name.to_owned(), part.into());
        }
    }
    Ok(success(&data))
}

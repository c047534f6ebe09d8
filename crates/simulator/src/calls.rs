//! Call statistics: which APIs were called, how often, and with which parameters.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::query::QueryParams;

/// The maximum number of recorded parameters.
const MAX_PARAMETERS: usize = 32;

/// The calls since the start, or since the last reset.
#[derive(Debug, Default)]
pub(crate) struct Calls(BTreeMap<&'static str, CallStats>);

#[derive(Debug, Default)]
struct CallStats {
    count: u64,
    last: Value,
}

impl Calls {
    /// Counts a call; `values` keeps the values of its parameters too, except those of secrets.
    pub(crate) fn count(&mut self, api: &'static str, parameters: &QueryParams, values: bool) {
        let seen = self.0.entry(api).or_default();
        seen.count += 1;
        let pairs: Vec<_> = parameters.pairs().iter().take(MAX_PARAMETERS).collect();
        let names: Vec<_> = pairs.iter().map(|(name, _)| name).collect();
        seen.last = if values {
            let public: Vec<_> = pairs.iter().filter(|(name, _)| !is_secret(name)).collect();
            json!({ "names": names, "pairs": public })
        } else {
            json!({ "names": names })
        };
    }

    pub(crate) fn show(&self) -> Value {
        let of = |field: fn(&CallStats) -> Value| -> Map<String, Value> {
            self.0.iter().map(|(name, seen)| ((*name).to_owned(), field(seen))).collect()
        };
        json!({ "calls": of(|seen| seen.count.into()), "last": of(|seen| seen.last.clone()) })
    }
}

fn is_secret(name: &str) -> bool {
    name.to_ascii_lowercase().contains("secret")
}

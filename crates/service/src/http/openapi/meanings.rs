//! Adds the meaning of every field to the API description, in English and Chinese.
//!
//! Most names mean the same wherever they stand, so a table has each of them once. The documentation of a field in its declaration
//! says more than the table, unless the table names the schema or the operation of the field, too.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A line is `field | English | 中文`, or `Owner.field | English | 中文`.
const TABLE: &str = include_str!("meanings.txt");

/// The member of a field's description that has its meaning in Chinese.
const CHINESE: &str = "x-description-zh";

/// The table.
#[derive(Debug)]
pub(super) struct Meanings {
    lines: BTreeMap<&'static str, Meaning>,
}

/// A line of the table.
#[derive(Debug)]
struct Meaning {
    /// Empty where the declaration of the field has the text.
    english: &'static str,
    chinese: &'static str,
    used: bool,
}

impl Meanings {
    /// Reads the table.
    pub(super) fn read() -> Self {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let mut pieces = line.split('|').map(str::trim);
            let (name, english, chinese) = (pieces.next()?, pieces.next()?, pieces.next()?);
            Some((name, Meaning { english, chinese, used: false }))
        });
        Self { lines: lines.collect() }
    }

    /// Adds the meaning of all fields of a description's schemas, parameters and bodies.
    pub(super) fn add_to(&mut self, paths: &mut Map<String, Value>, schemas: &mut Map<String, Value>) {
        for (name, schema) in schemas {
            self.add_to_schema(name, schema);
        }
        for operation in paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
            let owner = operation.get("operationId").and_then(Value::as_str).unwrap_or_default().to_owned();
            for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(name) = parameter.get("name").and_then(Value::as_str).map(str::to_owned) {
                    self.add_to_field(&owner, &name, parameter);
                }
            }
            let bodies = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
            for body in bodies.into_iter().flat_map(Map::values_mut).filter_map(|content| content.get_mut("schema")) {
                self.add_to_schema(&owner, body);
            }
        }
    }

    /// The lines that no field uses.
    #[cfg(test)]
    pub(super) fn unused(&self) -> Vec<&'static str> {
        self.lines.iter().filter(|(_, meaning)| !meaning.used).map(|(name, _)| *name).collect()
    }

    /// Adds the meaning of all fields of a schema, and of those in it.
    fn add_to_schema(&mut self, owner: &str, schema: &mut Value) {
        let Some(members) = schema.as_object_mut() else { return };
        for (name, field) in members.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            self.add_to_field(owner, name, field);
            self.add_to_schema(owner, field);
        }
        for alternatives in ["anyOf", "oneOf", "allOf"] {
            for schema in members.get_mut(alternatives).and_then(Value::as_array_mut).into_iter().flatten() {
                self.add_to_schema(owner, schema);
            }
        }
        if let Some(items) = members.get_mut("items") {
            self.add_to_schema(owner, items);
        }
    }

    fn add_to_field(&mut self, owner: &str, name: &str, field: &mut Value) {
        let Some(field) = field.as_object_mut() else { return };
        let own = format!("{owner}.{name}");
        let is_own = self.lines.contains_key(&*own);
        let key = if is_own { &*own } else { name };
        let Some(Meaning { english, chinese, used }) = self.lines.get_mut(key) else { return };
        *used = true;
        if !english.is_empty() && (is_own || !field.contains_key("description")) {
            field.insert("description".into(), (*english).into());
        }
        field.insert(CHINESE.into(), (*chinese).into());
    }
}

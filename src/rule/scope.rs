//! A scope: the names a rule can see, with their values.

use std::collections::{BTreeMap, HashMap};

use cel::Value;

use crate::model::level::Scalar;

/// Names and values for rules. Numbers beyond 63 bits become floating-point numbers.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    values: BTreeMap<String, Value>,
}

impl Scope {
    /// A scope in which nothing is known.
    pub fn new() -> Scope {
        Scope::default()
    }

    /// Sets `name` to a level of a variable or setting.
    pub fn level(&mut self, name: &str, scalar: &Scalar) {
        let value = match scalar {
            Scalar::Int(int) => Value::Int(*int),
            Scalar::Float(float) => Value::Float(*float),
            Scalar::Text(text) => Value::from(text.as_str()),
        };
        self.put(name, value);
    }

    /// Sets `name` to nested facts, e.g. `hosts` to an object of hosts.
    pub fn value(&mut self, name: &str, value: &serde_json::Value) {
        self.put(name, convert(value));
    }

    fn put(&mut self, name: &str, value: Value) {
        match self.values.get_mut(name) {
            Some(slot) => *slot = value,
            None => drop(self.values.insert(name.to_owned(), value)),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }
}

fn convert(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(items) => Value::from(items.iter().map(convert).collect::<Vec<Value>>()),
        serde_json::Value::Object(fields) => Value::from(
            fields.iter().map(|(key, value)| (key.clone(), convert(value))).collect::<HashMap<_, _>>(),
        ),
    }
}

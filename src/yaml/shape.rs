//! The schemas of single values, shared by all file shapes.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

macro_rules! value {
    ($(#[doc = $doc:literal])* $name:ident, $schema:tt) => {
        $(#[doc = $doc])*
        pub struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

value!(/** Text that is not empty. */ Text, {"type": "string", "minLength": 1});
value!(/** A name that becomes part of paths and cell ids. */ Label,
    {"type": ["string", "number"], "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "maxLength": 64});
value!(/** A level: text or number as typed. */ Level, {"type": ["string", "number", "boolean"]});
value!(/** A whole number, or a template that gives one. */ Count,
    {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "\\$\\{"}]});
value!(/** A whole number. */ Whole, {"type": "integer", "minimum": 0});
value!(/** Frame sizes, or a template that gives some. */ Sizes,
    {"anyOf": [{"type": "integer", "minimum": 64, "maximum": 1518},
        {"type": "string", "pattern": "^[0-9 ,/-]+$|^imix(-csit)?$|\\$\\{"}]});
value!(/** A duration with its unit. */ Duration,
    {"type": "string", "pattern": "^[0-9].*[a-z]$|\\$\\{", "examples": ["30s", "200ms", "1h5m2s"]});
value!(/** A percentage. */ Percent, {"type": "string", "pattern": "^[0-9.]+ *%$", "examples": ["2%"]});

value!(/** A percentage, or a number in the unit of the response. */ Margin,
    {"anyOf": [{"type": "string", "pattern": "^[0-9.]+ *%$", "examples": ["2%"]},
        {"type": "number", "exclusiveMinimum": 0}]});

/// Takes `null` out of a schema: a key that may be missing may not be empty.
pub fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&Value::from("null")));
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    fields.remove("anyOf");
                    // draft-07 readers ignore what stands beside a `$ref`.
                    match only.get("$ref") {
                        Some(_) => {
                            drop(fields.insert("allOf".to_owned(), Value::Array(vec![Value::Object(only)])))
                        }
                        None => fields.extend(only.into_iter().filter(|(key, _)| key != "description")),
                    }
                }
            }
            fields.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

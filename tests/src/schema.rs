//! Compares JSON with schemas: those of the API's document, and the shapes of docs/reference/output.json.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Checks that a value has exactly this shape. A shape is an array with the shape of each item, an object with the shape
/// of each field, `{"*": shape}` for fields of any name, `{"?": shape}` for null as well, the name of a type, with `?` for
/// null as well, or `api:` and the name of a schema in `document`.
///
/// # Panics
/// Panics if it has another shape.
#[track_caller]
pub fn check_shape(document: &Value, value: &Value, shape: &Value, at: &str) {
    match shape {
        Value::Array(item) => {
            let items = value.as_array().unwrap_or_else(|| panic!("{at}: {value} is no array"));
            items.iter().for_each(|value| check_shape(document, value, &item[0], at));
        }
        Value::Object(fields) => {
            if let Some(shape) = fields.get("?") {
                if !value.is_null() {
                    check_shape(document, value, shape, at);
                }
                return;
            }
            let values = value.as_object().unwrap_or_else(|| panic!("{at}: {value} is no object"));
            let any = fields.get("*");
            assert!(any.is_some() || names(values) == names(fields), "{at}: {values:?} are not {fields:?}");
            for (name, value) in values {
                check_shape(document, value, any.unwrap_or(&shape[name]), &format!("{at}.{name}"));
            }
        }
        _ => {
            let name = shape.as_str().expect("a type");
            match name.strip_prefix("api:") {
                Some(schema) => check(document, value, schema),
                None => assert!(has_type(value, name), "{at}: {value} is no {name}"),
            }
        }
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    let text = value.as_str().unwrap_or_default();
    match name {
        "text" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "share" => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
        "count" => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
        "time" => {
            let digits: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            digits == "0000-00-00T00:00:00.000Z"
        }
        _ => {
            let name = name.strip_suffix('?').unwrap_or_else(|| panic!("'{name}' is no type"));
            value.is_null() || has_type(value, name)
        }
    }
}

fn names(object: &Map<String, Value>) -> BTreeSet<&String> {
    object.keys().collect()
}

/// Checks recursively that a value has exactly the fields of its schema.
///
/// # Panics
/// Panics if it has others.
#[track_caller]
pub fn check(document: &Value, value: &Value, schema: &str) {
    check_value(document, value, &document["components"]["schemas"][schema], schema);
}

#[track_caller]
fn check_value(document: &Value, value: &Value, schema: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().expect("a name");
        return check_value(document, value, &document["components"]["schemas"][name], name);
    }
    if let Some(either) = schema["oneOf"].as_array() {
        if !value.is_null() {
            let schema = either.iter().find(|schema| schema["type"] != "null").expect("not only null");
            check_value(document, value, schema, at);
        }
        return;
    }
    if schema["allOf"].is_array() {
        let properties = fields_of(document, schema);
        return check_value(document, value, &json!({ "type": "object", "properties": properties }), at);
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    assert!(kinds.contains(&json!(kind)), "{at}: {value} is no {kinds:?}");
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{at}: {value} is none of {allowed:?}");
    }
    for item in value.as_array().into_iter().flatten() {
        check_value(document, item, &schema["items"], at);
    }
    if let Some(fields) = value.as_object() {
        let described =
            schema["properties"].as_object().unwrap_or_else(|| panic!("{at}: no fields are described"));
        assert_eq!(names(fields), names(described), "{at}");
        for (name, field) in fields {
            check_value(document, field, &described[name], &format!("{at}.{name}"));
        }
    }
}

/// Returns the fields of an object, which may combine several schemas.
fn fields_of(document: &Value, schema: &Value) -> Map<String, Value> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().expect("a name");
        return fields_of(document, &document["components"]["schemas"][name]);
    }
    match schema["allOf"].as_array() {
        Some(parts) => parts.iter().flat_map(|part| fields_of(document, part)).collect(),
        None => schema["properties"].as_object().expect("fields").clone(),
    }
}

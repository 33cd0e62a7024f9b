//! Holds JSON to a schema of the OpenAPI document.
//!
//! Guarantees: refuses a keyword that it does not know, and a member that no schema names. Does
//! not: check formats and patterns; schemathesis does.

use serde_json::Value;

/// The document, for what refers to it.
pub(crate) struct Schema<'a>(&'a Value);

const KNOWN: [&str; 18] = [
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "oneOf",
    "$ref",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "maxItems",
    "pattern",
    "format",
    "default",
];

impl<'a> Schema<'a> {
    pub(crate) const fn new(document: &'a Value) -> Self {
        Self(document)
    }

    /// What a `$ref` refers to.
    pub(crate) fn resolved(&self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(place) => self.0.pointer(place.trim_start_matches('#')).expect("it refers to it"),
            None => schema,
        }
    }

    /// Why the value does not fit.
    fn why_not(&self, schema: &'a Value, value: &Value, at: &str) -> Option<String> {
        let schema = self.resolved(schema);
        let keys = schema.as_object().unwrap().keys();
        let unknown: Vec<_> = keys.filter(|key| !KNOWN.contains(&key.as_str())).collect();
        assert!(unknown.is_empty(), "{at}: {unknown:?}");
        if let Some(all) = schema["oneOf"].as_array() {
            let fits = all.iter().filter(|one| self.why_not(one, value, at).is_none()).count();
            return (fits != 1).then(|| format!("{at}: {value} fits {fits} of oneOf"));
        }
        let types = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        if !types.is_empty() && !types.iter().any(|name| is(value, name)) {
            return Some(format!("{at}: {value} is none of {types:?}"));
        }
        if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
            return Some(format!("{at}: {value} is not in the enum"));
        }
        if schema.get("const").is_some_and(|is| is != value) {
            return Some(format!("{at}: {value} is not the constant"));
        }
        if let Some(items) = value.as_array().filter(|_| schema.get("items").is_some()) {
            return items.iter().find_map(|item| self.why_not(&schema["items"], item, at));
        }
        let members = value.as_object()?;
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !members.contains_key(name) {
                return Some(format!("{at}: {name} is missing"));
            }
        }
        members.iter().find_map(|(name, value)| {
            let at = format!("{at}.{name}");
            match (schema["properties"].get(name), schema.get("additionalProperties")) {
                (Some(schema), _) => self.why_not(schema, value, &at),
                (None, Some(Value::Object(_))) => {
                    self.why_not(&schema["additionalProperties"], value, &at)
                }
                (None, None) if schema.get("properties").is_none() => None,
                (None, _) => Some(format!("{at} is not in the document")),
            }
        })
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// Fails unless the value fits.
pub(crate) fn must_fit<'a>(schema: &Schema<'a>, of: &'a Value, value: &Value, at: &str) {
    let why = schema.why_not(of, value, at);
    assert!(why.is_none(), "{why:?} in {value}");
}

//! Makes the OpenAPI schema of a text with a fixed set of values.

use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

/// Returns the schema of a text that is one of `names`.
pub(crate) fn one_of<const N: usize>(description: &str, names: [&'static str; N]) -> Object {
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.description(Some(description)).enum_values(Some(names)).build()
}

//! Schemas that can't be told from a type.

use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

/// A text that is one of these.
pub(crate) fn one_of<const N: usize>(description: &str, names: [&'static str; N]) -> Object {
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.description(Some(description)).enum_values(Some(names)).build()
}

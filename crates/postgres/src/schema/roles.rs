//! The roles of a store, as SQL that a person runs or `init --roles` prints.
//!
//! Guarantees: each role may do what its name says and no more; their names begin with the
//! schema's. Does not: create users, or set passwords.

use super::{SchemaError, check_name};
use crate::statement::{in_schema, quoted};

const ROLES: &str = include_str!("../../../../sql/postgres/schema/roles.sql");

/// The script that creates the roles of a schema and grants them their rights.
///
/// `<schema>_writer` records commands, `_worker` reports, `_relay` runs a relay or the library,
/// `_operator` every verb but `init`, `_auditor` reads all and writes the seal. To be run after
/// each upgrade, too.
///
/// # Errors
/// [`SchemaError::Name`] for a name that cannot be one.
pub fn roles_sql(schema: &str) -> Result<String, SchemaError> {
    check_name(schema)?;
    let name = quoted(schema);
    // Roles first: the schema's own name may begin like theirs.
    let named = ROLES.replace("cf_", &format!("{schema}_"));
    Ok(in_schema(&named, &name).replace("\"cf\"", &name))
}

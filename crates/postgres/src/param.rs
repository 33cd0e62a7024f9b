//! Values bound to a statement, each with its type, so that a statement need not be prepared.
//!
//! Guarantees: what a value is, is known here and not asked of the server; a pooler that gives each
//! transaction another connection can be used.

use tokio_postgres::types::{ToSql, Type};

/// A bound value.
pub(crate) trait Param: ToSql + Sync + Send {
    /// Its type.
    fn of_type(&self) -> Type;

    /// As the driver takes it.
    fn sql(&self) -> &(dyn ToSql + Sync);
}

macro_rules! params {
    ($($rust:ty => $sql:ident,)*) => {
        $(impl Param for $rust {
            fn of_type(&self) -> Type {
                Type::$sql
            }

            fn sql(&self) -> &(dyn ToSql + Sync) {
                self
            }
        })*
    };
}

params! {
    bool => BOOL,
    i32 => INT4,
    i64 => INT8,
    String => TEXT,
    &str => TEXT,
    &[u8] => BYTEA,
    Vec<u8> => BYTEA,
    Option<i32> => INT4,
    Option<i64> => INT8,
    Option<String> => TEXT,
    Option<&str> => TEXT,
    Option<&[u8]> => BYTEA,
    Option<Vec<u8>> => BYTEA,
    Vec<bool> => BOOL_ARRAY,
    Vec<i32> => INT4_ARRAY,
    Vec<i64> => INT8_ARRAY,
    Vec<String> => TEXT_ARRAY,
    Vec<&str> => TEXT_ARRAY,
    Vec<&[u8]> => BYTEA_ARRAY,
    Vec<Option<i32>> => INT4_ARRAY,
    Vec<Option<i64>> => INT8_ARRAY,
    Vec<Option<String>> => TEXT_ARRAY,
    Vec<Option<&str>> => TEXT_ARRAY,
    Vec<Option<&[u8]>> => BYTEA_ARRAY,
    Vec<Option<Vec<u8>>> => BYTEA_ARRAY,
}

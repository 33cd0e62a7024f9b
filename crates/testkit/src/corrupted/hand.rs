//! A hand that goes behind the store's back: plain SQL, past every guard.
//!
//! Guarantees: what a change did is undone row by row. Does not: know what the rows mean.

use counterfoil_core::port::BoxFuture;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Integers.
    Integer,
    /// Texts.
    Text,
    /// Bytes.
    Bytes,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub holds: Holds,
    /// NULL is allowed.
    pub nullable: bool,
}

/// SQL of one database, with all guards off.
pub trait Hand: Send + Sync {
    /// The table of a name of the design, such as `outbox`, as SQL names it.
    fn table(&self, name: &str) -> String;

    /// The columns of a table.
    fn columns(&self, table: &str) -> BoxFuture<'_, Vec<Column>>;

    /// An expression whose text is the SQL literal of a column.
    fn literal(&self, column: &Column) -> String;

    /// A literal as SQL takes it for a value of the column.
    fn value(&self, column: &Column, literal: &str) -> String;

    /// A literal of a text that is no UTF-8; `None`: no text is.
    fn no_text(&self) -> Option<&'static str>;

    /// The column by which one row is found and that is none of the table's; `None`: by all.
    fn place(&self, table: &str) -> Option<&'static str>;

    /// Whether the place is the order of arrival, so that an undone deletion must restore it.
    fn place_is_kept(&self) -> bool;

    /// The rows of a statement whose columns are all texts; NULL as `NULL`.
    fn query(&self, sql: &str) -> BoxFuture<'_, Vec<Vec<String>>>;

    /// Runs one statement that answers rows of texts; `Err` if a constraint refuses it.
    fn write(&self, sql: &str) -> BoxFuture<'_, Result<Vec<Vec<String>>, String>>;

    /// What is said between the columns and the values of an insert.
    fn overriding(&self) -> &'static str;
}

//! What `docs/drivers.md` says of SeaORM and diesel, compiled against the real crates.
//!
//! Guarantees: each module here stands word for word on that page, and a test runs it. Does not:
//! hide anything: an ORM needs no crate of Counterfoil, since one statement is the whole of it.

pub mod diesel_postgres;
pub mod sea_orm_postgres;
pub mod sea_orm_sqlite;

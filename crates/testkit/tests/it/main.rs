//! The suites, run against what the testkit itself brings.
//!
//! Guarantees: the store in memory keeps every rule of the store suite. Does not: prove others.

mod memory_store;

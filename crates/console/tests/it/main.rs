//! The API held to its words: real sockets, over a store in memory and one in a real file.
//!
//! Guarantees: each test uses files and ports of its own. Does not: measure speed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

/// Runs each of these cases over a store in memory, and over one in a real file.
macro_rules! over_both_stores {
    ($($case:ident),+ $(,)?) => {
        mod in_memory {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(crate::scene::in_memory(crate::scene::options()).await).await;
            })+
        }
        mod in_a_file {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(crate::scene::in_a_file(crate::scene::options()).await).await;
            })+
        }
    };
}

mod acting;
mod audit;
mod bad_report;
mod browser;
mod caller;
mod client;
mod commands;
mod connection;
mod destination;
mod health;
mod look;
mod metrics;
mod openapi;
mod receipt;
mod scene;
mod schema;
mod stop;
mod token;
mod twins;
mod workflow;
mod workflow_story;

//! The command, tested as its users meet it: as a process, with real files and real connections.
//!
//! Guarantees: loopback only, every file in a folder that is removed. Does not: decide anything by
//! a stopwatch; each wait is for a state, with a generous end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so by a panic, in its functions too"
)]

/// Runs each of these cases on SQLite and on PostgreSQL.
macro_rules! on_both_stores {
    ($($case:ident)*) => {
        mod on_sqlite {
            $(
                #[test]
                fn $case() {
                    super::$case(&crate::workflow::Books::on_sqlite());
                }
            )*
        }
        mod on_postgres {
            $(
                #[test]
                fn $case() {
                    super::$case(&crate::workflow::Books::on_postgres());
                }
            )*
        }
    };
}

mod act;
mod announce;
mod answers;
mod api;
mod api_relay;
mod api_schemathesis;
mod archive;
mod archive_story;
mod audit;
mod audit_book;
mod backup;
mod bulk;
mod by_hand;
mod configuration;
mod disk;
mod doctor;
mod doctor_retention;
mod drill;
mod drill_contract;
mod drill_postgres;
mod dry_run;
mod enqueue;
mod erase;
mod failure_group;
mod fault;
#[cfg(feature = "otlp")]
mod http_server;
mod import;
mod init;
mod lane;
mod log;
mod look;
mod manual;
mod operations;
mod outage;
mod page;
mod postgres;
mod postgres_access;
mod postgres_doctor;
mod postgres_listen;
#[cfg(unix)]
mod postgres_pooler;
mod program;
mod readme;
mod receiver;
mod relay;
mod restored;
#[cfg(unix)]
mod rights;
mod server;
mod standing;
mod story;
mod stranger;
#[cfg(feature = "otlp")]
mod traces;
mod verb;
mod whole;
mod workflow;
mod workflow_archive;
mod workflow_story;

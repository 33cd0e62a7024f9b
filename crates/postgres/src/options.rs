//! How a store is used; each option has a default.

use std::time::Duration;

use crate::tls::Tls;

/// Options of a PostgreSQL store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The schema that holds the tables. Default `counterfoil`; two services that share a database
    /// take two names.
    pub schema: String,
    /// The most connections of this process, at least 2. Default 8.
    pub connections: usize,
    /// How long an operation waits for a connection. Default 10 s.
    pub connect_timeout: Duration,
    /// How long one statement may take at the server; 0: without end. Default 30 s.
    pub statement_timeout: Duration,
    /// How long one statement may wait for a row that another transaction holds, such as a report
    /// in an open transaction of yours; 0: as long as the statement may take. Default 5 s.
    pub lock_timeout: Duration,
    /// How long the server lets a transaction of this process stand still, and what it holds with
    /// it, before it ends the session; 0: without end. Default 30 s.
    pub idle_timeout: Duration,
    /// How long the server may say nothing at all where it was asked something, before its
    /// connection is given up: it is frozen, or the network lost it without a word. More than
    /// `statement_timeout`, so that a slow statement is ended by the server; at least 1 s. What was
    /// under way was not written, unless COMMIT was. Default 40 s.
    pub answer_timeout: Duration,
    /// A pooler in transaction mode stands between, such as `PgBouncer`: nothing is prepared, and
    /// settings are made in each transaction. Default: no.
    pub pooler: bool,
    /// Bodies of more bytes are refused, and park where they stand. Default 1 MiB.
    pub body_bytes_max: usize,
    /// Wait for NOTIFY, too, so that a relay hears of other processes' commits at once, and tell
    /// those that wait of ours, once a transaction. Who waits has a connection of its own; with
    /// [`Options::pooler`] a store only tells, since what a pooler shares hears nothing. While
    /// many commit such news, the server lets one commit at a time. Polling stays the truth.
    /// Default: no.
    pub listen: bool,
    /// How the server's certificate is judged, where the connection is encrypted.
    pub tls: Tls,
    /// How long a connection that listens may hear nothing before it is probed, and how long it has
    /// to answer before it is replaced. Default 15 s.
    pub heartbeat: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            schema: "counterfoil".into(),
            connections: 8,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            lock_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(40),
            pooler: false,
            body_bytes_max: 1 << 20,
            listen: false,
            tls: Tls::default(),
            heartbeat: Duration::from_secs(15),
        }
    }
}

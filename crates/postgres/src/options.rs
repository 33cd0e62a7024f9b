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
    /// A pooler in transaction mode stands between, such as `PgBouncer`: nothing is prepared, and
    /// settings are made in each transaction. Default: no.
    pub pooler: bool,
    /// Bodies of more bytes are refused, and park where they stand. Default 1 MiB.
    pub body_bytes_max: usize,
    /// Wait for NOTIFY, too, so that a relay hears of other processes' commits at once; needs a
    /// connection of its own and does not go through a pooler. Default: no.
    pub listen: bool,
    /// How the server's certificate is judged, where the connection is encrypted.
    pub tls: Tls,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            schema: "counterfoil".into(),
            connections: 8,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            pooler: false,
            body_bytes_max: 1 << 20,
            listen: false,
            tls: Tls::default(),
        }
    }
}

//! A drill's own connection to a PostgreSQL server, for programs without tasks.
//!
//! Guarantees: work that a restart of the server cut off is done again, for a bounded time. Does
//! not: know whether the work had been committed; it must be such that twice is once.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::{Client, Error};

use crate::config::postgres_url::PostgresUrl;
use crate::exit::Failure;
use crate::store::{is_refused_for_good, no_server, words};

/// How long a server may be away.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait between two tries.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// A connection, made anew where it breaks.
pub(super) struct Server {
    url: PostgresUrl,
    runtime: Runtime,
    client: Option<Client>,
}

impl Server {
    /// Not connected yet.
    ///
    /// # Errors
    /// The system gives no threads.
    pub(super) fn new(url: &PostgresUrl) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::could_not_run)?;
        Ok(Self { url: url.clone(), runtime, client: None })
    }

    /// `sql` for the schema of this store.
    pub(super) fn sql(&self, sql: &str) -> String {
        self.url.in_schema(sql)
    }

    /// Does `work`, again where the connection broke or another transaction was in the way.
    ///
    /// # Errors
    /// What PostgreSQL says, or that it was away for too long.
    pub(super) fn patiently<T>(
        &mut self,
        mut work: impl AsyncFnMut(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let Self { url, runtime, client } = self;
        let end = Instant::now() + PATIENCE;
        runtime.block_on(async {
            loop {
                let mut connected = match client.take() {
                    Some(client) if !client.is_closed() => client,
                    _ => match counterfoil_postgres::connect(&url.config, &url.options).await {
                        Ok(client) => client,
                        Err(error) if is_refused_for_good(&error) || Instant::now() > end => {
                            return Err(no_server(url, &error));
                        }
                        Err(_) => {
                            tokio::time::sleep(PAUSE).await;
                            continue;
                        }
                    },
                };
                // One that says nothing is given up with its connection.
                let worked = match url.within(work(&mut connected)).await {
                    Ok(worked) => worked,
                    Err(_) if Instant::now() < end => continue,
                    Err(why) => {
                        let text = format!("the drill's own connection: {why}");
                        return Err(Failure::could_not_run(text));
                    }
                };
                match worked {
                    Ok(done) => {
                        *client = Some(connected);
                        return Ok(done);
                    }
                    Err(error) if may_pass(&error) && Instant::now() < end => {
                        tokio::time::sleep(PAUSE).await;
                    }
                    Err(error) => {
                        let said = words(&error);
                        let text = format!("the drill's own connection: PostgreSQL says: {said}");
                        return Err(Failure::could_not_run(text));
                    }
                }
            }
        })
    }
}

/// A broken connection, a server that shuts down or starts, two in each other's way.
fn may_pass(error: &Error) -> bool {
    let Some(code) = error.code() else { return true };
    let code = code.code();
    ["08", "57P", "53", "40001", "40P01"].iter().any(|passing| code.starts_with(passing))
}

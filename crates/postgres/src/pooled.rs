//! Finds a pooler that nobody named.
//!
//! Guarantees: no store opens on a session that drops our settings (`init` may have made it):
//! without them the guards would take the store for a stranger. Does not: look again later.

use tokio_postgres::Client;

use crate::store::OpenError;

const WAY_OUT: &str = "a pooler stands between: say pooler = true (in a URL of the command line \
     pooler=transaction), or connect to the server itself";

/// Refuses a session whose settings are not those that it was begun with.
///
/// # Errors
/// [`OpenError::Server`] with the way out.
pub(crate) async fn check(client: &Client) -> Result<(), OpenError> {
    let own = "SELECT coalesce(current_setting('counterfoil.own', true), '') = 'on'";
    let told = client.query_typed(own, &[]).await.map_err(crate::failure::Failure::from)?;
    let keeps = told.first().is_some_and(|row| crate::row::flag(row, 0));
    if keeps { Ok(()) } else { Err(OpenError::Server(format!("it drops our settings: {WAY_OUT}"))) }
}

/// What the server said, with the way out where it is a pooler that said it.
pub(crate) fn explained(why: String) -> String {
    if why.contains("unsupported startup parameter") { format!("{why}: {WAY_OUT}") } else { why }
}

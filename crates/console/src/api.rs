//! The API as a program runs it: built from a store and options, served until it is told to stop.
//!
//! Guarantees: what cannot be kept is refused before a request is taken: bad options at once, a
//! listener that others could reach without tokens when it is served. Does not: bind an address.

use std::future::Future;
use std::sync::Arc;

use counterfoil_core::port::{Archive, Audited, Workflows};
use tokio::net::TcpListener;

use crate::caller::Callers;
use crate::connection;
use crate::desk::Desk;
use crate::error::ApiError;
use crate::options::ApiOptions;
use crate::route::router;

/// The HTTP API of one store.
pub struct Api<S> {
    store: S,
    options: ApiOptions,
}

impl<S: Audited + Archive + Workflows> Api<S> {
    /// An API over this store.
    ///
    /// # Errors
    /// [`ApiError`] for options that cannot be kept: a bound that is zero or too large, two tokens
    /// with one secret.
    pub fn new(store: S, options: ApiOptions) -> Result<Self, ApiError> {
        options.check()?;
        Ok(Self { store, options })
    }

    /// Serves until `stop`, then takes no more, answers what is there within `drain`, and cuts the
    /// rest; an idle connection ends at once.
    ///
    /// Dropping the future closes every connection. What a report has committed stays committed;
    /// its sender, unanswered, sends it again and hears `repeated`.
    ///
    /// # Errors
    /// [`ApiError::NotLoopback`] if there are no tokens and the listener can be reached from
    /// elsewhere; [`ApiError::Listener`] if it has no address.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ApiError> {
        let address = listener.local_addr().map_err(ApiError::Listener)?;
        let open = self.options.tokens.is_empty();
        if open && !address.ip().to_canonical().is_loopback() {
            return Err(ApiError::NotLoopback { address });
        }
        if open {
            tracing::warn!(
                %address,
                "without tokens every program of this machine may look, report and act"
            );
        }
        tracing::info!(%address, "api listens");
        let callers = Arc::new(Callers::new(self.options.tokens.clone()));
        let options = self.options.clone();
        let router = router(Arc::new(Desk::new(self.store, self.options)), &callers);
        connection::accept(router, &options, listener, stop).await;
        Ok(())
    }
}

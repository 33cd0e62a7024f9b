//! A relay: claims commands, sends them, settles what became of them.
//!
//! Guarantees: owns nothing that it cannot lose; claims no more than it can begin at once; no
//! transaction is open while anything is sent; a stop hands back what has not begun. Does not:
//! elect, register or know other relays; leases and tokens keep them apart.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::port::store::{Declared, Remaining};
use counterfoil_core::port::{Notice, Observer, Store};

use crate::destination::Destinations;
use crate::driver::Driver;
use crate::error::RelayError;
use crate::options::{Options, WORKERS, WORKERS_IN_PROCESS};
use crate::serving::Served;
use crate::sweeper::Sweeper;
use crate::unserved;

/// How long the count at the end may take.
const COUNT_MAX: Duration = Duration::from_secs(5);

/// How a relay ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayEnd {
    /// What is left; all zero unless [`RelayEnd::is_counted`].
    pub remaining: Remaining,
    /// Whether the store said in time what is left.
    pub is_counted: bool,
    /// Attempts that were not settled within the drain; their leases run out by themselves.
    pub abandoned: usize,
}

/// A relay of one store for some destinations.
pub struct Relay<S, O> {
    store: S,
    served: Vec<Served>,
    options: Options,
    observer: Arc<O>,
}

impl<S: Store, O: Observer> Relay<S, O> {
    /// A relay that has not begun.
    #[must_use]
    pub fn new(store: S, served: Vec<Served>, options: Options, observer: O) -> Self {
        Self { store, served, options, observer: Arc::new(observer) }
    }

    /// Declares the contracts, then works until `stop` is ready, or until nothing is left to do
    /// with [`Options::until_idle`]. Must run inside a tokio runtime with time.
    ///
    /// Dropping the future abandons all attempts at once; their leases run out by themselves.
    ///
    /// # Errors
    /// [`RelayError`] when a rule of the configuration is broken (nothing was claimed then), or
    /// when the store or the machine's clock is of no use any more; what had not begun was handed
    /// back where the store allowed it.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<RelayEnd, RelayError> {
        let Self { store, served, options, observer } = self;
        let workers = options.workers.unwrap_or_else(|| default_workers(&served));
        let destinations = Destinations::new(served, workers, Arc::clone(&options.board))?;
        declare(&store, &destinations, options.replace_contract).await?;
        let names = destinations.iter().map(|serving| serving.served.destination.clone());
        let names: Vec<_> = names.collect();
        let owner = options.owner.clone();
        observer.notice(&Notice::Started { owner: owner.clone(), destinations: names.clone() });
        let watch = unserved::Watch::begin(store.clone(), names.clone(), Arc::clone(&observer));
        let sweeper =
            Sweeper::begin(store.clone(), options.announce.clone(), Arc::clone(&observer));
        let driver =
            Driver::new(store.clone(), destinations, workers, options, Arc::clone(&observer));
        let stopped = Box::pin(driver.run(stop)).await;
        drop(watch);
        sweeper.end().await;
        observer.notice(&Notice::Stopped { owner, abandoned: stopped.abandoned });
        if let Some(error) = stopped.error {
            return Err(error);
        }
        let counted = tokio::time::timeout(COUNT_MAX, store.remaining(&names)).await;
        let counted = counted.ok().and_then(Result::ok);
        let (is_counted, remaining) = (counted.is_some(), counted.unwrap_or_default());
        Ok(RelayEnd { remaining, is_counted, abandoned: stopped.abandoned })
    }
}

/// Handlers in this process cost no connection each.
fn default_workers(served: &[Served]) -> usize {
    let is_in_process = |one: &Served| one.transport.request_timeout().is_none();
    if served.iter().all(is_in_process) { WORKERS_IN_PROCESS } else { WORKERS }
}

/// Stores each contract, or finds that the stored one is the same.
async fn declare<S: Store>(
    store: &S,
    destinations: &Destinations,
    replace: bool,
) -> Result<(), RelayError> {
    for serving in destinations.iter() {
        let (destination, terms) = (&serving.served.destination, &serving.served.terms);
        let declared = store.declare(destination, &terms.contract, replace).await;
        match declared.map_err(|why| RelayError::store("declaring a contract", why))? {
            Declared::Agreed => {}
            Declared::Differs(names) => {
                let stored = store
                    .contracts()
                    .await
                    .ok()
                    .and_then(|mut all| all.remove(destination.as_str()).flatten());
                let stored = stored.and_then(|stored| serde_json::to_vec(&stored).ok());
                // One that cannot be read whole has names, and no values.
                let differences = stored.map_or_else(
                    || names.clone(),
                    |stored| {
                        terms
                            .contract
                            .differences(&stored)
                            .iter()
                            .map(ToString::to_string)
                            .collect()
                    },
                );
                let destination = destination.to_string();
                return Err(RelayError::ContractDiffers { destination, names, differences });
            }
        }
    }
    Ok(())
}

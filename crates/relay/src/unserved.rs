//! Tells of commands whose destination nobody here serves.
//!
//! Guarantees: each such destination is announced once, and again when its commands have doubled;
//! looking costs at most a hundredth of the time. Does not: touch them; another relay may serve
//! them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Destination, State};
use counterfoil_core::port::{Notice, Observer, Store};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How often is looked at most.
const EVERY: Duration = Duration::from_secs(1);
/// A look that took long is followed by a rest of so many times its length.
const REST: u32 = 100;

/// A look-out that ends when it is dropped.
pub(crate) struct Watch(JoinHandle<()>);

impl Watch {
    pub(crate) fn begin<S: Store, O: Observer>(
        store: S,
        served: Vec<Destination>,
        observer: Arc<O>,
    ) -> Self {
        Self(tokio::spawn(watch(store, served, observer)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn watch<S: Store, O: Observer>(store: S, served: Vec<Destination>, observer: Arc<O>) {
    let mut told = HashMap::new();
    loop {
        let began = Instant::now();
        // The relay itself tells of a store that fails.
        if let Ok(awaiting) = store.awaiting().await
            && awaiting.iter().any(|name| served.iter().all(|known| known.as_str() != name))
            && let Ok(status) = store.status().await
        {
            for (destination, states) in status.destinations {
                if served.iter().all(|known| known.as_str() != destination) {
                    let is_open = |name: &String| State::from_name(name).is_some();
                    let open = states.iter().filter(|(name, _)| is_open(name));
                    tell(&*observer, &mut told, destination, open.map(|(_, count)| count).sum());
                }
            }
        }
        tokio::time::sleep(EVERY.max(began.elapsed() * REST)).await;
    }
}

fn tell(observer: &impl Observer, told: &mut HashMap<String, u64>, destination: String, open: u64) {
    let before = told.get(&destination).copied().unwrap_or(0);
    if open == 0 {
        told.remove(&destination);
    } else if before == 0 || open / 2 >= before {
        observer.notice(&Notice::Unserved { destination: destination.clone(), open });
        told.insert(destination, open);
    }
}

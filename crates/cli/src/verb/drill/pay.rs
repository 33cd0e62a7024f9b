//! The paying process of a drill: it pays a few orders, then waits to be killed.
//!
//! Guarantees: it announces on stdout where it stands. Does not: end by itself when told to hold.

use std::io::Read;

use crate::args::{Drill, Hold, Shared};
use crate::config::store_url;
use crate::exit::{Ended, Exit, Failure};
use crate::output;

use super::order::{Orders, order_id};

/// Pays `--orders` orders from `--first` on.
///
/// # Errors
/// The store is missing or refuses.
pub(super) fn run(shared: &Shared, args: &Drill) -> Ended {
    let url = store_url::find(store_url::named(shared.store.as_deref()), None)?;
    let mut orders = Orders::open(&url)?;
    let last = args.first.saturating_add(args.orders).saturating_sub(1);
    for n in args.first..=last {
        let hold = args.hold.filter(|_| n == last);
        let before = hold == Some(Hold::BeforeCommit);
        orders.pay(n, || {
            if before {
                let _ = announce("written", n);
                wait_for_the_end();
            }
        })?;
        announce("paid", n)?;
        if hold == Some(Hold::AfterCommit) {
            wait_for_the_end();
        }
    }
    Ok(Exit::Done)
}

fn announce(what: &str, n: u32) -> Result<(), Failure> {
    output::line(&format!("{what} {}", order_id(n)))
}

/// Returns only if the drill itself is gone: then standard input ends.
fn wait_for_the_end() {
    let mut byte = [0; 1];
    while matches!(std::io::stdin().read(&mut byte), Ok(1..)) {}
}

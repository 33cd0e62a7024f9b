//! `pause` and `resume`: a destination that no relay sends to, until somebody says otherwise.
//!
//! Guarantees: all relays obey; who did it and why stands in the books and in `status`. Does not:
//! stop what is in flight.

use counterfoil_core::domain::Destination;
use counterfoil_core::port::Store;
use counterfoil_core::port::read::Status;
use serde_json::json;

use super::act::needed;
use super::actor::actor;
use super::{Found, block_on};
use crate::args::{Pause, Resume, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output::table::cell;
use crate::output::{self, time};
use crate::store::OpenStore;

/// How many destinations a refusal names: rows by hand can name any number.
const SHOWN: usize = 20;

/// Does `pause`.
///
/// # Errors
/// The reason is missing, nobody knows the destination, or the store cannot be written.
pub(crate) fn pause(shared: &Shared, args: Pause) -> Ended {
    let reason = needed(args.reason, "pause", "--reason", "why")?;
    let actor = actor(args.actor)?;
    let found = Found::new(shared)?;
    let store = found.open()?;
    block_on(async {
        let destination = known(&found, &store, &args.destination).await?;
        let changed = store.pause(&destination, &actor, &reason).await?;
        if args.json {
            return said(&destination, true, changed);
        }
        let name = cell(destination.as_str());
        output::line(&if changed {
            format!(
                "{name} is paused for all relays; what is in flight ends by itself\n\
                 next: counterfoil resume {name}"
            )
        } else {
            let status = store.status().await?;
            let how = paused(&status, destination.as_str()).unwrap_or_default();
            format!("{name} was paused already: {how}")
        })?;
        Ok(Exit::Done)
    })
}

/// Does `resume`.
///
/// # Errors
/// Nobody knows the destination, or the store cannot be written.
pub(crate) fn resume(shared: &Shared, args: Resume) -> Ended {
    let actor = actor(args.actor)?;
    let reason = match args.reason {
        None => String::new(),
        given => needed(given, "resume --reason", "--reason", "why")?,
    };
    let found = Found::new(shared)?;
    let store = found.open()?;
    block_on(async {
        let destination = known(&found, &store, &args.destination).await?;
        let changed = store.resume(&destination, &actor, &reason).await?;
        if args.json {
            return said(&destination, false, changed);
        }
        let name = cell(destination.as_str());
        let how = if changed { "goes on" } else { "was not paused" };
        output::line(&format!("{name} {how}"))?;
        Ok(Exit::Done)
    })
}

/// Why a destination is paused, by whom and since when.
pub(super) fn paused(status: &Status, name: &str) -> Option<String> {
    let why = cell(status.paused.get(name)?);
    let Some((at, by)) = status.paused_by.get(name) else { return Some(why) };
    Some(format!("{why} (by {}, since {})", cell(by), time::show(*at)))
}

fn said(destination: &Destination, paused: bool, changed: bool) -> Ended {
    let name = destination.as_str();
    let object = json!({ "destination": name, "paused": paused, "changed": changed });
    output::line(&object.to_string())?;
    Ok(Exit::Done)
}

/// The names, as many as a person reads.
fn some(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| cell(name)).collect();
    match names.len() {
        0 => "none yet".to_owned(),
        count if count > SHOWN => {
            format!("{}, and {} more: see `counterfoil status`", shown.join(", "), count - SHOWN)
        }
        _ => shown.join(", "),
    }
}

/// A mistyped name would be paused, and the right one would go on sending.
async fn known(found: &Found, store: &OpenStore, name: &str) -> Result<Destination, Failure> {
    match unknown(found, store, name).await? {
        None => Destination::new(name).map_err(Failure::could_not_run),
        Some((text, help)) => Err(Failure::refused(text).help(help)),
    }
}

/// Says on stderr that nobody knows the destination of a filter that found nothing: a mistyped
/// name looks like a store where all is well.
pub(super) async fn warn_unknown(
    found: &Found,
    store: &OpenStore,
    name: Option<&str>,
) -> Result<(), Failure> {
    let Some(name) = name else { return Ok(()) };
    if let Some((text, help)) = unknown(found, store, name).await? {
        tracing::warn!("{text}; {help}");
    }
    Ok(())
}

/// That nobody knows a destination, and those that are known; `None`: it is known.
async fn unknown(
    found: &Found,
    store: &OpenStore,
    name: &str,
) -> Result<Option<(String, String)>, Failure> {
    let status = store.status().await?;
    let configured = found.config.as_ref().map(crate::config::Config::destination_names);
    let mut names: Vec<String> = configured.unwrap_or_default();
    names.extend(status.destinations.into_keys());
    names.extend(status.declared);
    names.extend(status.paused.into_keys());
    names.sort_unstable();
    names.dedup();
    if names.iter().any(|known| known == name) {
        return Ok(None);
    }
    let text = format!("nobody knows a destination {name:?}: nothing was recorded for it");
    Ok(Some((text, format!("destinations here: {}", some(&names)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of them stood there, thousands where a stranger's rows had named as many.
    #[test]
    fn a_refusal_names_some_destinations_and_counts_the_rest() {
        let names = |count: usize| (0..count).map(|at| format!("d{at}")).collect::<Vec<_>>();
        assert_eq!(some(&names(0)), "none yet");
        assert_eq!(some(&names(2)), "d0, d1");
        let said = some(&names(1_000));
        assert!(said.ends_with("d18, d19, and 980 more: see `counterfoil status`"), "{said}");
        assert!(!some(&["\u{1b}[31m".to_owned()]).contains('\u{1b}'));
    }
}

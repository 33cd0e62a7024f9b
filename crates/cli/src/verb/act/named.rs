//! Acts on commands that are named by their ids.
//!
//! Guarantees: each is told by itself, in the order in which it was named; a refused one stops
//! none of the others. Does not: act on one twice.

use std::collections::BTreeSet;

use counterfoil_core::bulk::BATCH;
use counterfoil_core::port::{Acted, Deed, Store};
use counterfoil_sqlite::SqliteStore;
use serde_json::{Value, json};

use super::{Wish, refusal};
use crate::args::Selection;
use crate::exit::{Ended, Exit, Failure, complain};
use crate::output;
use crate::output::table::cell;

/// Acts, and tells.
pub(super) async fn act(store: &SqliteStore, selection: &Selection, wish: Wish) -> Ended {
    let mut seen = BTreeSet::new();
    let ids = selection.ids.iter().filter(|id| seen.insert(id.as_str()));
    let ids: Vec<String> = ids.cloned().collect();
    let mut exit = Exit::Done;
    for ids in ids.chunks(BATCH) {
        let deed = |id: &String| Deed {
            command_id: id.clone(),
            act: wish.act.clone(),
            by_filter: false,
        };
        let acted = store.act(ids.iter().map(deed).collect(), wish.actor.clone()).await?;
        for (id, acted) in ids.iter().zip(&acted) {
            exit = tell(id, wish.act.name(), acted, selection.json)?.and(exit);
        }
    }
    Ok(exit)
}

/// Tells what came of one deed.
pub(super) fn tell(id: &str, verb: &str, acted: &Acted, as_json: bool) -> Result<Exit, Failure> {
    let refused = refusal(acted);
    if as_json {
        output::line(&object(id, verb, acted, refused.as_deref()).to_string())?;
    } else if let Acted::Done { before, after } = acted {
        output::line(&format!("{}: {before} -> {after}", cell(id)))?;
    } else if let Some(why) = &refused {
        complain(&format!("{}: {why}", cell(id)));
    }
    Ok(if refused.is_some() { Exit::Refused } else { Exit::Done })
}

fn object(id: &str, verb: &str, acted: &Acted, refused: Option<&str>) -> Value {
    let (before, after) = match acted {
        Acted::Done { before, after } => (Some(before), Some(after)),
        Acted::Refused(_) | Acted::Archived | Acted::Unknown => (None, None),
    };
    json!({
        "command_id": id, "verb": verb, "done": refused.is_none(), "before": before,
        "after": after, "reason": refused,
    })
}

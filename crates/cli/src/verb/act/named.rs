//! Acts on commands that are named by their ids.
//!
//! Guarantees: each is told by itself, in the order in which it was named; a refused one stops
//! none of the others. Does not: act on one twice.

use std::collections::BTreeSet;

use counterfoil_core::bulk::BATCH;
use counterfoil_core::domain::State;
use counterfoil_core::port::{Acted, Deed, Store};
use serde_json::{Value, json};

use super::{Wish, refusal};
use crate::args::{LogFormat, Selection};
use crate::exit::{Ended, Exit, Failure, complain};
use crate::output;
use crate::output::table::cell;
use crate::store::OpenStore;

/// Acts, and tells.
pub(super) async fn act(
    store: &OpenStore,
    selection: &Selection,
    wish: Wish,
    format: LogFormat,
) -> Ended {
    let said = Said { verb: wish.act.name(), json: selection.json, format };
    let mut seen = BTreeSet::new();
    let ids = selection.ids.iter().filter(|id| seen.insert(id.as_str()));
    let ids: Vec<String> = ids.cloned().collect();
    let mut exit = Exit::Done;
    for ids in ids.chunks(BATCH) {
        let deed =
            |id: &String| Deed { command_id: id.clone(), act: wish.act.clone(), by_filter: false };
        let acted = store.act(ids.iter().map(deed).collect(), wish.actor.clone()).await?;
        for (id, acted) in ids.iter().zip(&acted) {
            exit = said.tell(id, acted)?.and(exit);
        }
    }
    Ok(exit)
}

/// How deeds are told.
pub(super) struct Said {
    /// The verb.
    pub(super) verb: &'static str,
    /// All on stdout, as objects.
    pub(super) json: bool,
    /// The form of what is refused, on stderr.
    pub(super) format: LogFormat,
}

impl Said {
    /// Tells what came of one deed.
    pub(super) fn tell(&self, id: &str, acted: &Acted) -> Result<Exit, Failure> {
        let refused = refusal(acted);
        if self.json {
            output::line(&object(id, self.verb, acted, refused.as_deref()).to_string())?;
        } else if let Some(outcome) = looked_into(acted) {
            output::line(&format!(
                "{}: recorded; its receipt stays {outcome}, and the audit takes the contradiction \
                 as looked into",
                cell(id)
            ))?;
        } else if let Acted::Done { before, after } = acted {
            output::line(&format!("{}: {before} -> {after}", cell(id)))?;
        } else if let Some(why) = &refused {
            complain(&format!("{}: {why}", cell(id)), self.format);
        }
        Ok(if refused.is_some() { Exit::Refused } else { Exit::Done })
    }
}

/// The outcome of a command that had ended and stays so: somebody said which report is true.
fn looked_into(acted: &Acted) -> Option<&'static str> {
    match acted {
        Acted::Done { before, after } if before == after => {
            State::from_name(before).is_none().then_some(*before)
        }
        Acted::Done { .. } | Acted::Refused(_) | Acted::Archived | Acted::Unknown => None,
    }
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

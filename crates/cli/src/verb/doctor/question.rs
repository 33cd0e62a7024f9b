//! The control questions: does the receiver know a command that it has surely completed, and does
//! it know of none that never was?
//!
//! Guarantees: asked for real, over the same transport as a relay's; a question never acts. Does
//! not: ask the first where no command has completed yet.

use counterfoil_core::domain::{Answer, CommandId};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Question, Store, Transport};

use super::super::transport::transport;
use super::check::Check;
use crate::config::destination::Way;
use crate::config::{Config, DestinationSettings, RelaySettings};
use crate::exit::Failure;
use crate::store::OpenStore;

/// No command is left out of the search, and none is called so: whoever says that this one is done
/// says so about any.
const NO_COMMAND: &str = "counterfoil doctor";

/// Asks the receiver of `destination`, if it can be asked.
pub(super) async fn check(
    config: &Config,
    relay: &RelaySettings,
    destination: &DestinationSettings,
    store: &OpenStore,
) -> Result<Option<Check>, Failure> {
    // Built where nobody is asked too: it reads the certificates.
    let transport = transport(config, relay, destination, None)?;
    if destination.ask_url.is_none() || destination.way != Way::Http {
        return Ok(None);
    }
    let except = CommandId::new(NO_COMMAND).map_err(Failure::could_not_run)?;
    let newest = store.newest_completed(&destination.name, &except).await?;
    let name = destination.name.as_str();
    let stranger = ask(&*transport, store, &except).await?;
    if let Answer::Done { .. } | Answer::Refused { .. } = stranger {
        return Ok(Some(judge_stranger(&stranger).of(name)));
    }
    let Some(command_id) = newest else {
        let predicate = destination.terms.contract.ask.as_ref().and_then(|a| a.not_there.as_ref());
        let text = match predicate {
            None => "no command has completed yet, so no bare 404 is believed until one has",
            Some(_) => {
                "no command has completed yet, so the URL cannot be tried; not_there counts as \
                 configured"
            }
        };
        return Ok(Some(Check::note("ask", text).of(name)));
    };
    let asked = ask(&*transport, store, &command_id).await?;
    Ok(Some(judge(&command_id, &asked).of(name)))
}

async fn ask(
    transport: &dyn Transport,
    store: &OpenStore,
    command_id: &CommandId,
) -> Result<Answer, StoreError> {
    let (command_id, source) = (command_id.clone(), store.source());
    let question = Question { command_id, source, now: store.now()?, trace: None };
    Ok(transport.ask(&question).await)
}

/// It has judged what it cannot have seen.
fn judge_stranger(answer: &Answer) -> Check {
    let (said, reason) = (answer.name(), answer.reason());
    Check::wrong(
        "ask",
        format!("asked about a command that never was, it says {said}: {reason}"),
        "so every doubt would end, acted or not: ask another URL, or say by `success`, `outcome` \
         or ask.not_there what in an answer's body means that it was done",
    )
}

fn judge(command_id: &CommandId, answer: &Answer) -> Check {
    let asked = format!("asked about {command_id}, the newest that it has completed");
    let said = answer.reason();
    match answer {
        Answer::Done { .. } => Check::well("ask", format!("{asked}: done ({said})")),
        Answer::NotThere { .. } => Check::wrong(
            "ask",
            format!("{asked}, it says that it knows none: {said}"),
            "ask.url is wrong, or the receiver forgets keys too early: no \"not there\" of it may \
             be believed; correct the URL, or remove `ask`",
        ),
        _ => Check::wrong(
            "ask",
            format!("{asked}, its answer is {}: {said}", answer.name().replace('_', " ")),
            "look whether the receiver runs, and whether ask.url and headers are right: it must \
             answer 200 for what it has done",
        ),
    }
}

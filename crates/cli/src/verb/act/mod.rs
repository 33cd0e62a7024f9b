//! `retry`, `resolve`, `cancel`, `redeliver`: what people do to commands.
//!
//! Guarantees: what is refused is said with its reason and the way out, and makes exit code 1;
//! what is done is recorded with actor and reason. Does not: decide what is allowed; the state
//! machine does, in the transaction of the act.

mod many;
mod named;
mod verdict_file;

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::port::{Act, Acted, Actor};

use super::actor::actor;
use super::{Found, block_on};
use crate::args::{Cancel, Filters, Redeliver, Resolve, Retry, Selection, Shared};
use crate::exit::{Ended, Failure};

/// The longest reason or evidence, in bytes: what a report by SQL may have, too.
const REASON_BYTES_MAX: usize = 65_536;

/// What is done, by whom, and why.
struct Wish {
    act: Act,
    actor: Actor,
}

/// Does `retry`.
///
/// # Errors
/// A flag is missing or wrong, or the store cannot be written.
pub(crate) fn retry(shared: &Shared, args: Retry) -> Ended {
    let Retry { selection, may_act_twice, reason } = args;
    let reason = match (reason, may_act_twice) {
        (None, false) => String::new(),
        (reason, true) => needed(reason, "retry --may-act-twice", "--reason", "why it may")?,
        (reason, false) => needed(reason, "retry", "--reason", "why")?,
    };
    if may_act_twice && selection.ids.is_empty() {
        let text = "--may-act-twice is for commands that are named: a filter touches nothing that \
                    is in doubt";
        return Err(Failure::could_not_run(text).help("name them by id, as `list` shows them"));
    }
    act(shared, selection, Act::Retry { may_act_twice }, reason)
}

/// Does `cancel`.
///
/// # Errors
/// As [`retry`].
pub(crate) fn cancel(shared: &Shared, args: Cancel) -> Ended {
    let reason = needed(args.reason, "cancel", "--reason", "why it is withdrawn")?;
    act(shared, args.selection, Act::Cancel, reason)
}

/// Does `redeliver`.
///
/// # Errors
/// As [`retry`].
pub(crate) fn redeliver(shared: &Shared, args: Redeliver) -> Ended {
    let reason = needed(args.reason, "redeliver", "--reason", "why it is sent again")?;
    let may_act_twice = args.may_act_twice;
    act(shared, args.selection, Act::Redeliver { may_act_twice }, reason)
}

/// Does `resolve`.
///
/// # Errors
/// As [`retry`], or a line of the file is none.
pub(crate) fn resolve(shared: &Shared, args: Resolve) -> Ended {
    if let Some(path) = &args.from {
        if args.selection.filters != Filters::default() {
            let text = "--from names commands by itself, so filters do not go with it";
            return Err(Failure::could_not_run(text).help("leave the filters away"));
        }
        return verdict_file::run(shared, path, args.selection);
    }
    if args.result.is_some() && !args.completed {
        return Err(Failure::could_not_run("--result goes with --completed only")
            .help("leave it away; what the evidence is goes into --evidence"));
    }
    let verdict = match (args.completed, args.rejected, args.not_done) {
        (true, ..) => Verdict::Completed { result: args.result.map(String::into_bytes) },
        (_, true, _) => Verdict::Rejected,
        (_, _, true) => Verdict::NotDone,
        (false, false, false) => {
            return Err(Failure::could_not_run("`resolve` needs a verdict: what became of it?")
                .help("--completed: it was done; it ends")
                .help("--rejected: it was refused; it ends")
                .help("--not-done: it surely was not done; it is sent again"));
        }
    };
    let evidence = needed(args.evidence, "resolve", "--evidence", "by what that is known")?;
    act(shared, args.selection, Act::Resolve(verdict), evidence)
}

/// The value of a flag that a verb needs.
pub(super) fn needed(
    value: Option<String>,
    verb: &str,
    flag: &str,
    what: &str,
) -> Result<String, Failure> {
    let Some(text) = value.filter(|text| !text.trim().is_empty()) else {
        let text = format!("`{verb}` needs {flag}: say {what}; it is kept in the books");
        return Err(Failure::could_not_run(text).help(format!("add {flag} \"…\"")));
    };
    check_length(flag, &text)?;
    Ok(text)
}

fn check_length(flag: &str, text: &str) -> Result<(), Failure> {
    if text.len() <= REASON_BYTES_MAX {
        return Ok(());
    }
    let text = format!("{flag} has {} bytes; at most {REASON_BYTES_MAX} are kept", text.len());
    Err(Failure::could_not_run(text).help("give a reference to where the rest is"))
}

fn act(shared: &Shared, selection: Selection, act: Act, reason: String) -> Ended {
    let verb = act.name();
    let by_filter = selection.filters != Filters::default();
    if by_filter != selection.ids.is_empty() {
        let text = if by_filter {
            format!("`{verb}` takes ids or filters, not both")
        } else {
            format!("`{verb}` needs commands: nothing was named")
        };
        return Err(Failure::could_not_run(text).help(format!(
            "name them: `counterfoil {verb} ID…`; or give filters of `list`, such as --state dead"
        )));
    }
    let name = actor(selection.actor.clone())?;
    let wish = Wish { act, actor: Actor { name, reason } };
    if by_filter {
        // Bad filters are refused before a store is looked for.
        super::filter::check_state(selection.filters.state.as_deref())?;
    }
    let found = Found::new(shared)?;
    let store = found.open()?;
    block_on(async {
        if by_filter {
            many::act(&found, &store, selection, wish).await
        } else {
            named::act(&store, &selection, wish, shared.log_format).await
        }
    })
}

/// What is said about a deed that was refused; `None`: it is done.
fn refusal(acted: &Acted) -> Option<String> {
    match acted {
        Acted::Done { .. } => None,
        Acted::Refused(reason) => Some(reason.to_string()),
        Acted::Archived => Some(
            "it is archived: `show` and `erase` reach it, and `resolve` says which word is true \
             where a late report contradicts it that nobody has looked into"
                .into(),
        ),
        Acted::Unknown => {
            Some("no such command was ever recorded; look it up with `counterfoil list`".into())
        }
    }
}

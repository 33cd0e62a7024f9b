//! `restored`: says that the store was restored from a backup, before the first relay runs.
//!
//! Guarantees: what is open now counts as perhaps done since the backup, so that nothing is
//! resent where a resend could act twice; recorded with the actor. Does not: bring back what was
//! recorded after the backup.

use std::io::{BufRead, IsTerminal, Write};

use counterfoil_core::domain::{Micros, State};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::{Filter, Status};

use super::{Found, actor::actor, block_on, time_or_ago};
use crate::args::{Restored, Shared};
use crate::exit::{Ended, Exit, Failure};
use crate::output::{self, time};
use crate::store::OpenStore;

/// Does `restored`.
///
/// # Errors
/// The time cannot be that of a backup of this store, or the store cannot be written.
pub(crate) fn run(shared: &Shared, args: Restored) -> Ended {
    let actor = actor(args.actor)?;
    let store = Found::new(shared)?.open()?;
    let now = store.now()?;
    let at = time_or_ago::parse("--at", &args.at, now)?;
    block_on(async {
        check(&store, at, now).await?;
        let open = open(&store.status().await?);
        if open > 0 && !args.yes && !is_wanted(open, at)? {
            return Err(Failure::refused("nothing was changed").help("give --yes, or answer yes"));
        }
        let count = store.restored(at, &actor).await?;
        output::line(&tell(count, at))?;
        Ok(Exit::Done)
    })
}

async fn check(store: &OpenStore, at: Micros, now: Micros) -> Result<(), Failure> {
    let shown = time::show(at);
    if at > now {
        let text = format!("--at {shown} is in the future: now is {}", time::show(now));
        return Err(Failure::refused(text).help("give the time at which the backup was taken"));
    }
    let first = store.list(Filter { limit: 1, ..Filter::default() }).await?;
    let recorded = first.first().map(|row| row.recorded_at);
    if let Some(recorded) = recorded.filter(|recorded| at < *recorded) {
        let text = format!(
            "--at {shown} is before this store existed: its first command was recorded at {}, so \
             no backup of that time could hold it",
            time::show(recorded)
        );
        return Err(Failure::refused(text).help("give the time at which the backup was taken"));
    }
    Ok(())
}

/// How many commands are open.
fn open(status: &Status) -> u64 {
    let states = status.destinations.values().flatten();
    let open = states.filter(|(state, _)| State::from_name(state).is_some());
    open.map(|(_, count)| count).sum()
}

/// Asks, where a person sits at a terminal.
fn is_wanted(open: u64, at: Micros) -> Result<bool, Failure> {
    let (stdin, mut err) = (std::io::stdin(), std::io::stderr());
    if !stdin.is_terminal() || !err.is_terminal() {
        return Ok(true);
    }
    let at = time::show(at);
    write!(
        err,
        "{open} open commands become in doubt, as if sent at {at} or before. Go on? [y/N] "
    )?;
    err.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn tell(count: u64, at: Micros) -> String {
    let at = time::show(at);
    if count == 0 {
        return format!("recorded: restored to {at}; no command was open, so nothing is in doubt");
    }
    let commands = if count == 1 { "1 open command is" } else { "open commands are" };
    let number = if count == 1 { String::new() } else { format!("{count} ") };
    format!(
        "{number}{commands} in doubt now, as if first sent at {at} or before\n\
         next: start the relay; it sends again where a repeat is safe, asks where it can, and \
         leaves the rest to a person: counterfoil list --state uncertain\n\
         what was recorded after the backup is gone: compare with your own tables and the \
         receivers: counterfoil audit, with [audit] expect and --inbox"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_many_and_what_comes_next() {
        let at = Micros::new(1_764_421_200_000_000);
        assert!(tell(0, at).contains("nothing is in doubt"));
        assert!(tell(1, at).starts_with("1 open command is in doubt now"));
        let many = tell(12, at);
        assert!(many.starts_with("12 open commands are in doubt now, as if first sent at 2025-11"));
        assert!(many.contains("list --state uncertain") && many.contains("start the relay"));
    }
}

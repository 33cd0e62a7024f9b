//! The verbs.
mod stop;
mod time_or_ago;
use crate::args::Typed;
use crate::exit::{Ended, Exit};

pub(crate) fn run(typed: Typed) -> Ended {
    crate::logging::start(&typed.shared)?;
    let config = crate::config::Config::find(typed.shared.config.as_deref())?;
    crate::config::store_url::find(typed.shared.store.as_deref(), config.as_ref())?;
    Ok(Exit::Done)
}

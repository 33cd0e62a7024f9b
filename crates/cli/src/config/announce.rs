//! `[announce]`: where a command is sent about each one that is parked.
//!
//! Guarantees: a name that could not be a destination or kind is refused before anything is sent.
//! Does not: need the destination here; another relay may serve it.

use counterfoil_core::domain::{Destination, Kind};
use counterfoil_core::port::Announce;
use serde::Deserialize;

use super::Config;
use super::file::Value;
use crate::exit::Failure;

/// Default of `kind`.
const KIND: &str = "counterfoil.parked";

/// `[announce]` as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnnounceTable {
    to: Option<Value>,
    kind: Option<Value>,
}

impl Config {
    /// `[announce]`, if it is there.
    ///
    /// # Errors
    /// `to` is missing, or a name breaks its rule.
    pub(crate) fn announce(&self) -> Result<Option<Announce>, Failure> {
        let Some(table) = &self.file.announce else { return Ok(None) };
        let (page, span, table) = (&self.page, table.span(), table.get_ref());
        let Some(to) = &table.to else {
            let why = "`announce.to` is missing: where are alerts sent?";
            return Err(page.refuse(&span, why).help("add to = \"DESTINATION\", such as \"ops\""));
        };
        let destination = Destination::new(page.text("announce.to", to)?);
        let destination =
            destination.map_err(|why| page.refuse_value("announce.to", to, &why.to_string()))?;
        let kind = match &table.kind {
            Some(value) => Kind::new(page.text("announce.kind", value)?)
                .map_err(|why| page.refuse_value("announce.kind", value, &why.to_string()))?,
            None => Kind::new(KIND).map_err(Failure::could_not_run)?,
        };
        Ok(Some(Announce { destination, kind }))
    }
}

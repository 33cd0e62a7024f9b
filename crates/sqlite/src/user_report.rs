//! What a worker says about a command in its own transaction.
//!
//! Guarantees: the guards of `counterfoil_report` judge it, as they judge plain SQL; what it came
//! to is read in the same transaction. Does not: know a refusal as an answer; it is an error.

use counterfoil_core::domain::{CommandId, ReceiptOutcome, Token};
use counterfoil_core::port::store::Reported;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::outbox::EnqueueError;
use crate::row::Shown;
use crate::sql::Sql;

/// What stands where no evidence is given; the view says so itself.
const EVIDENCE: &str = "reported through counterfoil_report";

/// One report.
pub(crate) struct UserReport<'a> {
    pub(crate) id: &'a CommandId,
    pub(crate) outcome: ReceiptOutcome,
    pub(crate) result: Option<&'a [u8]>,
    pub(crate) evidence: &'a str,
    pub(crate) token: Option<Token>,
}

impl UserReport<'_> {
    /// Inserts it into the view and reads what it came to.
    pub(crate) fn write(&self, connection: &Connection) -> Result<Reported, EnqueueError> {
        let id = self.id.as_str();
        let open_round = |connection: &Connection| {
            let mut statement = connection.prepare_cached(Sql::UserOpenRound.text())?;
            statement.query_row([id], |row| row.get::<_, i64>(0)).optional()
        };
        let before = open_round(connection)?;
        let mut insert = connection.prepare_cached(Sql::UserReportInsert.text())?;
        let token = self.token.map(Token::get);
        let (outcome, evidence) = (self.outcome.name(), self.evidence());
        let inserted =
            insert.execute(params![id, outcome, self.result.map(Shown), evidence, token]);
        inserted.map_err(|error| self.refused(error))?;
        if before.is_some() {
            // It repeats an earlier round's receipt where the command is open still.
            let is_open = open_round(connection)?.is_some();
            return Ok(if is_open { Reported::Repeated } else { Reported::Recorded });
        }
        let mut said = connection.prepare_cached(Sql::UserContradicts.text())?;
        let contradicts = said.exists(params![id, outcome, self.result.map(Shown), evidence])?;
        Ok(if contradicts { Reported::Contradiction } else { Reported::Repeated })
    }

    fn evidence(&self) -> &str {
        if self.evidence.is_empty() { EVIDENCE } else { self.evidence }
    }

    /// What the guards refuse by name is told by name.
    fn refused(&self, error: rusqlite::Error) -> EnqueueError {
        let says = |code| match &error {
            rusqlite::Error::SqliteFailure(_, Some(words)) => words.starts_with(code),
            _ => false,
        };
        let id = self.id.to_string();
        if says("CF0202") {
            EnqueueError::NoSuchCommand { id }
        } else if says("CF0203") {
            EnqueueError::StaleToken { id, token: self.token.map_or(0, Token::get) }
        } else {
            error.into()
        }
    }
}

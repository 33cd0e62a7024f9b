//! What a worker says about a command in its own transaction.
//!
//! Guarantees: the guards of `counterfoil_report` judge it, as they judge plain SQL; what it came
//! to is read in the same transaction. Does not: know a refusal as an answer; it is an error.

use counterfoil_core::domain::{CommandId, ReceiptOutcome, Token};
use counterfoil_core::port::store::Reported;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Sqlite, SqliteConnection, query, query_scalar};

use crate::refused::{EnqueueError, of_report};

const OPEN_ROUND: &str = include_str!("../../sql/sqlite/user_open_round.sql");
const INSERT: &str = include_str!("../../sql/sqlite/user_report_insert.sql");
const CONTRADICTS: &str = include_str!("../../sql/sqlite/user_contradicts.sql");

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
    pub(crate) async fn write(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Reported, EnqueueError> {
        let before = self.is_open(connection).await?;
        let insert = self.bound(INSERT).bind(self.token.map(Token::get));
        let inserted = insert.execute(&mut *connection).await;
        inserted.map_err(|error| of_report(error, self.id, self.token))?;
        if before {
            // It repeats an earlier round's receipt where the command is open still.
            let is_open = self.is_open(connection).await?;
            return Ok(if is_open { Reported::Repeated } else { Reported::Recorded });
        }
        let contradicts = self.bound(CONTRADICTS).fetch_optional(connection).await?.is_some();
        Ok(if contradicts { Reported::Contradiction } else { Reported::Repeated })
    }

    async fn is_open(&self, connection: &mut SqliteConnection) -> Result<bool, EnqueueError> {
        let round = query_scalar::<_, i64>(OPEN_ROUND).bind(self.id.as_str());
        Ok(round.fetch_optional(connection).await?.is_some())
    }

    /// Id, outcome, result and evidence; the result as text where it is text, so that SQL shows
    /// it, but for a NUL, at which SQL functions stop.
    fn bound(&self, sql: &'static str) -> Query<'_, Sqlite, SqliteArguments> {
        let evidence = if self.evidence.is_empty() { EVIDENCE } else { self.evidence };
        let asked = query(sql).bind(self.id.as_str()).bind(self.outcome.name());
        let text = |bytes| std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let asked = match self.result.map(|bytes| (bytes, text(bytes))) {
            Some((_, Some(text))) => asked.bind(text),
            Some((bytes, None)) => asked.bind(bytes),
            None => asked.bind(None::<&[u8]>),
        };
        asked.bind(evidence)
    }
}

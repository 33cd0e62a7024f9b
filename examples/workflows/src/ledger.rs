//! Accounts in a SQLite file of their own, behind the inbox: each key moves money once.
//!
//! Guarantees: no account goes below zero; what a posting takes from one it gives to another. Does
//! not: know who asks; a bank, an airline and a hotel are the same to it.

use std::path::{Path, PathBuf};

use counterfoil::inbox::{Begun, RETENTION, begin};
use counterfoil::relay::{HandlerError, handler};
use counterfoil::sqlite::{InboxTx, SqliteStore};
use counterfoil::{Attempt, Digest, Span, Transport};
use rusqlite::{Connection, Transaction, TransactionBehavior::Immediate, params};
use serde::{Deserialize, Serialize};

use crate::Failure;

/// What is asked of the ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Posting {
    /// From which account.
    pub from: String,
    /// To which account.
    pub to: String,
    /// How much, in cents.
    pub amount: i64,
}

/// Accounts in a file.
#[derive(Clone, Debug)]
pub struct Ledger(PathBuf);

impl Ledger {
    /// Opens the file, which may be new.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        drop(SqliteStore::init(path, None)?); // for its table `counterfoil_inbox`
        let ledger = Self(path.to_owned());
        ledger.connect()?.execute_batch(
            "CREATE TABLE IF NOT EXISTS account(name TEXT PRIMARY KEY, cents INTEGER NOT NULL)",
        )?;
        Ok(ledger)
    }

    /// An account with so much, unless it is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn account(&self, name: &str, cents: i64) -> Result<(), Failure> {
        let sql = "INSERT OR IGNORE INTO account VALUES (?1, ?2)";
        self.connect()?.execute(sql, params![name, cents])?;
        Ok(())
    }

    /// What is in the account.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn cents(&self, name: &str) -> Result<i64, Failure> {
        let sql = "SELECT cents FROM account WHERE name = ?1";
        Ok(self.connect()?.query_row(sql, [name], |row| row.get(0))?)
    }

    /// The ledger as a destination.
    #[must_use]
    pub fn transport(&self, source: &str) -> impl Transport + use<> {
        let (ledger, source) = (self.clone(), source.to_owned());
        handler(move |attempt: Attempt| {
            let (ledger, source) = (ledger.clone(), source.clone());
            async move { ledger.post(&source, &attempt) }
        })
    }

    fn connect(&self) -> Result<Connection, rusqlite::Error> {
        let connection = Connection::open(&self.0)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        Ok(connection)
    }

    fn post(&self, source: &str, attempt: &Attempt) -> Result<String, HandlerError> {
        let (key, body) = (attempt.command.command_id.as_str(), &attempt.command.body);
        let posting: Posting = serde_json::from_slice(body).map_err(HandlerError::rejected)?;
        let mut connection = self.connect()?;
        let tx = connection.transaction_with_behavior(Immediate)?;
        match begin(InboxTx::new(tx), source, key, Digest::of(body), RETENTION)? {
            Begun::First(mut first) => {
                if moved(first.rows(), &posting)? {
                    first.finish(b"posted")?.into_inner().commit()?;
                    return Ok("posted".into());
                }
                let Posting { from, to, amount } = posting;
                let why = format!("{from} has not got {amount} cents, or there is no {to}");
                first.finish_rejected(why.as_bytes())?.into_inner().commit()?;
                Err(HandlerError::rejected(why))
            }
            Begun::Repeat(stored) => {
                let said = String::from_utf8_lossy(&stored.result).into_owned();
                if stored.is_refusal { Err(HandlerError::rejected(said)) } else { Ok(said) }
            }
            Begun::Conflict => Err(HandlerError::conflict("same key, other content")),
            Begun::Unfinished { .. } | Begun::Busy => {
                Err(HandlerError::not_before("the ledger is busy", Span::from_millis(100)))
            }
        }
    }
}

/// Moves the money, if it is there and both accounts are.
fn moved(tx: &Transaction<'_>, posting: &Posting) -> rusqlite::Result<bool> {
    let Posting { from, to, amount } = posting;
    let sql = "UPDATE account SET cents = cents - ?1 WHERE name = ?2 AND cents >= ?1 AND ?1 >= 0 \
        AND EXISTS (SELECT 1 FROM account WHERE name = ?3)";
    let is_taken = tx.execute(sql, params![amount, from, to])? == 1;
    if is_taken {
        let sql = "UPDATE account SET cents = cents + ?1 WHERE name = ?2";
        tx.execute(sql, params![amount, to])?;
    }
    Ok(is_taken)
}

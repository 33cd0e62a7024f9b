//! The rest of an archived command's story, from its file.
//!
//! Guarantees: what the file tells is told as if it stood in the store, and beside it whether the
//! file is what its manifest says; where it is not at hand, its name is. Does not: change anything.

use counterfoil_archive::{Compared, Folder, Looked, look};
use counterfoil_core::domain::laws::{AttemptFacts, ReceiptFacts};
use counterfoil_core::port::archive::{Archive, Entry};
use counterfoil_core::port::read::{Listed, ReceiptStory, Story, Told};

use crate::exit::Failure;
use crate::store::OpenStore;
use crate::verb::archive::failed;

/// What is said of a file that is elsewhere.
const NOT_THERE: &str =
    "it is not in the folder of the archive: name the right one by --archive DIR";

/// What is said of a file that is there.
const NO_LINE: &str = "it has no line of this command: run `counterfoil archive --verify`";

/// Where the rest of a story lies, and whether it was found there.
pub(super) struct Place {
    /// The name of the file.
    pub(super) file: String,
    /// The story is whole.
    pub(super) is_whole: bool,
    /// Why it is not.
    pub(super) why: Option<String>,
    /// Whether the file is what its manifest says; `None`: it is not at hand.
    pub(super) compared: Option<Compared>,
}

impl Place {
    /// The file is not what was written.
    pub(super) fn differs(&self) -> bool {
        self.compared == Some(Compared::Differs)
    }

    /// How the file stands to its manifest, in a word; `None`: it is not at hand.
    pub(super) fn word(&self) -> Option<&'static str> {
        self.compared.as_ref().map(|compared| match compared {
            Compared::Same => "same",
            Compared::Differs => "differs",
            Compared::Not(_) => "not_compared",
        })
    }
}

/// Adds what the file of an archived command tells.
pub(super) async fn add(
    store: &OpenStore,
    folder: Option<&Folder>,
    story: &mut Story,
) -> Result<Option<Place>, Failure> {
    if !story.archived {
        return Ok(None);
    }
    let id = story.listed.command_id.clone();
    let Some(tombstone) = store.tombstones_of(std::slice::from_ref(&id)).await?.pop().flatten()
    else {
        return Ok(None);
    };
    let file = tombstone.file;
    let found = folder.map(|folder| look(folder, &file, &id)).transpose();
    let (entry, why, compared) = match found {
        Ok(Some(Some(Looked { entry, why, compared }))) => {
            let lacks = entry.is_none().then(|| why.unwrap_or_else(|| NO_LINE.to_owned()));
            (entry, lacks, Some(compared))
        }
        Ok(Some(None)) => (None, Some(NOT_THERE.to_owned()), None),
        Ok(None) => (None, None, None),
        // A file that cannot be read hides nothing of what the store itself knows.
        Err(error) => (None, Some(failed(error).text().to_owned()), None),
    };
    let is_whole = entry.is_some();
    if let Some(entry) = entry {
        tell(story, entry);
    }
    Ok(Some(Place { file, is_whole, why, compared }))
}

fn tell(story: &mut Story, entry: Entry) {
    let newest = entry.newest().cloned();
    let row = entry.outbox;
    let is_erased = entry.erased_at.is_some();
    if let Some(newest) = newest {
        let receipt = newest.receipt;
        story.listed = Listed {
            attempts: receipt.attempts,
            token: receipt.token.get(),
            recorded_at: row.recorded_at,
            expires_at: row.expires_at,
            first_sent_at: receipt.first_sent_at,
            is_erased,
            ..story.listed.clone()
        };
        story.first_sent_at = receipt.first_sent_at;
    }
    let stream = row.stream.map(|stream| stream.to_string());
    story.decision = stream.and_then(|stream| Some((stream, row.seq?, row.idx?)));
    story.body = (!is_erased).then_some(row.body);
    story.content_type = row.content_type;
    story.headers = row.headers;
    story.not_before = row.not_before;
    story.expires_at = row.expires_at;
    story.receipts = entry.receipts.into_iter().map(receipt).collect();
    // Contradictions and acts of people stay in the store, and may be newer there.
    story.tries.extend(entry.attempts.into_iter().map(attempt));
    story.tries.sort_by_key(|told| told.at);
}

fn receipt(facts: ReceiptFacts) -> ReceiptStory {
    let receipt = facts.receipt;
    ReceiptStory {
        round: receipt.round,
        outcome: receipt.outcome.name().into(),
        result: receipt.result,
        evidence: receipt.evidence,
        source: Some(receipt.source),
        attempts: receipt.attempts,
        token: receipt.token.get(),
        first_sent_at: receipt.first_sent_at,
        digest: facts.digest.map(|digest| digest.to_hex()),
        recorded_at: receipt.recorded_at,
    }
}

fn attempt(facts: AttemptFacts) -> Told {
    Told {
        at: facts.ended_at,
        what: facts.purpose,
        outcome: facts.outcome,
        reason: facts.reason.unwrap_or_default(),
        round: facts.round,
        token: facts.token,
    }
}

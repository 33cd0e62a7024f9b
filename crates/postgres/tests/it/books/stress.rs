//! Relays, writers that repeat themselves, reporters, people and archivers at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use counterfoil_core::domain::{Micros, ReceiptOutcome, Span};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::archive::Archive as _;
use counterfoil_core::port::seal::Audited as _;
use counterfoil_core::port::store::Reported;

use super::scene::{Books, ann, bury, report};
use crate::fault::scene::{AtWork, Book, KEYS, command};
use crate::server::refusal;

const IDS: usize = 400;
const LASTS: Duration = Duration::from_secs(8);

/// Of some the content is erased, and no repeat is told from another intent until it is archived.
fn is_erasable(at: usize) -> bool {
    at.is_multiple_of(7)
}

/// Each id is sent once, however often it is written again while it moves from one table to the
/// other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_id_is_recorded_once_for_ever() {
    let books = Books::new().await;
    let book = Book::default();
    let mut relays = Vec::new();
    for _ in 0..2 {
        let served = vec![book.serves(KEYS, Duration::ZERO, Span::from_secs(120))];
        let options = counterfoil_relay::Options::default();
        relays.push(AtWork::start(&books.schema.store().await, served, options));
    }
    let stops = Arc::new(AtomicBool::new(false));
    let (gone, repeats) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for writer in 0..4 {
        let (store, sql) = (books.schema.store().await, books.schema.stranger().await);
        let (stops, repeats) = (Arc::clone(&stops), Arc::clone(&repeats));
        tasks.push(tokio::spawn(async move {
            for at in (writer * 97..).map(|at| at % IDS) {
                if stops.load(Ordering::Acquire) {
                    break;
                }
                let id = format!("id-{at}");
                repeats.fetch_add(1, Ordering::Relaxed);
                let body = serde_json::json!({ "order": id }).to_string();
                match (writer + at) % 4 {
                    0 => {
                        let told = store.enqueue(vec![command(KEYS, &id)]).await.unwrap();
                        assert!(told[0].is_ok() || is_erasable(at), "{told:?}");
                    }
                    1 => {
                        let enqueue = "SELECT cf.enqueue($1, $2, 'order', $3::text)";
                        let done = sql.query(enqueue, &[&id, &KEYS, &body]).await;
                        if let Err(refused) = done.map_err(|error| refusal(&error)) {
                            assert!(refused == "CF0112" && is_erasable(at), "{refused}");
                        }
                    }
                    2 => {
                        let insert = "INSERT INTO cf.outbox(command_id, destination, kind, body)
                            VALUES ($1, $2, 'order', $3)";
                        let done = sql.execute(insert, &[&id, &KEYS, &body.as_bytes()]).await;
                        // Archived, a twin in flight, or erased.
                        if let Err(refused) = done.map_err(|error| refusal(&error)) {
                            let is_usual = refused == "CF0103" || refused.starts_with("23505");
                            let is_erased = refused == "CF0112" && is_erasable(at);
                            assert!(is_usual || is_erased, "{refused}");
                        }
                    }
                    _ => {
                        let said = report(&store, &id, ReceiptOutcome::Completed, None).await;
                        assert_ne!(said, Reported::Contradiction, "{id}");
                    }
                }
            }
        }));
    }
    for _ in 0..2 {
        let (store, stops, gone) =
            (books.schema.store().await, Arc::clone(&stops), Arc::clone(&gone));
        tasks.push(tokio::spawn(async move {
            while !stops.load(Ordering::Acquire) {
                let page = store.ended(Micros::LATEST, 0, 16).await.unwrap();
                for entry in &page.entries {
                    let id = entry.outbox.command_id.as_str();
                    if is_erasable(id[3..].parse().unwrap()) {
                        store.erase(id, ann(), "", None).await.unwrap();
                    }
                }
                let done = bury(&store, page.entries).await;
                gone.fetch_add(done.iter().filter(|done| **done).count(), Ordering::Relaxed);
                store.horizon().await.unwrap();
            }
        }));
    }
    let began = Instant::now();
    while began.elapsed() < LASTS && gone.load(Ordering::Relaxed) < IDS {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stops.store(true, Ordering::Release);
    for task in tasks {
        task.await.unwrap();
    }
    for relay in relays {
        relay.stop().await;
    }
    let gone = gone.load(Ordering::Relaxed);
    assert!(gone > IDS / 4 && repeats.load(Ordering::Relaxed) > IDS, "too little happened: {gone}");
    assert_eq!(books.count("archived").await, i64::try_from(gone).unwrap());
    let twice: Vec<_> = book.times().into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(twice.is_empty(), "sent twice: {twice:?}");
    let both = "SELECT count(*) FROM cf.outbox JOIN cf.archived USING (command_id)";
    assert_eq!(books.sql.number(both).await, 0);
    books.is_sound().await;
    assert_eq!(books.store.status().await.unwrap().blocked.len(), 0);
}

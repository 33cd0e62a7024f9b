//! The same by the rules of a pooler in transaction mode: nothing prepared, no session of our own.

use counterfoil_core::port::archive::{Archive as _, Erased};
use counterfoil_core::port::seal::{Arrived, Audited as _};
use counterfoil_postgres::PostgresStore;

use super::scene::{Books, ann, bury, command};

#[tokio::test]
async fn no_state_of_a_session_is_relied_upon() {
    let books = Books::new().await;
    books.reported(&["a", "b"]).await;
    books.enqueue(command("lost")).await;
    books.schema.forger().await.run("DELETE FROM cf.delivery").await.unwrap();
    let mut options = books.schema.options();
    options.pooler = true;
    let store = PostgresStore::open(books.schema.url(), options).await.unwrap();
    assert_eq!(store.horizon().await.unwrap().unwrap().n, 3);
    assert_eq!(store.erase("a", ann(), "", None).await, Ok(Erased::Done));
    assert_eq!(store.mend(&["lost".into()], ann()).await, Ok(1));
    assert_eq!(store.actions(0, 9).await.unwrap().len(), 2);
    assert_eq!(store.ended_since(Arrived::default(), 9).await.unwrap().0.commands.len(), 2);
    let page = store.ended(counterfoil_core::domain::Micros::LATEST, 0, 9).await.unwrap();
    assert_eq!(bury(&store, page.entries).await, [true, true]);
    assert_eq!(store.tombstones(None, 9).await.unwrap().len(), 2);
    for (version, written) in [(0, true), (0, false), (1, true)] {
        assert_eq!(store.save_seal(version, "{}").await, Ok(written));
    }
    books.is_sound().await;
}

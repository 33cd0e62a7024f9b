//! A database gets the schema once, whole, and never one that is not ours.

use counterfoil_postgres::migrate;

use crate::server::{TestSchema, connect};

#[tokio::test]
async fn it_is_made_once() {
    let schema = TestSchema::unmade();
    let mut client = connect().await;
    let made = migrate(&mut client, schema.name(), None).await.unwrap();
    assert_eq!(made.found, 0);
    let again = migrate(&mut client, schema.name(), None).await.unwrap();
    assert_eq!(again.found, again.version);
    assert_eq!((again.source, again.store), (made.source, made.store));
}

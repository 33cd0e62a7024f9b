//! A body over the limit stays at the server: what parks its command is its length.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use counterfoil_postgres::PostgresStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::lanes::{declare, exchange, terms};
use crate::server::{TestSchema, url};

/// A way to the server that counts what the server says; the way's URL is given back.
async fn counted(count: Arc<AtomicU64>) -> String {
    let server: Config = url().parse().unwrap();
    let host = match server.get_hosts() {
        [Host::Tcp(host), ..] => host.clone(),
        _ => "127.0.0.1".into(),
    };
    let address = (host, server.get_ports().first().copied().unwrap_or(5432));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(&address).await.unwrap();
            tokio::spawn(carry(client, server, Arc::clone(&count)));
        }
    });
    let user = server.get_user().unwrap_or("postgres");
    let database = server.get_dbname().unwrap_or("postgres");
    let mut url =
        format!("host=127.0.0.1 port={port} user={user} dbname={database} sslmode=disable");
    if let Some(password) = server.get_password() {
        url.push_str(&format!(" password='{}'", String::from_utf8_lossy(password)));
    }
    url
}

async fn carry(client: TcpStream, server: TcpStream, count: Arc<AtomicU64>) {
    let ((mut asked, mut answer), (mut told, mut ask)) = (client.into_split(), server.into_split());
    tokio::spawn(async move { tokio::io::copy(&mut asked, &mut ask).await });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(len @ 1..) = told.read(&mut bytes).await {
        count.fetch_add(len as u64, Ordering::Relaxed);
        if answer.write_all(&bytes[..len]).await.is_err() {
            return;
        }
    }
}

/// Forty bodies of 16 MiB, which the limit parks, made half a gigabyte of a relay: all that one
/// claim takes was read first.
#[tokio::test]
async fn bodies_over_the_limit_are_not_read() {
    const BODY_BYTES: u64 = 1 << 20;
    let (schema, count, terms) = (TestSchema::new().await, Arc::default(), terms());
    let mut options = schema.options();
    options.body_bytes_max = 1000;
    let store = PostgresStore::open(&counted(Arc::clone(&count)).await, options).await.unwrap();
    declare(&store, &terms).await;
    let stranger = schema.stranger().await;
    let insert = "INSERT INTO cf.outbox(command_id, destination, kind, body) ";
    let long = "SELECT 'long' || g, 'shop', 'k', convert_to(repeat('x', 1048576), 'UTF8')
        FROM generate_series(1, 5) g";
    stranger.run(&format!("{insert} {long}")).await.unwrap();
    let short = "VALUES ('most', 'shop', 'k', convert_to(repeat('x', 1000), 'UTF8'))";
    stranger.run(&format!("{insert} {short}")).await.unwrap();
    let before = count.load(Ordering::Relaxed);
    let done = exchange(&store, &terms, Vec::new(), 9).await;
    let read = count.load(Ordering::Relaxed) - before;
    assert!(read < BODY_BYTES, "{read} bytes were read");
    let claimed: Vec<_> = done.claimed.iter().map(|one| one.command.body.len()).collect();
    assert_eq!(claimed, [1000]);
    let why = "unreadable: its body has 1048576 bytes, more than body_bytes_max";
    let reasons: Vec<_> = done.parked.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(reasons, [why; 5]);
}

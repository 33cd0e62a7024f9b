//! A database gets the schema once, whole, and never one that is not ours.

use counterfoil_core::port::Store as _;
use counterfoil_postgres::{
    InboxBook, OpenError, Options, PostgresStore, SCHEMA_VERSION, Schema, SchemaError, migrate,
    schema_sql,
};

use crate::server::{TestDatabase, TestSchema, connect, connect_to, url};

async fn made(name: &str, source: Option<&str>) -> Result<Schema, SchemaError> {
    migrate(&mut connect().await, name, source).await
}

fn refused<T: std::fmt::Debug>(done: Result<T, SchemaError>) -> (&'static str, String) {
    let error = done.unwrap_err();
    (error.code(), error.to_string())
}

async fn opened(schema: &TestSchema) -> (&'static str, String) {
    match PostgresStore::open(schema.url(), schema.options()).await {
        Err(OpenError::Schema(error)) => (error.code(), error.to_string()),
        done => panic!("{done:?}"),
    }
}

#[tokio::test]
async fn it_is_made_once() {
    let schema = TestSchema::unmade();
    let first = made(schema.name(), None).await.unwrap();
    assert_eq!((first.found, first.version), (0, SCHEMA_VERSION));
    assert_eq!(first.source, format!("urn:uuid:{}", first.store));
    let again = made(schema.name(), None).await.unwrap();
    assert_eq!((again.found, again.version), (SCHEMA_VERSION, SCHEMA_VERSION));
    assert_eq!((again.source, again.store), (first.source, first.store));
    schema.store().await;
}

#[tokio::test]
async fn a_source_is_kept_for_ever() {
    let schema = TestSchema::unmade();
    let source = Some("urn:example:o'rders");
    assert_eq!(made(schema.name(), source).await.unwrap().source, "urn:example:o'rders");
    for asked in [None, source] {
        assert_eq!(made(schema.name(), asked).await.unwrap().source, "urn:example:o'rders");
    }
    let (code, said) = refused(made(schema.name(), Some("urn:example:bills")).await);
    assert_eq!(code, "CF0512");
    assert!(said.contains("urn:example:o'rders") && said.contains("urn:example:bills"), "{said}");
    for source in ["", "a b", "a\"", "é", &"x".repeat(256)] {
        assert_eq!(refused(made(schema.name(), Some(source)).await).0, "CF0513", "{source}");
    }
}

#[tokio::test]
async fn of_processes_at_once_one_makes_it() {
    let schema = TestSchema::unmade();
    let name = schema.name();
    let (a, b, c, d) =
        tokio::join!(made(name, None), made(name, None), made(name, None), made(name, None));
    let mut found: Vec<i32> = [a, b, c, d].into_iter().map(|made| made.unwrap().found).collect();
    found.sort_unstable();
    assert_eq!(found, [0, SCHEMA_VERSION, SCHEMA_VERSION, SCHEMA_VERSION]);
}

#[tokio::test]
async fn a_schema_of_another_version_is_refused() {
    let schema = TestSchema::new().await;
    let forger = schema.forger().await;
    forger.run("UPDATE cf.meta SET version = version + 1").await.unwrap();
    let newer = (SCHEMA_VERSION + 1).to_string();
    for (code, said) in [refused(made(schema.name(), None).await), opened(&schema).await] {
        assert_eq!(code, "CF0508");
        assert!(said.contains(&newer), "{said}");
    }
    forger.run("UPDATE cf.meta SET version = version - 2").await.unwrap();
    let (code, said) = opened(&schema).await;
    assert_eq!(code, "CF0509");
    assert!(said.contains("counterfoil init"), "{said}");
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_named() {
    let schema = TestSchema::unmade();
    let (code, said) = opened(&schema).await;
    assert_eq!(code, "CF0507");
    assert!(said.contains(schema.name()) && said.contains("counterfoil init"), "{said}");
}

#[tokio::test]
async fn a_foreign_schema_is_left_alone() {
    for holds in [
        "CREATE TABLE cf.orders(id int)",
        "CREATE TABLE cf.meta(k int)",
        "CREATE FUNCTION cf.orders() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TYPE cf.orders AS ENUM ('a')",
        "CREATE SEQUENCE cf.orders",
    ] {
        let schema = TestSchema::unmade();
        let stranger = schema.stranger().await;
        stranger.run(&format!("CREATE SCHEMA {}; {holds}", schema.name())).await.unwrap();
        let (code, said) = refused(made(schema.name(), None).await);
        assert_eq!(code, "CF0518", "{holds}");
        assert!(said.contains("orders") || said.contains("meta"), "{said}");
        assert_eq!(opened(&schema).await.0, "CF0518", "{holds}");
    }
    // An empty one is what a DBA may have made for us.
    let schema = TestSchema::unmade();
    let sql = format!("CREATE SCHEMA {}", schema.name());
    connect().await.batch_execute(&sql).await.unwrap();
    assert_eq!(made(schema.name(), None).await.unwrap().found, 0);
}

#[tokio::test]
async fn a_name_must_fit_everywhere() {
    for name in ["", "a.b", "pg_orders", "a'b", "a\"b", "a b", "a$b", "a%b", &"x".repeat(55)] {
        assert_eq!(refused(made(name, None).await).0, "CF0519", "{name}");
    }
}

#[tokio::test]
async fn a_name_that_must_be_quoted_works() {
    let schema = TestSchema::unmade();
    let name = format!("Ord-é-{}", &schema.name()[schema.name().len() - 12..]);
    made(&name, None).await.unwrap();
    let client = connect().await;
    let asked = [
        "BEGIN",
        "INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ('a', 'd', 'k', '')",
        "SELECT cf.enqueue('b', 'd', 'k', '{}'::json, ordering_key => 'K')",
        "SELECT cf.complete('a')",
        "INSERT INTO cf.report(command_id, outcome) VALUES ('b', 'rejected')",
        "COMMIT",
    ];
    let named = asked.join("; ").replace("cf.", &format!("\"{name}\"."));
    client.batch_execute(&named).await.unwrap();
    client.batch_execute(&counterfoil_postgres::roles_sql(&name).unwrap()).await.unwrap();
    let mut drop = format!("DROP SCHEMA \"{name}\" CASCADE");
    for role in ["writer", "worker", "relay", "operator", "auditor"] {
        drop.push_str(&format!("; DROP ROLE \"{name}_{role}\""));
    }
    client.batch_execute(&drop).await.unwrap();
}

/// A server that fails in the middle leaves nothing behind, not even the schema.
/// `order` and `user` are what services are called.
#[tokio::test]
async fn a_word_of_sql_names_a_schema_too() {
    let database = TestDatabase::new("").await;
    let mut client = connect_to(&database.url()).await;
    for name in ["order", "user", "left"] {
        migrate(&mut client, name, None).await.unwrap();
        let enqueue = format!("SELECT \"{name}\".enqueue('a', 'd', 'k', '{{}}'::json)");
        client.batch_execute(&enqueue).await.unwrap();
        let mut options = Options::default();
        options.schema = name.into();
        let store = PostgresStore::open(&database.url(), options).await.unwrap();
        assert!(store.show("a").await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_failed_migration_leaves_nothing() {
    let (schema, helper) = (TestSchema::unmade(), TestSchema::unmade());
    let breaker = helper.stranger().await;
    let name = helper.name();
    breaker
        .run(&format!(
            "CREATE SCHEMA {name};
             CREATE FUNCTION cf.fails() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
               IF current_setting('counterfoil_test.fails', true) = '{name}' THEN
                 RAISE EXCEPTION 'no views today'; END IF; END $$;
             CREATE EVENT TRIGGER {name} ON ddl_command_end WHEN TAG IN ('CREATE VIEW')
             EXECUTE FUNCTION cf.fails()"
        ))
        .await
        .unwrap();
    let mut client = connect().await;
    let told = format!("SET counterfoil_test.fails = '{name}'");
    client.batch_execute(&told).await.unwrap();
    let (code, said) = refused(migrate(&mut client, schema.name(), None).await);
    assert_eq!(code, "CF0520");
    assert!(said.contains("no views today"), "{said}");
    assert_eq!(opened(&schema).await.0, "CF0507");
    let count = "SELECT count(*) FROM pg_namespace WHERE nspname = $1";
    let row = client.query_one(count, &[&schema.name()]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
    breaker.run(&format!("DROP EVENT TRIGGER {name}")).await.unwrap();
    assert_eq!(migrate(&mut client, schema.name(), None).await.unwrap().found, 0);
}

#[tokio::test]
async fn a_database_that_is_not_utf8_is_refused() {
    let database = TestDatabase::new("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'").await;
    let mut client = connect_to(&database.url()).await;
    let (code, said) = refused(migrate(&mut client, "counterfoil", None).await);
    assert_eq!(code, "CF0505");
    assert!(said.contains("LATIN1"), "{said}");
}

/// What `init --print-sql` prints makes the same store as `init`.
#[tokio::test]
async fn the_printed_script_makes_the_same_store() {
    let (printed, migrated) = (TestSchema::unmade(), TestSchema::new().await);
    let script = schema_sql(printed.name(), Some("urn:example:o'rders")).unwrap();
    let client = connect().await;
    client.batch_execute(&script).await.unwrap();
    assert!(client.batch_execute(&script).await.is_err());
    client.batch_execute("ROLLBACK").await.unwrap();
    let found = made(printed.name(), Some("urn:example:o'rders")).await.unwrap();
    assert_eq!(found.found, SCHEMA_VERSION);
    let mut described = Vec::new();
    for schema in [&printed, &migrated] {
        let sql = "SELECT string_agg(replace(said, $1, 'cf'), E'\\n' ORDER BY said) FROM (
            SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
              WHERE c.relnamespace = to_regnamespace($1)
            UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc
              WHERE pronamespace = to_regnamespace($1)
            UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1
            UNION ALL SELECT concat_ws(' ', c.relname, attname, atttypid, attnotnull)
              FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
              WHERE c.relnamespace = to_regnamespace($1)) s(said)";
        let row = client.query_one(sql, &[&schema.name()]).await.unwrap();
        described.push(row.get::<_, String>(0));
    }
    assert_eq!(described[0], described[1]);
}

/// A role without any right on the server but to create a schema makes and owns the store. Once a
/// function carried `SET counterfoil.own`, which only a superuser may make.
#[tokio::test]
async fn an_owner_needs_no_more_than_create() {
    let schema = TestSchema::unmade();
    let owner = format!("{}_owner", schema.name());
    let client = connect().await;
    let sql = format!(
        "CREATE ROLE {owner} LOGIN PASSWORD 'owner';
         DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO {owner}', current_database());
         END $$"
    );
    client.batch_execute(&sql).await.unwrap();
    let mut stranger = schema.stranger_as(&owner, "owner").await;
    assert_eq!(migrate(&mut stranger.client, schema.name(), None).await.unwrap().found, 0);
    stranger.run("SELECT cf.enqueue('a', 'd', 'k', '{}'), cf.complete('a')").await.unwrap();
    assert_eq!(stranger.number("SELECT count(*) FROM cf.receipt").await, 1);
    let config = url().replace("postgres@", &format!("{owner}:owner@"));
    PostgresStore::open(&config, schema.options()).await.unwrap();
}

/// Whatever keeps a store or a receiver's book from being opened has its code.
#[tokio::test]
async fn what_cannot_be_opened_has_its_code() {
    async fn code_of(url: &str, schema: &TestSchema) -> [&'static str; 2] {
        let (own, options) = (url.to_owned(), schema.options());
        let book = move || InboxBook::open(&own, &options).map(drop).unwrap_err().code();
        let book = tokio::task::spawn_blocking(book).await.unwrap();
        let store = PostgresStore::open(url, schema.options()).await.unwrap_err();
        [store.code(), book]
    }
    let schema = TestSchema::unmade();
    assert_eq!(code_of("postgres://db/x?sslmode=no", &schema).await, ["CF0521"; 2]);
    let missing = "postgres://db/x?sslmode=verify-full&sslrootcert=/no/such/file";
    assert_eq!(code_of(missing, &schema).await, ["CF0522"; 2]);
    let nobody = "postgres://postgres@127.0.0.1:1/x?sslmode=disable";
    assert_eq!(code_of(nobody, &schema).await, ["CF0523"; 2]);
    let stranger = schema.stranger().await;
    let foreign = format!("CREATE SCHEMA {}; CREATE TABLE cf.orders(id int)", schema.name());
    stranger.run(&foreign).await.unwrap();
    assert_eq!(code_of(schema.url(), &schema).await, ["CF0518"; 2]);
}

/// A table of the book's name that is somebody else's stays as it is.
#[tokio::test]
async fn a_book_leaves_tables_of_others_alone() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    stranger.run("CREATE TABLE cf.jobs(id int); INSERT INTO cf.jobs VALUES (1)").await.unwrap();
    let (url, options) = (schema.url().to_owned(), schema.options());
    let opened = tokio::task::spawn_blocking(move || InboxBook::open(&url, &options).map(drop));
    let refused = opened.await.unwrap().unwrap_err();
    assert_eq!(refused.code(), "CF0720");
    let said = refused.to_string();
    assert!(said.contains("`jobs`") && said.contains(schema.name()), "{said}");
    assert_eq!(stranger.number("SELECT count(*) FROM cf.jobs").await, 1);
    let calls = "SELECT count(*) FROM pg_class WHERE relname = 'calls' AND relnamespace =
         to_regnamespace(trim(trailing '.' FROM 'cf.'))";
    assert_eq!(stranger.number(calls).await, 0);
}

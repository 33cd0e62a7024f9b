-- by scan of archived, for lanes with missing places only: of which of them one was archived.
SELECT DISTINCT a.destination, a.ordering_key
FROM cf.archived a JOIN unnest($1::text[], $2::text[]) AS g(destination, ordering_key)
  ON g.destination = a.destination AND g.ordering_key = a.ordering_key;

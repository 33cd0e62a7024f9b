-- by event_cause: which of these causes have their event in the stream.
SELECT cause FROM cf.event
WHERE stream = $1::text AND cause = ANY($2::text[]) AND cause IS NOT NULL;

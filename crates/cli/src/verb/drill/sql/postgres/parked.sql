-- How many commands wait for a person; a scan of what is open, which is small at the end.
SELECT count(*) FROM cf.delivery WHERE state IN ('dead', 'uncertain', 'conflict');

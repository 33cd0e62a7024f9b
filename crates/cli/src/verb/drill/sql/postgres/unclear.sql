-- How many questions were answered by nobody, or by nothing that is clear; a scan of rows that only
-- attempts in trouble leave.
SELECT count(*) FROM cf.attempt WHERE purpose = 'ask' AND outcome = 'unclear';

-- Serves first_job.sql and counts of effects by key. By itself, since it is made only once the
-- table is known to be ours.
CREATE INDEX IF NOT EXISTS jobs_key ON jobs(key, source);

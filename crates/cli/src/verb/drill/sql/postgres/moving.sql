-- How many commands are being sent or wait to be; a scan of what is open, now and then.
SELECT count(*) FROM cf.delivery WHERE state IN ('pending', 'sending');

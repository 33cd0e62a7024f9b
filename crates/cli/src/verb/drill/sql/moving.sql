-- How many commands are being sent or wait to be; a scan of what is open, now and then.
SELECT count(*) FROM counterfoil_delivery WHERE state IN ('pending', 'sending');

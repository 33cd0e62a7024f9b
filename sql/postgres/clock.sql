-- by nothing: the server's time.
SELECT cf.micros();

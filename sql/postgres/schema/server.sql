-- What the server is; no table.
SELECT current_setting('server_version_num')::int, current_setting('server_version'),
  current_setting('server_encoding');

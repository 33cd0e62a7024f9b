"""A receiver in Python that knows only HTTP and the key, and fails in many ways on purpose.

warehouse.py FILE SEED: listens on a free port of loopback, says it on stdout, and ships each key
once. A twentieth of the requests each: shipped, and the connection cut without an answer; shipped,
and answered 500; not shipped, and answered 429 with Retry-After; a hundredth: shipped, and answered
later than anybody waits.
"""
import random
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FILE, DICE, ONE = sys.argv[1], random.Random(int(sys.argv[2])), threading.Lock()


def ship(key, body):
    book = sqlite3.connect(FILE, timeout=20, isolation_level=None)
    book.execute("BEGIN IMMEDIATE")
    known = book.execute("SELECT body FROM shipped WHERE key = ?", (key,)).fetchone()
    if known is None:
        book.execute("INSERT INTO shipped VALUES (?, ?)", (key, body))
    book.execute("INSERT INTO requests VALUES (?)", (key,))
    book.execute("COMMIT")
    book.close()
    return 422 if known is not None and known[0] != body else 200


class Warehouse(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status, *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        with ONE:
            throw = DICE.random()
            if throw < 0.05:
                return self.say(429, ("Retry-After", "1"))
            status = ship(key, body)
        if throw < 0.10:
            self.close_connection = True
            return self.connection.close()
        if throw < 0.15:
            return self.say(500)
        if throw < 0.16:
            time.sleep(2)
        self.say(status)


book = sqlite3.connect(FILE, isolation_level=None)
book.execute("PRAGMA journal_mode = WAL")
book.execute("CREATE TABLE shipped(key TEXT PRIMARY KEY, body BLOB NOT NULL)")
book.execute("CREATE TABLE requests(key TEXT NOT NULL)")
server = ThreadingHTTPServer(("127.0.0.1", 0), Warehouse)
server.daemon_threads = True
print("listening on", server.server_port, flush=True)
server.serve_forever()

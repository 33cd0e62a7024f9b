"""A shop in Python: its only tie to Counterfoil is one INSERT beside its own UPDATE.

shop.py FILE FIRST COUNT: pays the orders FIRST, FIRST + 1, ..., each in a transaction of its own.
Every ninth is first tried with a fault before COMMIT, every seventh is paid a second time, which
must change nothing. Says one JSON object: {"paid": n, "undone": n, "longest_ms": n}.
"""
import json
import sqlite3
import sys
import time

INSERT = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body) VALUES (?, ?, ?, ?)"


class Fault(Exception):
    pass


def pay(shop, order, fault=False):
    shop.execute("BEGIN IMMEDIATE")
    try:
        shop.execute("INSERT OR REPLACE INTO orders VALUES (?, 1)", (order,))
        body = json.dumps({"note": "易碎 📦", "order": order}, ensure_ascii=False)
        shop.execute(INSERT, ("order.paid:" + order, "shipping", "order.paid", body))
        if fault:
            raise Fault
        shop.execute("COMMIT")
    except BaseException:
        shop.execute("ROLLBACK")
        raise


def main():
    path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    shop = sqlite3.connect(path, timeout=20, isolation_level=None)
    if sqlite3.sqlite_version_info < (3, 51, 3):
        shop.execute("PRAGMA wal_autocheckpoint = 0")
    shop.execute("CREATE TABLE IF NOT EXISTS orders(id TEXT PRIMARY KEY, paid INTEGER NOT NULL)")
    undone, longest = 0, 0.0
    for n in range(first, first + count):
        order = f"订单-{n:05}"
        if n % 9 == 0:
            try:
                pay(shop, order, fault=True)
            except Fault:
                undone += 1
        began = time.monotonic()
        pay(shop, order)
        longest = max(longest, time.monotonic() - began)
        if n % 7 == 0:
            pay(shop, order)
    print(json.dumps({"paid": count, "undone": undone, "longest_ms": round(longest * 1000)}))


main()

"""A writer that knows nothing of Counterfoil but one SQL function, with plain psycopg.

    pay_orders.py URL SCHEMA FIRST COUNT

Marks orders paid in the table SCHEMA.orders and records one command each in the same transaction,
in turns by the function and by a plain INSERT. Each fifth order fails before its COMMIT and is paid
again; each third is paid twice. Prints one JSON line: {"paid": n, "rolled_back": n, "repeated": n}.
"""
import json
import sys

import psycopg
from psycopg import sql


def pay(db, schema, number, fails):
    """What the outbox said; raises with nothing written on a fault."""
    order = f"订单-{number:06d}"
    body = json.dumps({"order_id": order, "path": "C:\\x\\0", "note": "两件，易碎 📦"}, ensure_ascii=False)
    by_function = "SELECT {}.enqueue(%s, 'shipping', 'order.paid', %s::text)"
    by_insert = (
        "INSERT INTO {}.outbox(command_id, destination, kind, body)"
        " VALUES (%s, 'shipping', 'order.paid', %s)"
    )
    with db.transaction():
        insert = "INSERT INTO {}.orders VALUES (%s) ON CONFLICT DO NOTHING"
        db.execute(sql.SQL(insert).format(sql.Identifier(schema)), (order,))
        if number % 2:
            asked = sql.SQL(by_function).format(sql.Identifier(schema))
            said = db.execute(asked, (f"order.paid:{order}", body)).fetchone()[0]
        else:
            # Bytes, not text: text would lose its backslashes in a bytea.
            asked = sql.SQL(by_insert).format(sql.Identifier(schema))
            count = db.execute(asked, (f"order.paid:{order}", body.encode())).rowcount
            said = "recorded" if count else "repeated"
        if fails:
            raise RuntimeError("fault before commit")
    return said


def main():
    url, schema, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    said = {"paid": 0, "rolled_back": 0, "repeated": 0}
    with psycopg.connect(url, autocommit=True) as db:
        for number in range(first, first + count):
            if number % 5 == 0:
                try:
                    pay(db, schema, number, True)
                except RuntimeError:
                    said["rolled_back"] += 1
            assert pay(db, schema, number, False) == "recorded", number
            said["paid"] += 1
            if number % 3 == 0:
                assert pay(db, schema, number, False) == "repeated", number
                said["repeated"] += 1
    print(json.dumps(said))


main()

"""Run services of the shop in this process until a signal ends it.

    python -m examples.shop.serve HOST... [--nats URL]

Without ``--nats`` the broker is that of ``MICROBUS_NATS``. A file ``<host>_nats.creds`` in the
working directory holds the credentials of a service.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from subtrie.connector import serve

from .broker import sign_in
from .counters import Counters
from .services import PLANE, SERVICES, replicas


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop.serve", description=__doc__)
    parser.add_argument("hosts", nargs="+", choices=list(SERVICES), metavar="HOST")
    parser.add_argument("--nats", metavar="URL")
    parser.add_argument("--plane", default=PLANE)
    # For the demo: passwords for its broker, a file for the counts, and a standard input that
    # closes when the demo ends, even if it is killed.
    parser.add_argument("--child", type=Path, metavar="COUNTS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    logging.basicConfig(format=f"   {', '.join(given.hosts)}: %(message)s")
    counters = Counters()
    connectors = []
    for host in given.hosts:
        url = sign_in(given.nats, host) if given.child else given.nats
        connectors += replicas(host, plane=given.plane, nats=url)
    counters.watch(*connectors)
    if given.child:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(serve(*connectors))
    if given.child:
        counters.save(given.child)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()

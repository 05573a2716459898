"""Log lines written beside the event loop: whoever reads them slowly, or not at all, holds up no call.

At most 10,000 lines wait. Beyond, lines are dropped; how many is written as soon as there is room again.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 10_000
TOGETHER = 0.02
"""Seconds that the first line waits for others: a thread that wakes for each would interrupt the call that it tells of."""
LAST_LINES = 2.0
"""Seconds that lines have to be written at the end."""


class Behind(QueueHandler):
    """Queues records as they are; they are formatted where they are written."""

    def __init__(self, most: int = MOST) -> None:
        self.waiting: SimpleQueue[logging.LogRecord] = SimpleQueue()
        super().__init__(self.waiting)
        self._most = most
        self._lost = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Leave it as it is: the formatter must not be given an exception's text."""
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        """Queue it, or drop it and count."""
        if self.waiting.qsize() >= self._most:
            self._lost += 1
            return
        if self._lost:
            self.waiting.put_nowait(_told(self._lost))
            self._lost = 0
        self.waiting.put_nowait(record)


class Writer(QueueListener):
    """Writes what is queued, by a thread of its own."""

    queue: SimpleQueue[logging.LogRecord]

    def dequeue(self, block: bool) -> logging.LogRecord:
        """Return the next line; where none waited, a moment after it came."""
        none_waited = self.queue.empty()
        record = super().dequeue(block)
        if none_waited:
            time.sleep(TOGETHER)
        return record


@contextmanager
def beside(most: int = MOST) -> Iterator[None]:
    """Have what is logged written by a thread, with the handlers that are there now."""
    root = logging.getLogger()
    writers, behind = root.handlers[:], Behind(most)
    listener = Writer(behind.waiting, *writers)
    listener.start()
    root.handlers[:] = [behind]
    try:
        yield
    finally:
        root.handlers[:] = writers
        ending = threading.Thread(target=listener.stop, daemon=True)
        ending.start()
        ending.join(LAST_LINES)


def _told(lost: int) -> logging.LogRecord:
    return logging.makeLogRecord(
        {
            "name": "mcp_proton.log",
            "levelno": logging.WARNING,
            "levelname": "WARNING",
            "msg": "%d lines were lost: nobody read the log",
            "args": (lost,),
        }
    )

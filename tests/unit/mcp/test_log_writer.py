"""The log of the service: no reader of it, however slow, holds up a call, and what is lost is told."""

from __future__ import annotations

import logging
import threading

from mcp_proton.mcp.http.log_writer import beside


class Stuck(logging.Handler):
    """A place that takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.let_go = threading.Event(), threading.Event()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.reached.set()
        self.let_go.wait(30)
        self.lines.append(record.getMessage())


def under(handler: Stuck, most: int, lines: int) -> None:
    root = logging.getLogger()
    before, root.handlers[:] = root.handlers[:], [handler]
    try:
        with beside(most):
            for number in range(lines):
                logging.getLogger("mcp_proton.x").warning("line %d", number)
                handler.reached.wait(30)  # the first has left the queue, on however slow a machine
            assert not handler.lines
            handler.let_go.set()
            while root.handlers[0].waiting.qsize():
                threading.Event().wait(0.01)
            logging.getLogger("mcp_proton.x").warning("after")
        assert root.handlers == [handler]
    finally:
        root.handlers[:] = before


def test_lines_wait_beside_the_callers_and_keep_their_order():
    stuck = Stuck()
    under(stuck, 100, 50)
    assert stuck.lines == [*(f"line {number}" for number in range(50)), "after"]


def test_lines_that_nobody_reads_are_dropped_and_counted():
    stuck = Stuck()
    under(stuck, 10, 50)
    kept = [line for line in stuck.lines if line.startswith("line ")]
    assert kept == [f"line {number}" for number in range(len(kept))]
    assert len(kept) == 11
    assert stuck.lines[len(kept) :] == [f"{50 - len(kept)} lines were lost: nobody read the log", "after"]

"""The API as Bridge calls it: faults are met here, and retries as Bridge's own client makes them (47 s of them for a 503)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.simulator.faults import ApiFault, FaultScript
    from mcp_proton.simulator.settings import Settings

T = TypeVar("T")
HOST = "mail-api.proton.me"
PAGE = 150
"""How many ids Bridge puts into one call."""

_TRIES = 4
_WAITS_BEFORE_RETRY = (13.0, 15.0, 17.0)
_BUSY = frozenset({429, 503})


class ApiError(Exception):
    """A call that failed for good; the text is what ends up in an IMAP answer.

    `ends_connection` says that Bridge closes the IMAP connection after that answer, `is_broken` that no try was answered.
    """

    ends_connection = False
    is_broken = False


class RefusedError(Exception):
    """An answer of the API other than success: status, Proton's code, message."""

    def __init__(self, status: int, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class _BrokenError(Exception):
    pass


class Api:
    """Makes calls on behalf of Bridge; `calls` is the log of what was asked."""

    def __init__(self, faults: FaultScript, settings: Settings, wait: Callable[[float], Awaitable[None]]) -> None:
        self._faults = faults
        self.settings = settings
        self._wait = wait
        self.calls: list[str] = []

    async def call(self, method: str, path: str, do: Callable[[], T], *, query: str = "") -> T:
        """Carry out one call as often as Bridge's client would; raises ApiError when it gives up."""
        refreshed = False
        for attempt in range(_TRIES):
            try:
                return await self._once(method, path, do)
            except _BrokenError:
                if attempt == _TRIES - 1 or not self.settings.repeats_broken_calls:
                    raise _no_answer(method, path) from None
            except RefusedError as refused:
                if refused.status == 401 and not refreshed:
                    refreshed = True
                elif refused.status in _BUSY and attempt < _TRIES - 1:
                    await self._wait(_WAITS_BEFORE_RETRY[attempt])
                else:
                    raise ApiError(_text(method, path + query, refused)) from None
        raise _no_answer(method, path)

    def refuses(self, method: str, path: str) -> RefusedError | None:
        """Whether such a call would be refused now, without making it (the event loop's own requests)."""
        if self._faults.api_is_down:
            return RefusedError(503, "503 Service Unavailable")
        fault = self._fault(method, path)
        return (
            RefusedError(fault.status, fault.message, fault.code)
            if fault is not None and fault.mode != "delay"
            else None
        )

    async def _once(self, method: str, path: str, do: Callable[[], T]) -> T:
        self.calls.append(f"{method} {path}")
        if self._faults.api_is_down:
            raise RefusedError(503, "503 Service Unavailable")
        fault = self._fault(method, path)
        if fault is None:
            return do()
        if fault.delay:
            await self._wait(fault.delay)
        if fault.mode in {"after", "after-drop", "delay"}:
            done = do()
            if fault.mode == "delay":
                return done
        if fault.mode in {"drop", "after-drop"}:
            raise _BrokenError
        raise RefusedError(fault.status, fault.message, fault.code)

    def _fault(self, method: str, path: str) -> ApiFault | None:
        return next((fault for fault in self._faults.api if fault.takes(method, path)), None)


def _no_answer(method: str, path: str) -> ApiError:
    error = ApiError(f'received no response from API: {method.capitalize()} "https://{HOST}{path}": EOF')
    error.is_broken = True
    return error


def _text(method: str, path: str, refused: RefusedError) -> str:
    return (
        f"{refused.status} {method} https://{HOST}{path}: {refused.message} "
        f"(Code={refused.code}, Status={refused.status})"
    )

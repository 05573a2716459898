"""The border where what HTTP, TLS and sockets raise becomes ours. Nothing a stranger's server said stands in a message."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2

from mcp_proton.domain.errors import MailError, NotFound, OverLimit, Unavailable, Untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator

CANNOT = "the file could not be fetched"
LATER = "try again later, or attach the file another way"


@contextmanager
def border(seconds: float) -> Iterator[None]:
    """Turn foreign errors into ours. `seconds` is how long a whole fetch may take."""
    try:
        yield
    except TimeoutError:
        raise too_slow(seconds) from None
    except httpx2.TimeoutException:
        raise unavailable("its server does not answer") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
        raise _of(error) from None


def _of(error: Exception) -> MailError:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return Untrusted(
                f"{CANNOT}: its server could not prove who it is",
                code="untrusted_server",
                next="nothing was asked of it; look for the file elsewhere",
            )
        seen = seen.__cause__ or seen.__context__
    if isinstance(error, httpx2.ConnectError):
        return unavailable("its server cannot be reached")
    return unavailable("the connection ended in the middle")


def of_status(status: int) -> MailError:
    """The error for an answer that is no file."""
    if 300 <= status < 400:
        return Unavailable(
            f"{CANNOT}: this address points to another one",
            code="redirected",
            next="redirects are not followed; give the address where the file is",
        )
    if status in {404, 410}:
        return NotFound(f"{CANNOT}: its server has no such file", code="no_such_file")
    if status in {401, 403, 407}:
        return NotFound(f"{CANNOT}: its server wants a login", code="no_such_file", next="give a public address")
    return unavailable(f"its server answered {status}")


def unavailable(why: str) -> Unavailable:
    """The error for what may work another time."""
    return Unavailable(f"{CANNOT}: {why}", code="fetch_failed", next=LATER)


def too_large(most: int) -> OverLimit:
    """The error for a file beyond the limit."""
    return OverLimit(
        f"{CANNOT}: the limit is {most} octets",
        code="too_large",
        next="attach less, or ask the owner to raise `fetch_megabytes`",
    )


def too_slow(seconds: float) -> OverLimit:
    """The error for a file that takes longer than the owner waits."""
    return OverLimit(f"{CANNOT}: it took longer than {seconds:g} s", code="too_slow", next=LATER)

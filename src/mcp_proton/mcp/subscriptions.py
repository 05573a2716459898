"""Subscriptions: a client is told that a resource may have changed (P-64, P-82), by what its protocol era has for that.

Until 2025-11-25 that is `resources/subscribe` and a notification on the session's own stream; from 2026-07-28 on it is a
`subscriptions/listen` request, whose response is the stream. A notification holds the URI that was asked for and nothing else.
To follow is judged, counted and journalled like the read it stands for; what is turned down is told as an error of the protocol
that holds our usual answer in `data`, since those two methods have no other place for one.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY, ResourceUpdated, event_to_notification

from mcp_proton.domain.caller import Surface
from mcp_proton.domain.errors import Defect, MailError, NotFound, OverLimit, Unavailable
from mcp_proton.domain.outcome import Outcome
from mcp_proton.mcp import resources
from mcp_proton.mcp.calls import guarded, turned_down
from mcp_proton.services.presenting.answers import answer
from mcp_proton.services.presenting.telling import told

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastmcp.server.server import FastMCP
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

    from mcp_proton.domain.operation import Result
    from mcp_proton.mcp.doorway import Doorway
    from mcp_proton.services.door.watching import Follower

MOST = 64
"""resources of one session or stream"""
STREAMS = 64
"""streams of one client"""
REFUSED = "io.github.mcp-proton/refused"
"""the `_meta` key of an acknowledgement that says what is not followed, and why"""


class Subscriptions:
    """What one client follows, in all its sessions."""

    def __init__(self, doorway: Doorway) -> None:
        self._doorway = doorway
        self._sessions: dict[Connection, _Held] = {}
        self._streams = 0

    def serve(self, server: FastMCP[Any]) -> None:
        """Have the server answer these methods. FastMCP has no door of its own for them; the SDK below it does."""
        kernel = server._mcp_server
        kernel.add_request_handler("resources/subscribe", mcp_types.SubscribeRequestParams, self.subscribe)
        kernel.add_request_handler("resources/unsubscribe", mcp_types.UnsubscribeRequestParams, self.unsubscribe)
        kernel.add_request_handler("subscriptions/listen", mcp_types.SubscriptionsListenRequestParams, self.listen)

    async def subscribe(
        self, ctx: ServerRequestContext[Any, Any], params: mcp_types.SubscribeRequestParams
    ) -> mcp_types.EmptyResult:
        """Follow a resource in this session; once more is no error."""
        connection = ctx.session._connection
        held = self._sessions.get(connection)
        if held is None:
            held = self._sessions[connection] = _Held(connection.send_resource_updated)
            connection.exit_stack.push_async_callback(self._left, connection)
        if params.uri in held.followers:
            return mcp_types.EmptyResult()
        try:
            if len(held.followers) >= MOST:
                raise _too_many()
            tell, ended = partial(held.pending.put, params.uri), partial(held.forget, params.uri)
            follower = await self._follow(params.uri, tell, ended)
        except MailError as error:
            raise _turned_down(error) from None
        if params.uri in held.followers or self._sessions.get(connection) is not held:
            await self._end([follower])  # asked for twice at once, or left meanwhile
        else:
            held.followers[params.uri] = follower
        return mcp_types.EmptyResult()

    async def unsubscribe(
        self, ctx: ServerRequestContext[Any, Any], params: mcp_types.UnsubscribeRequestParams
    ) -> mcp_types.EmptyResult:
        """Follow it no longer; what was not followed is no error."""
        held = self._sessions.get(ctx.session._connection)
        follower = held.followers.pop(params.uri, None) if held is not None else None
        if follower is not None:
            await self._end([follower])
        return mcp_types.EmptyResult()

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        """Tell, until the client goes. It ends by itself when something of it may not be followed any more: asked for again,
        it says why."""
        pending = _Pending()
        followers: dict[str, Follower] = {}
        refused: dict[str, MailError] = {}
        wanted = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        self._streams += 1
        try:
            if len(wanted) > MOST or self._streams > STREAMS:
                raise _turned_down(_too_many())
            for uri in wanted:
                try:
                    followers[uri] = await self._follow(uri, partial(pending.put, uri), pending.close)
                except MailError as error:
                    refused[uri] = error
            if refused and not followers:
                raise _turned_down(next(iter(refused.values())))
            why = {REFUSED: {uri: answer(told(error)) for uri, error in refused.items()}} if refused else {}
            honoured = mcp_types.SubscriptionFilter(resource_subscriptions=list(followers) or None)
            acknowledged = mcp_types.SubscriptionsAcknowledgedNotificationParams(
                notifications=honoured, _meta=meta | why
            )
            await ctx.session.send_notification(
                mcp_types.SubscriptionsAcknowledgedNotification(params=acknowledged), related_request_id=ctx.request_id
            )
            while (updated := await pending.next()) is not None:
                event = event_to_notification(ResourceUpdated(updated), meta)
                await ctx.session.send_notification(event, related_request_id=ctx.request_id)
        finally:
            self._streams -= 1
            await self._end(list(followers.values()))
        return mcp_types.SubscriptionsListenResult(_meta=meta)

    async def _follow(self, uri: str, tell: Callable[[], None], ended: Callable[[], None]) -> Follower:
        """Put it to the door, past the gate. Raises what the client is told."""
        service = await guarded(self._doorway.service)
        found = resources.find(service.world.catalog, self._doorway, uri)
        if found is None:
            raise await turned_down(self._doorway, Surface.RESOURCE, None, NotFound("there is no such resource"))
        try:
            request = found.request_at(uri)
        except MailError as wrong:
            raise await turned_down(self._doorway, Surface.RESOURCE, found.definition, wrong) from None
        who = self._doorway.lasting(Surface.RESOURCE)
        made: list[Follower] = []

        async def submit() -> Outcome[Result]:
            made.append(await guarded(lambda: service.watching.follow(who, request, tell, ended)))
            return Outcome(status="ok")

        await self._doorway.gate(self._doorway.caller(Surface.RESOURCE), found.definition, request, submit)
        return made[0]

    async def _end(self, followers: list[Follower]) -> None:
        if followers:
            watching = (await self._doorway.service()).watching
            for follower in followers:
                watching.end(follower)

    async def _left(self, connection: Connection) -> None:
        held = self._sessions.pop(connection, None)
        if held is not None:
            held.close()
            await self._end(list(held.followers.values()))


class _Held:
    """What one session of the handshake era follows."""

    def __init__(self, send: Callable[[str], Awaitable[None]]) -> None:
        self.followers: dict[str, Follower] = {}
        self.pending = _Pending()
        self._send = send
        self._sending = asyncio.get_running_loop().create_task(self._run(), context=Context())

    def forget(self, uri: str) -> None:
        """It may not be followed any more: the client sees why when it reads or follows it again."""
        self.followers.pop(uri, None)

    def close(self) -> None:
        """Send nothing more."""
        self._sending.cancel()

    async def _run(self) -> None:
        while (uri := await self.pending.next()) is not None:
            await self._send(uri)


class _Pending:
    """What is to be told, each resource once: a client that does not read makes nothing grow."""

    def __init__(self) -> None:
        self._uris: dict[str, None] = {}
        self._more = asyncio.Event()
        self._closed = False

    def put(self, uri: str) -> None:
        """Have this told."""
        self._uris[uri] = None
        self._more.set()

    def close(self) -> None:
        """Have nothing more told."""
        self._closed = True
        self._more.set()

    async def next(self) -> str | None:
        """Return what has waited longest; None once nothing more is told."""
        await self._more.wait()
        if self._closed:
            return None
        uri = next(iter(self._uris))
        del self._uris[uri]
        if not self._uris:
            self._more.clear()
        return uri


def _too_many() -> OverLimit:
    return OverLimit("this is more than may be followed at once", next="end what you no longer need")


def _turned_down(error: MailError) -> MCPError:
    ours = isinstance(error, Unavailable | Defect)
    text = error.message if error.next is None else f"{error.message}; {error.next}"
    code = mcp_types.INTERNAL_ERROR if ours else mcp_types.INVALID_PARAMS
    return MCPError(code=code, message=text, data=answer(told(error)))

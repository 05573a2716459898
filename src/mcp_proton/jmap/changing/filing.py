"""What changes messages: flags, moving, copying, labels, destroying. One look, then one guarded Email/set a portion.

INVARIANT: what is to be changed is looked at first, and the change is bound to that look (`ifInState`, RFC 8620 §5.3): it
is done to what was seen or not at all. A refusal because of the state did nothing, so only then is it tried again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict, MailError, Unsupported, not_attempted
from mcp_proton.domain.mail import VIEWS, Flag, Mailbox, Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import Home
from mcp_proton.imap.changing.filing import check_target
from mcp_proton.jmap import envelopes, keys, keywords
from mcp_proton.jmap.changing import refusals
from mcp_proton.jmap.errors import MethodFailed, acted
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.ports import FlagChange
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.occurrences import Occurrences
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

ATTEMPTS = 5
"""how often a change is tried while others keep changing the account"""
TOGETHER = 100
"""messages in one change: the fewer, the less is uncertain when an answer is lost"""
WANTED = ("keywords", "from")
DELETED_IN = frozenset({Role.TRASH, Role.SPAM})

Patch = dict[str, object]


@dataclass(slots=True)
class Change:
    """What is to be done to one message: a patch, or None to destroy it; or the fate it has without any of it."""

    patch: Patch | None = field(default_factory=dict)
    now: Handle | None = None
    fate: Fate | None = None


class Filing:
    """One account's changes. `own` gives the owner's addresses: what they sent belongs in Sent."""

    def __init__(
        self,
        client: Client,
        occurrences: Occurrences,
        mailboxes: Mailboxes,
        own: Callable[[], Awaitable[frozenset[str]]],
    ) -> None:
        self._client, self._occurrences, self._mailboxes, self._own = client, occurrences, mailboxes, own

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> list[Fate]:
        """Keywords are the message's own: they show in each of its mailboxes."""
        try:
            patch: Patch = {f"keywords/{keywords.theirs(flag)}": True for flag in sorted(change.add)}
            patch |= {f"keywords/{keywords.theirs(flag)}": None for flag in sorted(change.remove)}
        except Unsupported as error:
            return [Fate.of_error(handle, error) for handle in handles]
        fates = await self._changed(handles, lambda _handle, _box, _email: Change(patch))
        if change.unchanged_since is None:
            return fates
        return [Fate.unguarded(fate.handle) if fate.ending is Ending.DONE else fate for fate in fates]

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> list[Fate]:
        """Out of the mailbox the handle names, into another; what other mailboxes it is in stays (J-22)."""
        check_target(to)
        boxes = {box.role: box for box in await self._mailboxes.all()} if isinstance(to, Home) else {}
        own = await self._own() if isinstance(to, Home) else frozenset[str]()

        def moved(handle: Handle, box: Mailbox, email: Object) -> Change:
            target = _home(email, boxes, own) if isinstance(to, Home) else to
            if box.role in VIEWS or not box.selectable:
                return _no(handle, "a mailbox that shows mail of other places is no place to move it from")
            if target.id == box.id:
                return Change(fate=Fate.skipped(handle, "already_there", "it is there already"))
            return Change(_places({box.id: None, target.id: True}), keys.handle(target, handle.key))

        return await self._changed(handles, moved)

    async def copy(self, handles: Sequence[Handle], to: Mailbox) -> list[Fate]:
        """Into a second mailbox. It stays one message: its flags are the same in both."""
        check_target(to)
        return await self._changed(handles, lambda handle, _box, email: _added(handle, email, to))

    async def label(self, handles: Sequence[Handle], to: Mailbox) -> list[Fate]:
        """Into a label's mailbox."""
        if to.role is not Role.LABEL:
            raise Unsupported(
                f"a mailbox of the role `{to.role.value}` is no label",
                code="unsupported_semantics",
                next="nothing was done; choose a label, or copy it into a folder",
            )
        return await self._changed(handles, lambda handle, _box, email: _added(handle, email, to))

    async def unlabel(self, handles: Sequence[Handle]) -> list[Fate]:
        """Out of a label's mailbox, where it is in another one as well: every message is in one (RFC 8621 §4)."""

        def off(handle: Handle, box: Mailbox, email: Object) -> Change:
            if box.role is not Role.LABEL:
                return _no(handle, "this handle is not of a label")
            if values.keys_of(email.get("mailboxIds")) <= {box.id}:
                return Change(fate=_failed(handle, "held", "it is in no other mailbox: move it into one first"))
            return Change(_places({box.id: None}))

        return await self._changed(handles, off)

    async def destroy(self, handles: Sequence[Handle]) -> list[Fate]:
        """For good, in Trash and Spam (drafts: in Drafts too), and only what is in no other mailbox."""
        paths = {box.id: box.path for box in await self._mailboxes.all()}
        bins = {box.id for box in await self._mailboxes.all() if box.role in DELETED_IN}

        def gone(handle: Handle, box: Mailbox, email: Object) -> Change:
            if box.role not in DELETED_IN and not (box.role is Role.DRAFTS and _is_draft(email)):
                return _no(handle, "only what is in Trash or Spam, and a draft in Drafts, is deleted for good")
            others = values.keys_of(email.get("mailboxIds")) - bins - {box.id}
            held = sorted(paths.get(one, "another mailbox") for one in others)
            if held:
                return Change(fate=_failed(handle, "held", f"it is also in `{held[0]}`, and would be gone there too"))
            return Change(None)

        return await self._changed(handles, gone)

    # --- parts -----------------------------------------------------------------------------------------------------

    async def _changed(
        self, handles: Sequence[Handle], decide: Callable[[Handle, Mailbox, Object], Change]
    ) -> list[Fate]:
        limits = await self._client.limits()
        size = min(TOGETHER, limits.objects_in_get, limits.objects_in_set)
        fates: dict[Handle, Fate] = {}
        broken: MailError | None = None
        asked = list(dict.fromkeys(handles))
        for start in range(0, len(asked), size):
            portion = asked[start : start + size]
            if broken is None:
                done, broken = await self._portion(portion, decide)
                fates |= done
            else:
                fates |= {handle: Fate.of_error(handle, not_attempted()) for handle in portion}
        return [fates[handle] for handle in handles]

    async def _portion(
        self, handles: Sequence[Handle], decide: Callable[[Handle, Mailbox, Object], Change]
    ) -> tuple[dict[Handle, Fate], MailError | None]:
        """The fates of a few, and what makes going on unwise."""
        for _ in range(ATTEMPTS):
            try:
                looked = await self._occurrences.look(handles, WANTED)
            except MailError as error:
                return {handle: Fate.of_error(handle, error) for handle in handles}, error
            fates = {handle: Fate.of_error(handle, error) for handle, error in looked.wrong.items()}
            changes = {handle: decide(handle, looked.boxes[handle], email) for handle, email in looked.emails.items()}
            fates |= {handle: change.fate for handle, change in changes.items() if change.fate is not None}
            left = {handle: change for handle, change in changes.items() if change.fate is None}
            if not left:
                return fates, None
            try:
                answer = await self._set(left, looked.state)
                if answer is not None:
                    with acted():
                        return fates | {handle: _fate(handle, one, answer) for handle, one in left.items()}, None
            except MailError as error:
                return fates | {handle: Fate.of_error(handle, error) for handle in left}, error
        busy = Conflict("others keep changing this account", next="try again in a moment")
        return fates | {handle: Fate.of_error(handle, busy) for handle in left}, None

    async def _set(self, changes: Mapping[Handle, Change], state: str) -> Object | None:
        """The answer to Email/set, None where the state was another one by then and nothing was done."""
        update: dict[str, Patch] = {}
        destroy: list[str] = []
        for handle, change in changes.items():
            if change.patch is None:
                destroy.append(handle.key)
            else:
                # Two handles of one message, in two mailboxes: both patches hold.
                update[handle.key] = update.get(handle.key, {}) | change.patch
        arguments: dict[str, object] = {"ifInState": state}
        if update:
            arguments["update"] = update
        if destroy:
            arguments["destroy"] = sorted(set(destroy))
        (answer,) = await self._client.ask(Call("Email/set", arguments), changes=True)
        if isinstance(answer, MethodFailed):
            if answer.kind == "stateMismatch":
                return None
            raise refusals.of_method(answer)
        return answer


def _home(email: Object, boxes: Mapping[Role, Mailbox], own: frozenset[str]) -> Mailbox:
    role = Role.INBOX
    if _is_draft(email):
        role = Role.DRAFTS
    elif envelopes.addresses_of(email) & own:
        role = Role.SENT
    found = boxes.get(role) or boxes.get(Role.INBOX)
    if found is None:
        raise Unsupported("this account has no inbox")
    return found


def _is_draft(email: Object) -> bool:
    return Flag.DRAFT in envelopes.flags(values.keys_of(email.get("keywords")))


def _added(handle: Handle, email: Object, to: Mailbox) -> Change:
    now = keys.handle(to, handle.key)
    if to.id in values.keys_of(email.get("mailboxIds")):
        return Change(fate=Fate(handle, Ending.SKIPPED, "already_there", "it is there already", now))
    return Change(_places({to.id: True}), now)


def _places(changed: Mapping[str, bool | None]) -> Patch:
    return {f"mailboxIds/{box_id}": there for box_id, there in changed.items()}


def _no(handle: Handle, why: str) -> Change:
    return Change(fate=Fate.of_error(handle, Unsupported(why, code="unsupported_semantics")))


def _failed(handle: Handle, code: str, why: str) -> Fate:
    return Fate(handle, Ending.FAILED, code=code, why=why)


def _fate(handle: Handle, change: Change, answer: Object) -> Fate:
    """What the answer says of one message. One it does not speak of may have been changed."""
    if change.patch is None:
        done, refused = values.sequence(answer.get("destroyed") or []), answer.get("notDestroyed")
    else:
        done, refused = list(values.mapping(answer.get("updated") or {})), answer.get("notUpdated")
    why = values.mapping(refused or {}).get(handle.key)
    if why is not None:
        return Fate.of_error(handle, refusals.of_item(values.mapping(why)))
    if handle.key in done:
        return Fate.done(handle, change.now, proof=Proof.SEEN, identity=handle.key)
    return Fate.of_error(handle, refusals.not_told())

"""The methods of a scripted JMAP server, by RFC 8620 §5 and RFC 8621, refusing what is beyond its limits."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.servers.jmap.around import Around, Refusal
from tests.servers.jmap.store import properties

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.jmap.store import Folder, Store, Stored

Answer = dict[str, Any]
_OF_HEADERS = ("from", "to", "cc", "bcc", "subject")
__all__ = ["Limits", "Methods", "Refusal"]


@dataclass(frozen=True)
class Limits:
    """What the session says, and what is refused beyond."""

    get: int = 500
    set: int = 500
    calls: int = 16
    size: int = 10_000_000
    requests: int = 4
    upload: int = 50_000_000
    blob: int = 0
    """octets of a blob that may come with a request (RFC 9404); 0: it does not know of that"""
    query: int | None = None
    """an enforced limit of ids a page, told in the answer"""
    index: str | None = None
    """how it refuses to look for words; None: it has an index of them"""


class Methods:
    """Bound to a store."""

    def __init__(self, store: Store, limits: Limits, account: str = "acc") -> None:
        self.store, self.limits, self.account = store, limits, account
        self.around = Around(store)
        self.without: set[str] = set()
        """methods this server has not"""
        self.ignores: set[str] = set()
        """conditions that it passes over, as some do"""
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        self._created: dict[str, str] = {}
        self._states: dict[str, dict[str, tuple[str, str]]] = {}
        self.names_blobs = True
        """whether a blob that came with a request can be named by later calls of it"""
        self.refuse_sending: str | None = None
        """the type of the error a submission ends with"""

    def begin(self) -> None:
        """Another request: what the one before gave names is not known by them any more (RFC 8620 §3.3)."""
        self._created = {}

    def call(self, name: str, arguments: Answer) -> Answer:
        if arguments.get("accountId") != self.account:
            raise Refusal("accountNotFound")
        known = {
            **({"Blob/upload": self.blob_upload} if self.limits.blob else {}),
            "Email/get": self.email_get,
            "Email/changes": self.email_changes,
            "Email/query": self.email_query,
            "Thread/get": self.thread_get,
            "Email/set": self.email_set,
            "Email/import": self.email_import,
            **self.around.methods,
            "EmailSubmission/set": self.submission_set,
            "Mailbox/get": self.mailbox_get,
            "Mailbox/set": self.mailbox_set,
        }
        if name not in known.keys() - self.without:
            raise Refusal("unknownMethod")
        return {"accountId": self.account, **known[name](arguments)}

    # --- mail --------------------------------------------------------------------------------------------------------

    def email_get(self, asked: Answer) -> Answer:
        ids = self._limited(asked["ids"], self.limits.get)
        found = [self.store.emails[one] for one in dict.fromkeys(ids) if one in self.store.emails]
        listed = [properties(one, asked["properties"], asked) for one in found]
        gone = [one for one in ids if one not in self.store.emails]
        return {"state": self._state(), "list": listed, "notFound": gone}

    def email_changes(self, asked: Answer) -> Answer:
        """From any state that was told by Email/get or here."""
        before = self._states.get(asked["sinceState"])
        if before is None:
            raise Refusal("cannotCalculateChanges")
        state = self._state()
        now = self._states[state]
        told: Answer = {
            "created": [one for one in now if one not in before],
            "updated": [one for one in now if one in before and now[one] != before[one]],
            "destroyed": [one for one in before if one not in now],
        }
        if sum(map(len, told.values())) > asked["maxChanges"]:
            raise Refusal("cannotCalculateChanges")
        return {"oldState": asked["sinceState"], "newState": state, "hasMoreChanges": False, **told}

    def _state(self) -> str:
        state = str(self.store.state)
        emails = self.store.emails
        self._states[state] = {
            one: (repr(sorted(emails[one].mailboxes)), repr(sorted(emails[one].keywords))) for one in emails
        }
        return state

    def email_query(self, asked: Answer) -> Answer:
        self._check_places(asked["filter"])
        if self.limits.index is not None and _asks_for_words(asked["filter"]):
            raise Refusal(self.limits.index)
        found = [one for one in self.store.emails.values() if _meets(one, asked["filter"], self.ignores)]
        rising = asked.get("sort", [{}])[0].get("isAscending", True)
        found.sort(key=lambda one: one.received, reverse=not rising)
        ids = [one.id for one in found]
        start = asked.get("position", 0)
        if asked.get("anchor") is not None:
            if asked["anchor"] not in ids:
                raise Refusal("anchorNotFound")
            start = max(0, ids.index(asked["anchor"]) + asked.get("anchorOffset", 0))
        told: Answer = {"queryState": f"q{self.store.state}", "canCalculateChanges": False, "position": start}
        limit = asked.get("limit", 1_000)
        if self.limits.query is not None and limit > self.limits.query:
            limit = told["limit"] = self.limits.query
        if asked.get("calculateTotal"):
            told["total"] = len(ids)
        return told | {"ids": ids[start : start + limit]}

    def thread_get(self, asked: Answer) -> Answer:
        ids = dict.fromkeys(self._limited(asked["ids"], self.limits.get))
        held = sorted(self.store.emails.values(), key=lambda one: one.received)
        listed = [{"id": one, "emailIds": [mail.id for mail in held if mail.thread == one]} for one in ids]
        return {"state": str(self.store.state), "list": listed, "notFound": []}

    def email_set(self, asked: Answer) -> Answer:
        before = self._guarded(asked)
        update, destroy = asked.get("update") or {}, asked.get("destroy") or []
        self._limited([*update, *destroy], self.limits.set)
        told: Answer = {"updated": {}, "notUpdated": {}, "destroyed": [], "notDestroyed": {}}
        for email_id, patch in update.items():
            why = self._patched(email_id, patch)
            told["notUpdated" if why else "updated"][email_id] = {"type": why} if why else None
        for email_id in destroy:
            if self.store.emails.pop(email_id, None) is None:
                told["notDestroyed"][email_id] = {"type": "notFound"}
            else:
                told["destroyed"].append(email_id)
        if told["updated"] or told["destroyed"]:
            self.store.touched()
        return {"oldState": before, "newState": str(self.store.state), **told}

    def email_import(self, asked: Answer) -> Answer:
        told: Answer = {"created": {}, "notCreated": {}}
        for name, wanted in asked["emails"].items():
            raw = self.store.blob(self._created.get(wanted["blobId"], wanted["blobId"]))
            if raw is None or not wanted["mailboxIds"].keys() <= self.store.folders.keys():
                told["notCreated"][name] = {"type": "invalidProperties"}
                continue
            when = datetime.fromisoformat(wanted["receivedAt"]) if "receivedAt" in wanted else self.now()
            when = when.replace(microsecond=0)
            words = frozenset(wanted["keywords"])
            made = self.store.add(raw, *wanted["mailboxIds"], keywords=words, received=when)
            self._created[f"#{name}"] = made.id
            told["created"][name] = {"id": made.id, "blobId": made.blob, "threadId": made.thread, "size": len(made.raw)}
        return told

    def blob_upload(self, asked: Answer) -> Answer:
        told: Answer = {"created": {}, "notCreated": {}}
        for name, wanted in asked["create"].items():
            octets = b"".join(base64.b64decode(one["data:asBase64"], validate=True) for one in wanted["data"])
            if len(octets) > self.limits.blob:
                told["notCreated"][name] = {"type": "tooLarge"}
                continue
            made = self.store.upload(octets)
            if self.names_blobs:
                self._created[f"#{name}"] = made
            told["created"][name] = {"id": made, "type": wanted.get("type"), "size": len(octets)}
        return told

    def submission_set(self, asked: Answer) -> Answer:
        told: Answer = {"created": {}, "notCreated": {}}
        for name, wanted in asked["create"].items():
            stored = self.store.emails.get(self._created.get(wanted["emailId"], wanted["emailId"]))
            if self.refuse_sending is not None or stored is None:
                told["notCreated"][name] = {"type": self.refuse_sending or "invalidProperties"}
                continue
            envelope = wanted["envelope"]
            to = [one["email"] for one in envelope["rcptTo"]]
            self.store.sent.append((envelope["mailFrom"]["email"], to, stored.raw))
            self._patched(stored.id, asked["onSuccessUpdateEmail"][f"#{name}"])
            self.store.touched()
            told["created"][name] = {"id": f"s{len(self.store.sent)}", "undoStatus": "final"}
        return told

    def _patched(self, email_id: str, patch: Answer) -> str | None:
        stored = self.store.emails.get(email_id)
        if stored is None:
            return "notFound"
        places, words = set(stored.mailboxes), set(stored.keywords)
        for path, value in patch.items():
            kind, _, key = path.partition("/")
            group = {"mailboxIds": places, "keywords": words}[kind]
            if value is None:
                group.discard(key)
            else:
                group.add(key)
        if not places or not places <= self.store.folders.keys():
            return "invalidProperties"
        stored.mailboxes, stored.keywords = places, words
        return None

    # --- mailboxes -----------------------------------------------------------------------------------------------------

    def mailbox_get(self, asked: Answer) -> Answer:
        ids = asked["ids"]
        wanted = list(self.store.folders) if ids is None else self._limited(ids, self.limits.get)
        listed = [self._told(self.store.folders[one]) for one in wanted if one in self.store.folders]
        gone = [one for one in wanted if one not in self.store.folders]
        kept = [{name: one[name] for name in {*asked["properties"], "id"}} for one in listed]
        return {"state": str(self.store.state), "list": kept, "notFound": gone}

    def mailbox_set(self, asked: Answer) -> Answer:
        before = self._guarded(asked)
        told: Answer = {"created": {}, "updated": {}, "destroyed": []}
        told |= {"notCreated": {}, "notUpdated": {}, "notDestroyed": {}}
        for name, values in (asked.get("create") or {}).items():
            parent = self._parent(values.get("parentId"), told)
            if self._taken(values["name"], parent):
                told["notCreated"][name] = {"type": "invalidProperties", "properties": ["name"]}
            else:
                told["created"][name] = {"id": self.store.folder(values["name"], parent).id}
        for box_id, patch in (asked.get("update") or {}).items():
            folder = self.store.folders.get(box_id)
            if folder is None:
                told["notUpdated"][box_id] = {"type": "notFound"}
                continue
            folder.name = patch.get("name", folder.name)
            folder.subscribed = patch.get("isSubscribed", folder.subscribed)
            if "parentId" in patch:
                folder.parent = self._parent(patch["parentId"], told)
            told["updated"][box_id] = None
        for box_id in asked.get("destroy") or []:
            self._destroyed(box_id, told)
        self.store.touched()
        return {"oldState": before, "newState": str(self.store.state), **told}

    def _destroyed(self, box_id: str, told: Answer) -> None:
        if any(one.parent == box_id for one in self.store.folders.values()):
            told["notDestroyed"][box_id] = {"type": "mailboxHasChild"}
        elif any(box_id in one.mailboxes for one in self.store.emails.values()):
            told["notDestroyed"][box_id] = {"type": "mailboxHasEmail"}
        elif self.store.folders.pop(box_id, None) is None:
            told["notDestroyed"][box_id] = {"type": "notFound"}
        else:
            told["destroyed"].append(box_id)

    def _parent(self, told: str | None, made: Answer) -> str | None:
        return made["created"][told[1:]]["id"] if told is not None and told.startswith("#") else told

    def _taken(self, name: str, parent: str | None) -> bool:
        return any(one.name == name and one.parent == parent for one in self.store.folders.values())

    def _told(self, folder: Folder) -> Answer:
        held = [one for one in self.store.emails.values() if folder.id in one.mailboxes]
        return {
            "id": folder.id,
            "name": folder.name,
            "parentId": folder.parent,
            "role": folder.role,
            "isSubscribed": folder.subscribed,
            "totalEmails": len(held),
            "unreadEmails": sum("$seen" not in one.keywords for one in held),
            "myRights": {"mayReadItems": True},
        }

    # --- parts -------------------------------------------------------------------------------------------------------

    def _guarded(self, asked: Answer) -> str:
        if asked.get("ifInState") not in (None, str(self.store.state)):
            raise Refusal("stateMismatch")
        return str(self.store.state)

    def _limited(self, ids: list[str], most: int) -> list[str]:
        if len(ids) > most:
            raise Refusal("requestTooLarge")
        return ids

    def _check_places(self, condition: Answer) -> None:
        for one in condition.get("conditions", ()):
            self._check_places(one)
        if condition.get("inMailbox", next(iter(self.store.folders))) not in self.store.folders:
            raise Refusal("invalidArguments")


def _asks_for_words(condition: Answer) -> bool:
    if "operator" in condition:
        return any(map(_asks_for_words, condition["conditions"]))
    return bool(condition.keys() & {"header", "body", "text", *_OF_HEADERS})


def _says(stored: Stored, header: str, words: str) -> bool:
    return _has_words(str(stored.parsed.get(header, "")), [words])


def _has_words(text: str, wanted: list[str]) -> bool:
    """As indexes do: whole words, in any order."""
    words = set(re.findall(r"\w+", text.casefold()))
    return words >= {word for one in wanted for word in re.findall(r"\w+", one.casefold())}


def _body(stored: Stored) -> str:
    return " ".join(one.get_content() for one in stored.parsed.walk() if one.get_content_maintype() == "text")


def _meets(stored: Stored, condition: Answer, ignores: set[str]) -> bool:
    if "operator" in condition:
        found = [_meets(stored, one, ignores) for one in condition["conditions"]]
        return {"AND": all(found), "OR": any(found), "NOT": not any(found)}[condition["operator"]]
    checks: dict[str, Callable[[Any], bool]] = {
        "inMailbox": lambda value: value in stored.mailboxes,
        "hasKeyword": lambda value: value in stored.keywords,
        "notKeyword": lambda value: value not in stored.keywords,
        "minSize": lambda value: len(stored.raw) >= value,
        "maxSize": lambda value: len(stored.raw) < value,
        "after": lambda value: stored.received >= datetime.fromisoformat(value),
        "before": lambda value: stored.received < datetime.fromisoformat(value),
        "header": lambda value: _has_words(str(stored.parsed.get(value[0], "")), value[1:]),
        "body": lambda value: _has_words(_body(stored), [value]),
        "text": lambda value: _has_words(f"{stored.raw.decode('utf-8', 'replace')}{_body(stored)}", [value]),
        **{name: partial(_says, stored, name) for name in _OF_HEADERS},
    }
    return all(checks[name](value) for name, value in condition.items() if name not in ignores)

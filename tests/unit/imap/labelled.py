"""A mail server whose mailboxes are labels, as Google documents Gmail's IMAP: COPY adds one, MOVE changes one for another,
Trash and Spam take all of them off, All Mail has every message that is in neither, an expunge takes a label off."""

from __future__ import annotations

import re
from email import message_from_bytes

from tests.unit.imap.scripted import OK, Reply, ScriptedServer, Talk

CAPABILITIES = b"IMAP4rev1 UNSELECT IDLE ID UIDPLUS MOVE SPECIAL-USE X-GM-EXT-1"
ALL, TRASH, SPAM, SENT = "[Gmail]/All Mail", "[Gmail]/Trash", "[Gmail]/Spam", "[Gmail]/Sent Mail"
DRAFTS = "[Gmail]/Drafts"
_LISTED = {
    "INBOX": "",
    "Work": "",
    "Archive of old": "",
    "[Gmail]": "\\Noselect",
    ALL: "\\All",
    DRAFTS: "\\Drafts",
    "[Gmail]/Important": "\\Important",
    SENT: "\\Sent",
    SPAM: "\\Junk",
    "[Gmail]/Starred": "\\Flagged",
    TRASH: "\\Trash",
}
_SECTION = re.compile(rb"(BODY)(?:\.PEEK)?\[([^\]]*)\](?:<(\d+)\.(\d+)>)?")


class LabelledServer(ScriptedServer):
    """`labels` is what each message is under (Trash and Spam are one each), its number is its UID everywhere.

    `texts` are the octets of those that have any. `auto_expunge`: what is marked as deleted is expunged at once, as is
    Google's default. `keeps_drafts`: a MOVE out of Drafts is answered with OK and does nothing.
    """

    def __init__(self, *, capabilities: bytes = CAPABILITIES) -> None:
        listed = "".join(f'* LIST ({words}) "/" "{name}"\r\n' for name, words in _LISTED.items())
        replies: dict[bytes, Reply] = {
            b"LIST": listed.encode() + OK,
            b"SELECT": self.open,
            b"EXAMINE": self.open,
            b"UID FETCH": self.fetch,
            b"UID SEARCH": self.search,
            b"UID MOVE": self.place,
            b"UID COPY": self.place,
            b"UID STORE": self.store,
            b"UID EXPUNGE": self.expunge,
            b"APPEND": self.append,
        }
        super().__init__(replies, capabilities=capabilities)
        self.labels: dict[int, set[str]] = {1: {"INBOX", "Work"}, 2: {"INBOX"}, 3: {SENT}, 4: set()}
        self.texts: dict[int, bytes] = {}
        self.marked: set[int] = set()
        self.auto_expunge, self.keeps_drafts = True, False
        self.selected: dict[int, str] = {}

    def put(self, name: str, text: bytes) -> int:
        """A new message under one label."""
        uid = max(self.labels) + 1
        self.labels[uid], self.texts[uid] = {name}, text
        return uid

    def there(self, name: str) -> list[int]:
        """The messages in a mailbox."""
        if name == ALL:
            return [uid for uid, labels in self.labels.items() if not labels & {TRASH, SPAM}]
        return [uid for uid, labels in self.labels.items() if name in labels]

    async def open(self, talk: Talk, tag: bytes, command: bytes) -> None:
        name = _quoted(command)
        self.selected[talk.number] = name
        word = b"READ-WRITE" if command.startswith(b"SELECT") else b"READ-ONLY"
        await talk.say(
            b"* FLAGS (\\Seen \\Flagged)\r\n* %d EXISTS\r\n* 0 RECENT\r\n* OK [PERMANENTFLAGS (\\Seen \\Flagged \\*)]\r\n"
            b"* OK [UIDNEXT %d]\r\n* OK [UIDVALIDITY 1]\r\n@TAG@ OK [%b] done\r\n"
            % (len(self.there(name)), max(self.labels) + 1, word),
            tag,
        )

    async def fetch(self, talk: Talk, tag: bytes, command: bytes) -> None:
        for uid in self._asked(talk, command.split(b" ")[2]):
            await talk.say(b"* %d FETCH (UID %d FLAGS () %s)\r\n" % (uid, uid, self._items(uid, command)))
        await talk.say(OK, tag)

    def _items(self, uid: int, command: bytes) -> bytes:
        text = self.texts.get(uid, b"Message-ID: <%d@x>\r\n\r\n" % uid)
        size = len(text) if uid in self.texts else 10
        items = [b'RFC822.SIZE %d INTERNALDATE "01-Mar-2026 12:00:00 +0000"' % size, b"ENVELOPE " + _envelope(text)]
        if b"BODYSTRUCTURE" in command:
            body = text.partition(b"\r\n\r\n")[2]
            lines = body.count(b"\r\n")
            kind = b'("TEXT" "PLAIN" ("CHARSET" "utf-8") NIL NIL "%s" %d %d NIL NIL NIL NIL)'
            items.append(b"BODYSTRUCTURE " + kind % (_encoding(text), len(body), lines))
        for name, section, start, most in _SECTION.findall(command):
            octets = _section(text, section)
            place = b""
            if most:
                octets, place = octets[int(start) : int(start) + int(most)], b"<%s>" % start
            items.append(b"%s[%s]%s {%d}\r\n%s" % (name, section, place, len(octets), octets))
        return b" ".join(items)

    async def search(self, talk: Talk, tag: bytes, command: bytes) -> None:
        words = command.split(b" ")
        asked = words[words.index(b"UID", 1) + 1] if b"UID" in words[1:] else b"1:*"
        found = b"".join(b" %d" % uid for uid in self._asked(talk, asked))
        await talk.say(b"* SEARCH" + found + b"\r\n" + OK, tag)

    async def place(self, talk: Talk, tag: bytes, command: bytes) -> None:
        """COPY and MOVE. Nothing is said of where it is now when it went to All Mail: there it was already."""
        to, source = _quoted(command), self.selected[talk.number]
        uids = self._asked(talk, command.split(b" ")[2])
        moves = command.startswith(b"UID MOVE")
        if moves and source == DRAFTS and self.keeps_drafts:
            await talk.say(OK, tag)
            return
        for uid in uids:
            if to in {TRASH, SPAM}:
                self.labels[uid] = {to}
                continue
            if moves:
                self.labels[uid].discard(source)
            if to != ALL:
                self.labels[uid].add(to)
        named = b",".join(b"%d" % uid for uid in uids)
        if moves and uids and to != ALL:
            await talk.say(b"* OK [COPYUID 1 %s %s] done\r\n" % (named, named))
        await talk.say(OK, tag)

    async def store(self, talk: Talk, tag: bytes, command: bytes) -> None:
        """Marks as deleted; the other flags are of no concern here."""
        if b"\\Deleted" in command:
            uids = set(self._asked(talk, command.split(b" ")[2]))
            self.marked = self.marked | uids if b"+FLAGS" in command.upper() else self.marked - uids
            if self.auto_expunge:
                self._expunged(talk)
        await talk.say(OK, tag)

    async def expunge(self, talk: Talk, tag: bytes, _: bytes) -> None:
        self._expunged(talk)
        await talk.say(OK, tag)

    def _expunged(self, talk: Talk) -> None:
        """By Google's default: archived. Out of Trash and Spam it is for good."""
        name = self.selected[talk.number]
        for uid in self.marked & set(self.there(name)):
            if name in {TRASH, SPAM}:
                del self.labels[uid]
            else:
                self.labels[uid].discard(name)
        self.marked.clear()

    async def append(self, talk: Talk, tag: bytes, command: bytes) -> None:
        uid = self.put(_quoted(command), command.partition(b"\r\n")[2])
        await talk.say(b"@TAG@ OK [APPENDUID 1 %d] done\r\n" % uid, tag)

    def _asked(self, talk: Talk, asked: bytes) -> list[int]:
        wanted: set[int] = set()
        last = max(self.labels)
        for piece in asked.split(b","):
            low, _, high = piece.partition(b":")
            wanted |= set(range(int(low), (last if high == b"*" else int(high or low)) + 1))
        return [uid for uid in self.there(self.selected[talk.number]) if uid in wanted]


def _quoted(command: bytes) -> str:
    return command.split(b'"')[1].decode() if b'"' in command else command.split(b" ")[-1].decode()


def _section(text: bytes, section: bytes) -> bytes:
    head, _, body = text.partition(b"\r\n\r\n")
    if not section:
        return text
    return head + b"\r\n\r\n" if section.startswith(b"HEADER") else body


def _encoding(text: bytes) -> bytes:
    return str(message_from_bytes(text)["Content-Transfer-Encoding"] or "7bit").encode()


def _envelope(text: bytes) -> bytes:
    """RFC 9051 §7.5.2, as far as plain addresses go."""
    head = message_from_bytes(text)

    def string(name: str) -> bytes:
        return b'"%s"' % str(head[name]).encode() if head[name] else b"NIL"

    def people(name: str) -> bytes:
        if not head[name]:
            return b"NIL"
        local, _, domain = str(head[name]).rpartition("<")[2].strip("<>").partition("@")
        return b'((NIL NIL "%s" "%s"))' % (local.encode(), domain.encode())

    sender = people("From")
    fields = [string("Date"), string("Subject"), sender, sender, sender, people("To"), people("Cc"), people("Bcc")]
    return b"(" + b" ".join([*fields, string("In-Reply-To"), string("Message-ID")]) + b")"

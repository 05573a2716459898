"""A mail server whose mailboxes are labels, as Google documents Gmail's IMAP: COPY adds one, MOVE changes one for another,
Trash and Spam take all of them off, All Mail has every message that is in neither, an expunge takes a label off."""

from __future__ import annotations

from tests.unit.imap.scripted import OK, Reply, ScriptedServer, Talk

CAPABILITIES = b"IMAP4rev1 UNSELECT IDLE ID UIDPLUS MOVE SPECIAL-USE X-GM-EXT-1"
ALL, TRASH, SPAM, SENT = "[Gmail]/All Mail", "[Gmail]/Trash", "[Gmail]/Spam", "[Gmail]/Sent Mail"
_LISTED = {
    "INBOX": "",
    "Work": "",
    "Archive of old": "",
    "[Gmail]": "\\Noselect",
    ALL: "\\All",
    "[Gmail]/Drafts": "\\Drafts",
    "[Gmail]/Important": "\\Important",
    SENT: "\\Sent",
    SPAM: "\\Junk",
    "[Gmail]/Starred": "\\Flagged",
    TRASH: "\\Trash",
}


class LabelledServer(ScriptedServer):
    """`labels` is what each message is under (Trash and Spam are one each), its number is its UID everywhere."""

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
        }
        super().__init__(replies, capabilities=capabilities)
        self.labels: dict[int, set[str]] = {1: {"INBOX", "Work"}, 2: {"INBOX"}, 3: {SENT}, 4: set()}
        self.selected: dict[int, str] = {}

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
            b"* OK [UIDNEXT 9]\r\n* OK [UIDVALIDITY 1]\r\n@TAG@ OK [%b] done\r\n" % (len(self.there(name)), word),
            tag,
        )

    async def fetch(self, talk: Talk, tag: bytes, command: bytes) -> None:
        for uid in self._asked(talk, command.split(b" ")[2]):
            items = b'RFC822.SIZE 10 INTERNALDATE "01-Mar-2026 12:00:00 +0000"'
            envelope = b'ENVELOPE (NIL NIL NIL NIL NIL NIL NIL NIL NIL "<%d@x>")' % uid
            await talk.say(b"* %d FETCH (UID %d FLAGS () %s %s)\r\n" % (uid, uid, items, envelope))
        await talk.say(OK, tag)

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

    def _asked(self, talk: Talk, asked: bytes) -> list[int]:
        wanted: set[int] = set()
        for piece in asked.split(b","):
            low, _, high = piece.partition(b":")
            wanted |= set(range(int(low), (9 if high == b"*" else int(high or low)) + 1))
        return [uid for uid in self.there(self.selected[talk.number]) if uid in wanted]


def _quoted(command: bytes) -> str:
    return command.split(b'"')[1].decode() if b'"' in command else command.split(b" ")[-1].decode()

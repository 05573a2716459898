"""Effect: what can happen to the owner's mail. The unit of policy; an IMAP verb never is."""

from __future__ import annotations

from enum import StrEnum


class Effect(StrEnum):
    """Each effect is one row of the policy table. `meaning` is what the owner would say happened."""

    LIST = "list"
    READ = "read"
    ORGANIZE = "organize"
    DRAFT = "draft"
    SEND = "send"
    DESTROY = "destroy"
    DELETE_FOLDER = "delete_folder"
    DELETE_LABEL = "delete_label"
    INGEST = "ingest"
    FETCH = "fetch"
    EXPORT = "export"
    IMPORT = "import"
    AUTOMATE = "automate"
    ADMINISTER = "administer"

    @property
    def meaning(self) -> str:
        """The effect in the owner's words."""
        return _MEANINGS[self]


_MEANINGS = {
    Effect.LIST: "saw who wrote what about (envelopes, names, counts)",
    Effect.READ: "saw content (bodies, headers, attachments)",
    Effect.ORGANIZE: "changed flags, places or labels, or made or renamed a mailbox",
    Effect.DRAFT: "wrote, changed or discarded a draft",
    Effect.SEND: "sent mail",
    Effect.DESTROY: "destroyed mail for good",
    Effect.DELETE_FOLDER: "deleted a folder",
    Effect.DELETE_LABEL: "deleted a label",
    Effect.INGEST: "took in a local file",
    Effect.FETCH: "fetched a file from an internet address",
    Effect.EXPORT: "wrote mail or an attachment into a file or another account",
    Effect.IMPORT: "made mail out of files or of another account's mail",
    Effect.AUTOMATE: "arranged something that happens later without being asked again",
    Effect.ADMINISTER: "changed the rules themselves",
}

READING = frozenset({Effect.LIST, Effect.READ})
"""Effects that change nothing."""

CHANGING = frozenset(
    {Effect.ORGANIZE, Effect.DRAFT, Effect.DESTROY, Effect.DELETE_FOLDER, Effect.DELETE_LABEL, Effect.IMPORT}
)
"""Effects that change what is in an account: one writer at a time."""

REACHING = frozenset({Effect.SEND, Effect.FETCH})
"""Effects that others notice: what they have once heard cannot be unsaid."""

DESTRUCTIVE = frozenset({Effect.DESTROY, Effect.DELETE_FOLDER, Effect.DELETE_LABEL})
"""Effects that cannot be taken back."""

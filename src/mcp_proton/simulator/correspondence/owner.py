"""The person whose mailbox it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """Name and address; `first` is what friends write after `Hi`."""

    name: str
    address: str

    @classmethod
    def parse(cls, text: str) -> Owner:
        """From `Name <address>` or a bare address, whose local part is then the name."""
        name, bracket, rest = text.rpartition(" <")
        address = rest.rstrip(">") if bracket else text.strip("<>")
        return cls(name.strip('"') or address.partition("@")[0].replace(".", " ").title(), address)

    @property
    def first(self) -> str:
        """The first name."""
        return self.name.split(" ")[0]

    def __str__(self) -> str:
        return f"{self.name} <{self.address}>"

"""A made-up mailbox that reads like a real person's, from a hundred messages to fifty thousand."""

from mcp_proton.simulator.correspondence.mailbox import FOLDERS, LABELS, Generated, generate

__all__ = ["FOLDERS", "LABELS", "Generated", "generate"]

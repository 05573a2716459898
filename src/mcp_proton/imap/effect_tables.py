"""Effect tables out of the packages they belong to."""

from __future__ import annotations

from importlib.resources import files

import yaml

from mcp_proton.domain.consequences import EffectTable


def load(package: str) -> EffectTable:
    """The table in `effects.yaml` of a package. Raises ValueError for a row that says nothing known."""
    return EffectTable.read(yaml.safe_load(files(package).joinpath("effects.yaml").read_text("utf-8")))

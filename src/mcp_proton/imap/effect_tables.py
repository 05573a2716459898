"""Effect tables out of the packages they belong to."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import yaml

from mcp_proton.domain.consequences import EffectTable

# What libyaml reads in milliseconds takes the loader in Python six times as long, at every start.
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


@cache
def load(package: str, file: str = "effects.yaml") -> EffectTable:
    """The table in a file of a package. Raises ValueError for a row that says nothing known."""
    text = files(package).joinpath(file).read_text("utf-8")
    return EffectTable.read(yaml.load(text, Loader=_LOADER))  # noqa: S506 - both loaders are safe ones

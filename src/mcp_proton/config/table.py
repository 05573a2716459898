"""Table: what every table of config.toml is: closed, frozen, and silent about values."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """Closed: a key that is not declared is a complaint."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

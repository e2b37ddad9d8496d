"""Decoder-only Transformers under short names, with the parameter counts that were published for them."""

from __future__ import annotations

from instances.catalogue.reading import by_name, look_up
from instances.instance import Model


def model(name: str) -> Model:
    """The model called `name`; InputError if the catalogue has none."""
    row = _row(name)
    return Model.model_validate_strings({field: row[field] for field in Model.model_fields})


def model_names() -> tuple[str, ...]:
    """Names of all models, in the order of the table."""
    return tuple(by_name("models"))


def published_parameters(name: str) -> tuple[int, str]:
    """Parameters as published for that shape, and what our count leaves out of them."""
    return int(_row(name)["published_parameters"]), _row(name)["left_out"]


def model_source(name: str) -> str:
    """Where the shape comes from."""
    return _row(name)["source"]


def _row(name: str) -> dict[str, str]:
    return look_up(by_name("models"), name, "model")

"""Decoder-only Transformers under short names, with the parameter counts that were published for them."""

from __future__ import annotations

from functools import cache

from instances.catalogue.reading import look_up, rows
from instances.instance import Model


def model(name: str) -> Model:
    """The model called `name`; InputError if the catalogue has none."""
    return look_up(_models(), name, "model")


def model_names() -> tuple[str, ...]:
    """Names of all models, in the order of the table."""
    return tuple(_models())


def published_parameters(name: str) -> tuple[int, str]:
    """Parameters as published for that shape, and what our count leaves out of them."""
    row = look_up(_rows(), name, "model")
    return int(row["published_parameters"]), row["left_out"]


def model_source(name: str) -> str:
    """Where the shape comes from."""
    return look_up(_rows(), name, "model")["source"]


@cache
def _rows() -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in rows("models")}


@cache
def _models() -> dict[str, Model]:
    return {
        name: Model(
            name=name,
            layers=int(row["layers"]),
            hidden=int(row["hidden"]),
            heads=int(row["heads"]),
            kv_heads=int(row["kv_heads"]),
            ffn=int(row["ffn"]),
            gated_ffn=row["gated_ffn"] == "true",
            vocab=int(row["vocab"]),
            sequence=int(row["sequence"]),
            tied_embeddings=row["tied_embeddings"] == "true",
        )
        for name, row in _rows().items()
    }

"""Figures to files, by their suffix."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from instances.disk import write_bytes
from instances.errors import InputError

SUFFIXES = ("png", "svg", "pdf")
UNDATED: dict[str, dict[str, str | None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def picture_suffix(path: Path) -> str:
    """The format of a picture file. InputError if it is none that can be drawn."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: a picture is a .png, .svg or .pdf file")
    return suffix


def save(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all. InputError if the file cannot be written."""
    suffix = picture_suffix(path)
    content = io.BytesIO()
    # The same figure gives the same bytes. Ids of an SVG hold its name, so that several can stand in one page.
    with warnings.catch_warnings(), rc_context({"svg.hashsalt": path.stem, "pdf.fonttype": 42}):
        # A name in a script that the font lacks is drawn as boxes; that is no reason to warn.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(content, format=suffix, dpi=150, metadata=UNDATED[suffix])
    write_bytes(path, content.getvalue())

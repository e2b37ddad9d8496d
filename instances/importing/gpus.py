"""GPUs of each site: from a table, or from what `nvidia-smi` prints at each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from instances.catalogue.gpus import GpuType, gpu_types
from instances.catalogue.reading import significant
from instances.disk import read_text
from instances.errors import InputError
from instances.importing.tables import Row, read_rows

COLUMNS = ("site", "gpu", "count", "power_w", "tflops", "memory_gib")
LISTED = re.compile(r"GPU \d+: (?P<name>.+?)(?: \(UUID: .*\))?")
MAKER = re.compile(r"\b(nvidia|tesla|geforce|quadro|graphics|device)\b", re.IGNORECASE)


@dataclass(frozen=True)
class SiteGpus:
    """`count` equal GPUs of a site, with what its owner says of them in place of the catalogue's figures."""

    site: str
    gpu: GpuType
    count: int


def read_gpus(path: Path) -> list[SiteGpus]:
    """The GPUs in a CSV file, or in a folder with a file for each site. InputError names what is wrong."""
    joined: list[SiteGpus] = []
    for entry in _of_folder(path) if path.is_dir() else _of_table(path):
        alike = next((i for i, other in enumerate(joined) if replace(other, count=entry.count) == entry), None)
        if alike is None:
            joined.append(entry)
        else:
            joined[alike] = replace(entry, count=entry.count + joined[alike].count)
    return joined


def find_gpu(name: str, where: str) -> GpuType:
    """The type of the catalogue that a name means, as `nvidia-smi` or its maker writes it.

    InputError with near names if there is none, or if there are several.
    """
    wanted = _plain(name)
    by_plain = {_plain(known): kind for known, kind in gpu_types().items()}
    if wanted in by_plain:
        return by_plain[wanted]
    near = [kind for plain, kind in by_plain.items() if wanted and (plain.startswith(wanted) or wanted in plain)]
    if len(near) == 1:
        return near[0]
    if near:
        raise InputError(f"{where}: {name!r} may be {' or '.join(kind.name for kind in near)}; name one")
    alike = difflib.get_close_matches(wanted, by_plain, 3, 0.4)
    hint = f"near names are {', '.join(by_plain[plain].name for plain in alike)}" if alike else "none is near"
    raise InputError(f"{where}: unknown GPU {name!r}; {hint}; the catalogue has {', '.join(gpu_types())}")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", MAKER.sub("", name).lower())


def _of_table(path: Path) -> Iterator[SiteGpus]:
    for row in read_rows(path, ("site", "gpu", "count")):
        unknown = [column for column in row.cells if column not in COLUMNS]
        if unknown:
            raise InputError(f"{path}: unknown column {unknown[0]!r}; known are {', '.join(COLUMNS)}")
        count = row.number("count", 1)
        if not count.is_integer() or count > 100_000:
            raise InputError(f"{row.where}: count: found {row.cells['count']}, expected a whole number up to 100,000")
        kind = _with_figures(find_gpu(row.text("gpu"), f"{row.where}: gpu"), row)
        yield SiteGpus(row.text("site"), kind, int(count))


def _with_figures(kind: GpuType, row: Row) -> GpuType:
    """The type with the figures of optional columns in place of the catalogue's."""
    if row.cells.get("power_w"):
        power = row.number("power_w", 1)
        share = kind.power_waiting / kind.power_active
        kind = replace(kind, power_active=power, power_waiting=significant(share * power))
    if row.cells.get("tflops"):
        kind = replace(kind, flops=row.number("tflops", 0.1) * 1e12)
    if row.cells.get("memory_gib"):
        kind = replace(kind, memory=row.number("memory_gib", 0.1) * 2**30)
    return kind


def _of_folder(folder: Path) -> Iterator[SiteGpus]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise InputError(f"{folder}: holds no file; put one for each site there, with what nvidia-smi prints")
    for path in files:
        yield from _of_query(path) if read_text(path).lstrip("\ufeff").startswith("name,") else _of_list(path)


def _of_list(path: Path) -> Iterator[SiteGpus]:
    """What `nvidia-smi -L` prints."""
    lines = [(n, line.strip()) for n, line in enumerate(read_text(path).lstrip("\ufeff").splitlines(), 1)]
    if not any(line for _, line in lines):
        raise InputError(f"{path}: is empty; run nvidia-smi -L > {path.name} at that site")
    for number, line in lines:
        match = LISTED.fullmatch(line)
        if match:
            yield SiteGpus(path.stem, find_gpu(match["name"], f"{path}: row {number}"), 1)
        elif line:
            raise InputError(f"{path}: row {number}: {line[:40]!r} is no line of nvidia-smi -L")


def _of_query(path: Path) -> Iterator[SiteGpus]:
    """What `nvidia-smi --query-gpu=name,memory.total,power.limit --format=csv` prints."""
    memory, power = "memory.total [mib]", "power.limit [w]"
    for row in read_rows(path, ("name", memory, power)):
        bare = {key: re.sub(r"\s*(MiB|W)$", "", value) for key, value in row.cells.items()}
        plain = Row(row.where, bare)
        kind = find_gpu(row.text("name"), f"{row.where}: name")
        kind = replace(kind, memory=plain.number(memory, 1) * 2**20)
        if bare[power] not in ("[N/A]", "[Not Supported]", "N/A"):
            watts = plain.number(power, 1)
            kind = replace(
                kind,
                power_active=min(kind.power_active, watts),
                power_waiting=min(kind.power_waiting, watts),
            )
        yield SiteGpus(path.stem, kind, 1)

"""Links between sites, from a table of pairs or from folders with what `ping` and `iperf3 -J` print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from instances.catalogue.networks import Link
from instances.disk import read_text
from instances.errors import InputError
from instances.importing.tables import BYTES_PER_S, SECONDS, column_with, read_rows

Fill = Literal["no", "other-direction", "no-link"]
PAIR = re.compile(r"(?P<sender>.+?)(?:--|__)(?P<receiver>.+)\.(?P<kind>txt|ping|json|iperf3)")
PING = re.compile(r"(?:rtt|round-trip) [^=]*= *[\d.]+/(?P<average>[\d.]+)/")


class Measured(NamedTuple):
    """One direction as measured, None where the file says that there is no link, and where it stands."""

    link: Link | None
    where: str


def read_links(path: Path) -> dict[tuple[str, str], Measured]:
    """The links in a CSV file, or in a folder with files of ping and iperf3. InputError names what is wrong."""
    return _of_folder(path) if path.is_dir() else _of_table(path)


def complete(
    links: dict[tuple[str, str], Measured], sites: Iterable[str], inside: Iterable[str], fill: Fill
) -> tuple[dict[tuple[str, str], Link | None], list[str]]:
    """The link of every ordered pair of sites and inside those of `inside`, and what was filled in, in words.

    InputError if one is missing and `fill` is `no`, or if links name a site without GPUs.
    """
    known = list(dict.fromkeys(sites))
    for pair, measured in links.items():
        strangers = [site for site in pair if site not in known]
        if strangers:
            raise InputError(f"{measured.where}: {strangers[0]!r} has no GPUs; the sites are {', '.join(known)}")
    found: dict[tuple[str, str], Link | None] = {}
    notes = []
    for pair in ((a, b) for a in known for b in known if a != b or a in set(inside)):
        if pair in links:
            found[pair] = links[pair].link
            continue
        what = f"inside {pair[0]}" if pair[0] == pair[1] else f"from {pair[0]} to {pair[1]}"
        back = links.get((pair[1], pair[0]))
        if fill == "other-direction" and back is not None:
            found[pair] = back.link
            notes.append(f"the link {what} is that of the other direction")
        elif fill == "no-link":
            found[pair] = None
            notes.append(f"there is no link {what}")
        else:
            hint = "--fill other-direction or no-link" if back else "add a row, or --fill no-link"
            raise InputError(f"links: none is given {what}; {hint}")
    return found, notes


def _of_table(path: Path) -> dict[tuple[str, str], Measured]:
    rows = read_rows(path, ("from", "to"))
    delay, seconds = column_with(rows[0], ("rtt", "ping", "latency", "one-way", "one_way"), SECONDS)
    rate, bytes_per_s = column_with(rows[0], ("bandwidth", "rate"), BYTES_PER_S)
    seconds *= 0.5 if delay.startswith(("rtt", "ping")) else 1.0
    found: dict[tuple[str, str], Measured] = {}
    for row in rows:
        pair = row.text("from"), row.text("to")
        if pair in found:
            raise InputError(f"{row.where}: the link from {pair[0]} to {pair[1]} is given twice")
        if row.cells[rate].lower() in ("none", "null", "-"):
            found[pair] = Measured(None, row.where)
            continue
        bandwidth = row.number(rate) * bytes_per_s
        if bandwidth == 0:
            raise InputError(f"{row.where}: {rate}: is 0; where there is no link, write none")
        found[pair] = Measured(Link(row.number(delay) * seconds, bandwidth), row.where)
    return found


def _of_folder(folder: Path) -> dict[tuple[str, str], Measured]:
    """Files `SENDER--RECEIVER.txt` of ping, whose round trip counts half, and `SENDER--RECEIVER.json` of iperf3 -J."""
    delays: dict[tuple[str, str], float] = {}
    rates: dict[tuple[str, str], float] = {}
    for path in sorted(folder.iterdir()):
        match = PAIR.fullmatch(path.name)
        if match is None:
            raise InputError(f"{path}: is not called SENDER--RECEIVER.txt (ping) or .json (iperf3 -J)")
        pair = match["sender"], match["receiver"]
        if match["kind"] in ("json", "iperf3"):
            rates[pair] = _iperf3(path)
        else:
            delays[pair] = _ping(path)
    if not delays and not rates:
        raise InputError(f"{folder}: holds no file")
    return dict(_joined(folder, delays, rates))


def _joined(
    folder: Path, delays: dict[tuple[str, str], float], rates: dict[tuple[str, str], float]
) -> Iterator[tuple[tuple[str, str], Measured]]:
    for pair in dict.fromkeys([*rates, *delays]):
        sender, receiver = pair
        delay = delays.get(pair, delays.get((receiver, sender)))  # a round trip is that of both directions
        if delay is None:
            raise InputError(f"{folder}: {sender}--{receiver}: has a rate and no ping, {sender}--{receiver}.txt")
        if pair in rates:
            yield pair, Measured(Link(delay, rates[pair]), f"{folder}: {sender}--{receiver}")
        elif (receiver, sender) not in rates:
            raise InputError(f"{folder}: {sender}--{receiver}: has a ping and no rate, {sender}--{receiver}.json")


def _ping(path: Path) -> float:
    """Seconds one way: half the average round trip."""
    match = PING.search(read_text(path))
    if match is None:
        raise InputError(f"{path}: has no line `rtt min/avg/max/mdev = ...`, as ping ends with")
    return float(match["average"]) / 1e3 / 2


def _iperf3(path: Path) -> float:
    """Bytes/s that the receiver got."""
    try:
        end = json.loads(read_text(path))["end"]
        bits = float(end["sum_received"]["bits_per_second"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: has no end.sum_received.bits_per_second, as iperf3 -J writes") from None
    if not 0 < bits < 1e15:
        raise InputError(f"{path}: end.sum_received.bits_per_second is {bits:g}; measure again")
    return bits / 8

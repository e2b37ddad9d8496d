"""Messages under way: each has the bandwidth of its link, or a fair part of its site's uplink where that is less.

Compiled. Import this module only from modules that are themselves imported late.
"""

from __future__ import annotations

from heapq import heappush
from typing import NamedTuple

import numpy as np

from bench.simulation.durations import Floats, Ints
from solvers.core.compiled import inner_allocating

DONE, STARTED, COMPUTED, ARRIVED = 0, 1, 2, 3
"""Kinds of events: a transfer has left its sender; its latency is over; a GPU has computed; a message is there."""
Event = tuple[float, int, int, int]
"""When, what, where and, of a transfer, at which of its changes of speed: an older one is out of date."""


class Traffic(NamedTuple):
    """The transfers of channels, one at a time on each. A channel is a link or the port of a GPU."""

    left: Floats  # [channel] bytes that are left, at the time `since`
    speed: Floats  # [channel] bytes/s now; 0 where nothing is under way
    since: Floats  # [channel]
    change: Ints  # [channel] how often its speed has changed
    own: Floats  # [channel] bytes/s of the link in use
    site: Ints  # [channel] whose uplink it uses now, -1 for none
    uplink: Floats  # [site] bytes/s


def idle_traffic(channels: int, uplink: Floats) -> Traffic:
    """Nothing under way."""
    left, speed, since, own = np.zeros((4, channels))
    return Traffic(left, speed, since, np.zeros(channels, np.int64), own, np.full(channels, -1), uplink)


@inner_allocating
def start_transfer(
    events: list[Event], traffic: Traffic, channel: int, now: float, size: float, own: float, site: int
) -> None:
    """Let a message of `size` bytes go, over a link of `own` bytes/s and the uplink of `site` (-1: none)."""
    traffic.left[channel], traffic.own[channel], traffic.since[channel] = size, own, now
    traffic.site[channel] = site
    if site < 0:
        set_speed(events, traffic, channel, now, own)
    else:
        share_uplink(events, traffic, site, now)


@inner_allocating
def end_transfer(events: list[Event], traffic: Traffic, channel: int, now: float) -> None:
    """A message has left: what shares its uplink may go faster."""
    site = traffic.site[channel]
    traffic.speed[channel], traffic.site[channel] = 0.0, -1
    traffic.change[channel] += 1
    if site >= 0:
        share_uplink(events, traffic, site, now)


@inner_allocating
def set_speed(events: list[Event], traffic: Traffic, channel: int, now: float, speed: float) -> None:
    """From now on so many bytes/s; nothing happens if that is what it was, so that no rounding adds up."""
    if traffic.speed[channel] == speed:
        return
    traffic.left[channel] -= traffic.speed[channel] * (now - traffic.since[channel])
    traffic.speed[channel], traffic.since[channel] = speed, now
    traffic.change[channel] += 1
    end = now + max(traffic.left[channel], 0.0) / speed
    heappush(events, (end, DONE, channel, traffic.change[channel]))


@inner_allocating
def share_uplink(events: list[Event], traffic: Traffic, site: int, now: float) -> None:
    """Max-min fair: an equal part each; what a slower link leaves of its part goes to the others."""
    part, before = 0.0, -1.0
    while part > before:
        before = part
        left, others = traffic.uplink[site], 0
        for channel in range(len(traffic.site)):
            if traffic.site[channel] == site:
                if traffic.own[channel] <= before:
                    left -= traffic.own[channel]
                else:
                    others += 1
        part = left / others if others else before
    for channel in range(len(traffic.site)):
        if traffic.site[channel] == site:
            set_speed(events, traffic, channel, now, min(traffic.own[channel], part))

"""Instance files with one thing changed."""

from __future__ import annotations

import copy
import json
from typing import Any

from instances.files import instance_from_json, instance_to_json
from instances.instance import Instance
from tests.cases import DATA

DROP = object()
"""Instead of a value: leave the key out."""
HAND: dict[str, Any] = json.loads((DATA / "hand-instance.json").read_text(encoding="utf-8"))
HAND_PLAN: dict[str, Any] = json.loads((DATA / "hand-plan.json").read_text(encoding="utf-8"))


def edited(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy of decoded JSON with values set (or dropped) at dotted paths such as `groups.0.flops`."""
    result = copy.deepcopy(data)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place: Any = result
        for part in parents:
            place = place[int(part) if isinstance(place, list) else part]
        if value is DROP:
            del place[last]
        else:
            place[int(last) if isinstance(place, list) else last] = value
    return result


def hand_instance(**changes: Any) -> Instance:
    """The instance worked by hand with changes; keys are dotted paths with `__` for the dot."""
    return instance_from_json(edited(HAND, {key.replace("__", "."): value for key, value in changes.items()}), "hand")


def changed(instance: Instance, changes: dict[str, Any]) -> Instance:
    """Any instance with changes, checked again."""
    return instance_from_json(edited(instance_to_json(instance), changes), instance.name)

"""What a joule counts as: itself, grams of CO2e or dollars, by the site where it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from instances.errors import InputError
from instances.instance import Instance, Matrix

Figure = Literal["energy", "carbon", "cost"]
JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True)
class Rates:
    """P_k, Q_k (K) and e_kj (K x K) in figure units per second and per byte; joules for `energy`."""

    active: tuple[float, ...]
    idle: tuple[float, ...]
    per_byte: Matrix

    @classmethod
    def of(cls, instance: Instance, figure: Figure) -> Rates:
        """The rates of one figure; InputError where a site has none (or 0) of it.

        A link's joules count at the mean of the figures of its two ends.
        """
        groups = instance.groups
        weight = [_per_joule(instance, group.region, figure) for group in groups]
        free = tuple((0.0,) * len(groups) for _ in groups)
        per_byte = instance.network.energy_per_byte or free
        return cls(
            active=tuple(group.power_active * w for group, w in zip(groups, weight, strict=True)),
            idle=tuple(group.power_idle * w for group, w in zip(groups, weight, strict=True)),
            per_byte=tuple(
                tuple(e * (weight[k] + weight[j]) / 2 for j, e in enumerate(row)) for k, row in enumerate(per_byte)
            ),
        )


def has_figure(instance: Instance, figure: Figure) -> bool:
    """Whether every group's site gives the figure, above 0."""
    return figure == "energy" or all(_site_figure(instance, group.region, figure) for group in instance.groups)


def _per_joule(instance: Instance, region: str, figure: Figure) -> float:
    if figure == "energy":
        return 1.0
    value = _site_figure(instance, region, figure)
    if not value:
        key = "price" if figure == "cost" else figure
        raise InputError(f"{instance.name}: sites.{region}.{key}: the objective {figure} needs a figure above 0")
    return value / JOULES_PER_KWH


def _site_figure(instance: Instance, region: str, figure: Figure) -> float | None:
    site = (instance.sites or {}).get(region)
    if site is None:
        return None
    return site.carbon if figure == "carbon" else site.price

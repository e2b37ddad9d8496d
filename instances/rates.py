"""Energy rates in joules, grams of CO2e or dollars, weighted by the site where the energy is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from instances.errors import InputError
from instances.instance import Instance, Matrix

Metric = Literal["energy", "carbon", "cost"]
JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True)
class Rates:
    """P_k, Q_k (K) and e_kj (K x K) per second and per byte, in J, gCO2e or USD."""

    active: tuple[float, ...]
    idle: tuple[float, ...]
    per_byte: Matrix

    @classmethod
    def of(cls, instance: Instance, metric: Metric) -> Rates:
        """The rates of one metric; InputError where a site lacks it.

        A link's joules are weighted by the mean of its two ends.
        """
        groups = instance.groups
        weight = [_per_joule(instance, group.region, metric) for group in groups]
        per_byte = instance.network.energy_per_byte or ((0.0,) * len(groups),) * len(groups)
        if metric != "energy" and instance.network.energy_per_byte:
            per_byte = tuple(
                tuple(e * (weight[k] + weight[j]) / 2 for j, e in enumerate(row)) for k, row in enumerate(per_byte)
            )
        return cls(
            active=tuple(group.power_active * w for group, w in zip(groups, weight, strict=True)),
            idle=tuple(group.power_idle * w for group, w in zip(groups, weight, strict=True)),
            per_byte=per_byte,
        )


def has_metric(instance: Instance, metric: Metric) -> bool:
    """Whether every group's site gives the metric; 0 is a figure."""
    return metric == "energy" or all(
        _site_rate(instance, group.region, metric) is not None for group in instance.groups
    )


def check_metric(instance: Instance, metric: Metric) -> None:
    """InputError if an objective cannot be measured: a site lacks the metric, or it is 0 at every site."""
    rates = [_per_joule(instance, group.region, metric) for group in instance.groups]
    if not any(rates):
        raise InputError(f"{instance.name}: sites: the objective {metric} would be 0 for every plan")


def _per_joule(instance: Instance, region: str, metric: Metric) -> float:
    if metric == "energy":
        return 1.0
    value = _site_rate(instance, region, metric)
    if value is None:
        key = "price" if metric == "cost" else metric
        raise InputError(f"{instance.name}: sites.{region}.{key}: missing; the objective {metric} needs it")
    return value / JOULES_PER_KWH


def _site_rate(instance: Instance, region: str, metric: Metric) -> float | None:
    site = (instance.sites or {}).get(region)
    if site is None:
        return None
    return site.carbon if metric == "carbon" else site.price

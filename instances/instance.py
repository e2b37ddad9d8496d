"""An instance: model, training, GPU groups, network and sites. Every `Instance` object is valid.

Field names are the keys of the instance file (`instances.files` reads and writes it) and carry the
units of the file: FLOP/s, bytes, W, s, bytes/s, J/byte. Every limit is checked here and only here.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCHEMA = "geotrain-bench/instance/1"
COST_MODEL_VERSION = 1
"""Rises whenever a value of the cost model changes; results of different versions are never combined."""

# The outer limits keep every sum and product of the cost model far from overflow and underflow.
Positive = Annotated[float, Field(ge=1e-30, le=1e30)]
NonNegative = Annotated[float, Field(ge=0, le=1e30), AfterValidator(lambda value: value + 0.0)]  # -0.0 is 0.0
ZeroOrPositive = Annotated[NonNegative, AfterValidator(lambda value: _no_underflow(value))]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Name = Annotated[str, StringConstraints(pattern=r"^[^/\x00-\x1f\x7f]+$", max_length=200)]
Label = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=200)]
MicroBatchKey = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,8}$")]
T = TypeVar("T")
Matrix = tuple[tuple[float, ...], ...]


def _no_underflow(value: float) -> float:
    _require(value == 0 or value >= 1e-30, f"found {value!r}, expected 0 or at least 1e-30")
    return value


class FileModel(BaseModel):
    """What all data read from files have in common: no unknown keys, no guessed types, no NaN, never changed."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's, but what was cached for the original is not carried over: the copy computes its own."""
        copy = super().model_copy(update=update, deep=deep)
        for name in copy.__dict__.keys() - type(self).model_fields.keys():
            del copy.__dict__[name]
        return copy


class Model(FileModel):
    """A decoder-only Transformer (symbols L, h, H, H_kv, m, V, q of docs/model.md, in file order)."""

    name: Label
    layers: Annotated[int, Field(ge=1, le=10_000)]
    hidden: Count
    heads: Count
    kv_heads: Count
    ffn: Count
    gated_ffn: bool
    vocab: Count
    sequence: Count
    tied_embeddings: bool

    @model_validator(mode="after")
    def _check(self) -> Self:
        _require(self.heads % self.kv_heads == 0, f"kv_heads: {self.kv_heads} does not divide heads, {self.heads}")
        return self


class Training(FileModel):
    """How the model is trained (B, the choices of mb, recompute mode, bytes per parameter)."""

    global_batch: Count
    micro_batches: Annotated[tuple[Count, ...], Field(min_length=1)]
    schedule: Literal["gpipe"]
    recompute: Literal["none", "selective", "full"]
    state_bytes_per_parameter: Positive
    gradient_bytes: Positive

    @model_validator(mode="after")
    def _check(self) -> Self:
        twice = repeated(self.micro_batches)
        _require(not twice, f"micro_batches: {', '.join(map(str, twice))} is repeated")
        return self


class Profile(FileModel):
    """Measured seconds by micro-batch size: per block, and for the head (X, Y, X', Y')."""

    forward: dict[MicroBatchKey, Positive]
    backward: dict[MicroBatchKey, Positive]
    head_forward: dict[MicroBatchKey, NonNegative]
    head_backward: dict[MicroBatchKey, NonNegative]


class Group(FileModel):
    """GPUs that are interchangeable: F_k, C_k, P_k, Q_k and optionally u_k or a measured profile."""

    name: Name
    gpu: Label
    region: Label
    count: Annotated[int, Field(ge=1, le=100_000)]
    flops: Positive
    memory: Positive
    power_active: Positive
    power_idle: Positive
    half_batch: NonNegative | None = None
    profile: Profile | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        _require(
            self.power_idle <= self.power_active,
            f"power_idle: {self.power_idle:g} W is above power_active, {self.power_active:g} W",
        )
        _require(
            self.profile is None or self.half_batch is None,
            "half_batch: a measured profile excludes it; give one of the two",
        )
        return self


class Network(FileModel):
    """Directed links between groups, K x K; rows send (a_kj, b_kj, e_kj). A bandwidth of None: there is no link."""

    latency: tuple[tuple[NonNegative | None, ...], ...]
    bandwidth: tuple[tuple[Positive | None, ...], ...]
    energy_per_byte: tuple[tuple[NonNegative, ...], ...] | None = None


class Links(NamedTuple):
    """What the network gives to computations, K x K.

    A missing link has the figures of the slowest link there is, so that no sum or product meets an infinity, whose
    product with 0 is not a number; `linked` alone, which is symmetric, says which pairs a plan may use.
    """

    latency: Matrix
    bandwidth: Matrix
    linked: tuple[tuple[bool, ...], ...]

    @classmethod
    def of(cls, network: Network) -> Links:
        """The links of a network. Hops and exchanges use both directions, so a pair is linked only if both are."""
        rows, size = network.bandwidth, range(len(network.bandwidth))
        longest = max((a for row in network.latency for a in row if a is not None), default=0.0)
        least = min((b for row in rows for b in row if b is not None), default=1.0)
        return cls(
            latency=tuple(
                tuple(longest if a is None or rows[k][j] is None else a for j, a in enumerate(row))
                for k, row in enumerate(network.latency)
            ),
            bandwidth=tuple(tuple(least if b is None else b for b in row) for row in rows),
            linked=tuple(tuple(rows[k][j] is not None and rows[j][k] is not None for j in size) for k in size),
        )


@dataclass(frozen=True, eq=False)  # what is cached is compared when instances are, and arrays have no truth value
class LinkArrays:
    """Latency and bandwidth of `Links` as arrays, K x K."""

    latency: NDArray[np.float64]
    bandwidth: NDArray[np.float64]


class Site(FileModel):
    """What a place adds: power cap (W), carbon intensity (gCO2e/kWh) and price (USD/kWh)."""

    power_cap: Positive | None = None
    carbon: ZeroOrPositive | None = None
    price: ZeroOrPositive | None = None


class Instance(FileModel):
    """One planning problem. Equal content gives an equal `content_hash`, whatever the file looks like."""

    schema_: Literal["geotrain-bench/instance/1"] = Field(alias="schema")
    name: Name
    model: Model
    training: Training
    groups: Annotated[tuple[Group, ...], Field(min_length=1, max_length=10_000)]
    network: Network
    sites: dict[Label, Site] | None = None
    provenance: dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        twice = repeated(group.name for group in self.groups)
        _require(not twice, f"groups: the name {', '.join(twice)} is used twice")
        for field, matrix in self.network:
            if matrix is not None:
                _check_square(f"network.{field}", matrix, len(self.groups))
        _check_latencies(self.network)
        for group in self.groups:
            if group.profile is not None:
                _check_profile(group.name, group.profile, self.training.micro_batches)
        regions = {group.region for group in self.groups}
        empty = [region for region in self.sites or {} if region not in regions]
        _require(not empty, f"sites: no group is in {', '.join(empty)}")
        return self

    @cached_property
    def links(self) -> Links:
        """The network with finite figures for missing links, and which pairs of groups are linked."""
        return Links.of(self.network)

    @cached_property
    def link_arrays(self) -> LinkArrays:
        """Latency and bandwidth of `links`."""
        import numpy as np

        return LinkArrays(np.array(self.links.latency), np.array(self.links.bandwidth))

    @cached_property
    def gpus(self) -> int:
        """Number of GPUs, n."""
        return sum(group.count for group in self.groups)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of all that can change an answer: everything but the instance's name and provenance."""
        content = self.model_dump(mode="json", by_alias=True, exclude={"name", "provenance"}, exclude_none=True)
        # What says nothing is left out: sites without figures, links that take no energy, the latency of no link.
        content["sites"] = {region: site for region, site in content.get("sites", {}).items() if site}
        if not content["sites"]:
            del content["sites"]
        content["training"]["micro_batches"].sort()
        network = content["network"]
        if not any(map(any, network.get("energy_per_byte", ()))):
            network.pop("energy_per_byte", None)
        for latencies, bandwidths in zip(network["latency"], network["bandwidth"], strict=True):
            latencies[:] = [a if b is not None else None for a, b in zip(latencies, bandwidths, strict=True)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def group_index(self, name: str) -> int:
        """Position of the group called `name`; KeyError if there is none."""
        return self._positions[name]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {group.name: position for position, group in enumerate(self.groups)}


def _require(fine: bool, message: str) -> None:
    if not fine:
        raise ValueError(message)


def repeated(values: Iterable[T]) -> list[T]:
    """The values that come more than once."""
    return [value for value, times in Counter(values).items() if times > 1]


def _check_latencies(network: Network) -> None:
    for k, row in enumerate(network.latency):
        for j, latency in enumerate(row if None in row else ()):
            missing = latency is None and network.bandwidth[k][j] is not None
            _require(not missing, f"network.latency[{k}][{j}]: is null, but there is a bandwidth")


def _check_square(field: str, matrix: Sequence[Sequence[float | None]], size: int) -> None:
    _require(len(matrix) == size, f"{field}: {len(matrix)} rows for {size} groups")
    for number, row in enumerate(matrix):
        _require(len(row) == size, f"{field}: row {number} has {len(row)} entries for {size} groups")


def _check_profile(group: str, profile: Profile, micro_batches: tuple[int, ...]) -> None:
    for field, seconds in profile:
        missing = [str(size) for size in micro_batches if str(size) not in seconds]
        _require(
            not missing,
            f"groups: the profile of {group} has no {field} time for micro-batch {', '.join(missing)}",
        )

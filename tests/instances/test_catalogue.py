"""The catalogue: every figure with a source, units converted once, counts as published."""

from __future__ import annotations

from pathlib import Path

import pytest

import instances.catalogue
from instances.catalogue.gpus import block_overhead_s, block_times, gpu_type, gpu_types, profiled_models
from instances.catalogue.models import model, model_names, published_parameters
from instances.catalogue.networks import INSIDE, campaign, lines
from instances.catalogue.reading import rows
from instances.catalogue.regions import offers, region, region_names
from instances.errors import InputError
from instances.instance import Training
from instances.workload import Workload

TABLES = sorted(path.stem for path in Path(instances.catalogue.__path__[0]).glob("*.csv"))
CAMPAIGNS = [row["name"] for row in rows("campaigns")]
ANY_TRAINING = Training(
    global_batch=1,
    micro_batches=(1,),
    schedule="gpipe",
    recompute="none",
    state_bytes_per_parameter=16.0,
    gradient_bytes=2.0,
)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_names_its_source(table: str) -> None:
    assert rows(table)
    assert all(row["source"] for row in rows(table))
    # More cells than columns would hide behind a key of None.
    assert all(None not in row for row in rows(table))


@pytest.mark.parametrize("name", model_names())
def test_parameters_are_those_published(name: str) -> None:
    """Within 2 %; what our count leaves out is named."""
    shape, (published, left_out) = model(name), published_parameters(name)
    counted = Workload.of(shape, ANY_TRAINING).stage_parameters(shape.layers, first=True, last=True)
    assert counted == pytest.approx(published, rel=0.02)
    assert counted < published
    assert left_out


def test_achievable_flops_are_peak_times_efficiency() -> None:
    """V100: 125 TFLOPS x 0.39 = 48.75; 16,160 MiB; waits at 53 W."""
    v100 = gpu_type("V100-SXM2-16GB")
    assert (v100.flops, v100.memory) == (48.75e12, 16160 * 2**20)
    assert (v100.power_active, v100.power_waiting) == (300.0, 53.0)


def test_waiting_power_is_the_measured_one_where_it_is_known() -> None:
    for name, watts in (("A100-PCIe-80GB", 83.64), ("A40", 70.38)):
        assert gpu_type(name).power_waiting == watts
        assert gpu_type(name).basis["power_waiting"] == "measured, blocked"


@pytest.mark.parametrize("name", gpu_types())
def test_every_figure_of_a_gpu_says_what_it_rests_on(name: str) -> None:
    basis = gpu_type(name).basis
    assert basis["efficiency"] in ("end to end", "layer kernels", "assumed")
    assert basis["block_overhead"] in ("fitted", "assumed")
    known = ("measured, blocked", "measured, loaded", "idle plus context", "share of TDP")
    assert basis["power_waiting"] in known


def points(gpu: str) -> dict[str, list[tuple[int, float]]]:
    """Micro-batch and seconds forward and backward, by model."""
    return {
        name: [(size, sum(time)) for size, time in block_times(name, gpu).items()]
        for name, measured_on in profiled_models().items()
        if gpu in measured_on
    }


def test_block_overheads_are_the_fit_of_the_measured_layer_times() -> None:
    """To the hundredth of a millisecond that the table carries."""
    fitted = [row for row in rows("gpus") if row["block_overhead_source"] == "layer_times.csv, fp16"]
    assert len(fitted) == 6
    for row in fitted:
        assert block_overhead_s(points(row["name"])) == pytest.approx(float(row["block_overhead_ms"]) / 1e3, abs=0.5e-5)


def test_fit_finds_the_overhead_of_exact_times_and_never_a_negative_one() -> None:
    """Times 2 + 3 x and 2 + 5 x share the overhead 2; times -1 + 3 x would need a negative one."""
    exact = {"a": [(x, 2.0 + 3 * x) for x in (1, 2, 4)], "b": [(x, 2.0 + 5 * x) for x in (1, 8)]}
    assert block_overhead_s(exact) == pytest.approx(2.0)
    assert block_overhead_s({"a": [(x, -1.0 + 3 * x) for x in (1, 2, 4)]}) == 0.0


def test_overhead_becomes_the_sequences_that_take_as_long() -> None:
    """GPT-3 1.3B, A100-40: 1.81 ms x 159.12 TFLOPS / (3 x 0.2405 TFLOP) = 0.399 sequences, to two digits."""
    flops = Workload.of(model("gpt3-1.3b"), ANY_TRAINING).block_forward_flops
    assert gpu_type("A100-SXM4-40GB").group("name", "region", 1, flops).half_batch == 0.40


def test_round_trips_count_half_each_way_but_for_the_emulated_delays() -> None:
    """Oregon to Tokyo: DT-FM's 96 ms and 0.523 Gbit/s = 65.375 MB/s."""
    halved, applied = (campaign(name).link("Oregon", "Tokyo") for name in ("aws-dtfm", "dtfm-worldwide"))
    assert tuple(halved) == pytest.approx((0.048, 65.375e6))
    assert tuple(applied) == pytest.approx((0.096, 65.375e6))


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_campaign_links_all_its_places_in_both_directions(name: str) -> None:
    found = campaign(name)
    for sender in found.places:
        for receiver in found.places:
            assert found.link(sender, receiver).bandwidth > 0
    assert found.tcp_streams


def test_directions_are_kept_apart() -> None:
    """The run on FluidStack got 1.17 Gbit/s out of its western region and 0.15 into it."""
    network = campaign("fluidstack")
    assert network.link("US West", "US East").bandwidth == pytest.approx(1.17e9 / 8)
    assert network.link("US East", "US West").bandwidth == pytest.approx(0.15e9 / 8)


def test_a_link_that_nobody_measured_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match="aws-dtfm: no link from Oregon to Atlantis"):
        campaign("aws-dtfm").link("Oregon", "Atlantis")


def test_carbon_is_on_one_basis_and_prices_on_stated_ones() -> None:
    assert len({region(name).carbon_source for name in region_names()}) == 1
    assert all(region(name).price.keys() == region(name).price_source.keys() for name in region_names())
    assert region("Montreal").carbon == 30.51


def test_offers_name_gpus_and_regions_that_exist() -> None:
    for cloud, network in (("aws", "aws-64-streams"), ("gcp", "gcp-1-stream")):
        assert {offer.gpu for offer in offers(cloud)} <= set(gpu_types())
        assert {offer.region for offer in offers(cloud)} <= set(campaign(network).places)


def test_lines_are_thinner_up_than_down_and_shares_add_up() -> None:
    """VDSL: 100 Mbit/s down = 12.5 MB/s, 40 up = 5 MB/s."""
    assert (lines()["vdsl"].down, lines()["vdsl"].up) == (12.5e6, 5e6)
    assert all(line.up <= line.down for line in lines().values())
    assert sum(line.share for line in lines().values()) == pytest.approx(1)


def test_unknown_names_are_refused_with_the_names_there_are() -> None:
    for look_up, name in ((gpu_type, "GPU type"), (model, "model"), (campaign, "network"), (region, "region")):
        with pytest.raises(InputError, match=f"unknown {name} 'no such'; the catalogue has "):
            look_up("no such")


def test_inside_links_are_never_slower_than_links_between_places() -> None:
    for name in CAMPAIGNS:
        found = campaign(name)
        if (INSIDE, INSIDE) in found.links:
            inside = found.links[INSIDE, INSIDE].bandwidth
            assert inside >= max(link.bandwidth for link in found.links.values())


@pytest.mark.parametrize(
    ("gpu", "gpus", "layers", "seconds_1024", "seconds_4096"),
    [
        ("V100-SXM2-16GB", 64, 24, 10.14, 33.05),
        ("V100-SXM2-16GB", 64, 40, 16.68, 53.80),
        ("A40", 32, 24, 28.9, 79.0),
    ],
)
def test_end_to_end_speeds_are_the_slope_of_measured_iterations(
    gpu: str, gpus: int, layers: int, seconds_1024: float, seconds_4096: float
) -> None:
    """DT-FM's logs, hidden 2048, sequence 2048, full recompute: 4 x 0.2405 TFLOP a block and sequence.

    What does not grow with the batch (filling the pipeline, gradient exchange) drops out of the slope:
    24 x 0.9621 TFLOP x 3072 / (64 x 22.91 s) = 48.4 TFLOPS on a V100.
    """
    block = 4 * Workload.of(model("gpt3-1.3b"), ANY_TRAINING).block_forward_flops
    measured = layers * block * (4096 - 1024) / (gpus * (seconds_4096 - seconds_1024))
    assert gpu_type(gpu).flops == pytest.approx(measured, rel=0.025)

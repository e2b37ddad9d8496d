"""Importing one's own pool: shapes of known models, units, near names, and one line for whatever is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from instances.catalogue.gpus import gpu_type
from instances.errors import InputError
from instances.files import instance_from_json
from instances.importing.gpus import find_gpu, read_gpus
from instances.importing.links import read_links
from instances.importing.models import model_of_config, parameters, read_model
from instances.importing.pool import import_pool
from instances.instance import Instance
from tests.cases import DATA

# Published hyperparameters and parameter counts of the models' papers and cards.
CONFIGS = json.loads((DATA / "configurations.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_has_the_parameters_of_the_model_card(name: str) -> None:
    counted = parameters(model_of_config(CONFIGS[name]["config"], name))
    assert counted == pytest.approx(CONFIGS[name]["published_parameters"], rel=0.01)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_local_experts": 8}, "num_local_experts: a mixture of 8 experts"),
        ({"head_dim": 256}, "head_dim: 32 heads of 256 are 8192 wide, hidden_size is 4096"),
        ({"num_local_experts": "8"}, "num_local_experts: a mixture of 8 experts"),
        ({"head_dim": "128"}, "head_dim: found '128', expected a whole number"),
        ({"model_type": "t5"}, "model_type 't5': unknown; known are llama"),
        ({"hidden_size": None}, "hidden"),
        ({"num_key_value_heads": 7}, "kv_heads: 7 does not divide heads"),
        ({"word_embed_proj_dim": 512}, "word_embed_proj_dim: 512 is not hidden_size"),
        ({"is_encoder_decoder": True}, "decoders only"),
    ],
)
def test_a_model_that_cannot_be_stated_is_refused_with_the_reason(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        model_of_config({**CONFIGS["llama-3-8b"]["config"], **change}, "config.json")
    assert words in str(caught.value)
    assert str(caught.value).startswith("config.json: ")


def test_a_missing_field_of_a_configuration_is_named() -> None:
    config = dict(CONFIGS["llama-3-8b"]["config"])
    del config["intermediate_size"]
    with pytest.raises(InputError, match=r"config.json: intermediate_size: is missing"):
        model_of_config(config, "config.json")
    with pytest.raises(InputError, match=r"no config\.json of a model"):
        model_of_config([], "config.json")


def test_models_have_names_and_lengths(tmp_path: Path) -> None:
    assert read_model("gpt2-medium").layers == 24
    assert read_model("gpt2-medium", 512).sequence == 512
    with pytest.raises(InputError, match="is no file, and the catalogue has"):
        read_model("gpt-5")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("Tesla V100-SXM2-16GB", "V100-SXM2-16GB"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("Tesla T4", "T4"),
        ("NVIDIA A40", "A40"),
        ("rtx a6000", "RTX A6000"),
        ("H100", "H100-SXM5-80GB"),
    ],
)
def test_gpus_are_known_by_the_names_that_tools_print(name: str, known: str) -> None:
    assert find_gpu(name, "x") == gpu_type(known)


BLOCK_FLOPS = 365_072_220_160
"""Forward, of gpt3-2.7b: 2 q p + 4 q^2 h with h = 2560, q = 2048 and p = 4 h^2 + 2 h 4h, worked out by hand."""
GPUS = "site,gpu,count\nhamburg,A40,4\nlyon,V100-SXM2-32GB,2\nlyon,RTX 3090,1\n"
LINKS = (
    "from,to,rtt [ms],bandwidth [Gbit/s]\nhamburg,hamburg,0.2,25\nlyon,lyon,0.2,10\n"
    "hamburg,lyon,24,1.9\nlyon,hamburg,24,2.4\n"
)


def imported(folder: Path, gpus: str = GPUS, links: str = LINKS, **more: Any) -> Instance:
    (folder / "gpus.csv").write_bytes(gpus.encode())
    (folder / "links.csv").write_bytes(links.encode())
    arguments = {"batch": 64, "micro_batches": (1, 2), "recompute": "full", "name": "pool", **more}
    return import_pool(folder / "gpus.csv", folder / "links.csv", "gpt3-2.7b", **arguments).instance


def test_the_imported_instance_equals_the_one_written_by_hand(tmp_path: Path) -> None:
    made = imported(tmp_path, reserve=2**30)
    a40, v100, rtx = (gpu_type(name) for name in ("A40", "V100-SXM2-32GB", "RTX 3090"))
    seconds = {("h", "h"): 1e-4, ("l", "l"): 1e-4, ("h", "l"): 0.012, ("l", "h"): 0.012}
    rates = {("h", "h"): 3.125e9, ("l", "l"): 1.25e9, ("h", "l"): 0.2375e9, ("l", "h"): 0.3e9}
    sites = "hll"
    by_hand = {
        "schema": "geotrain-bench/instance/1",
        "name": "by hand",
        "model": read_model("gpt3-2.7b").model_dump(),
        "training": {
            "global_batch": 64,
            "micro_batches": [1, 2],
            "schedule": "gpipe",
            "recompute": "full",
            "state_bytes_per_parameter": 16.0,
            "gradient_bytes": 2.0,
        },
        "groups": [
            {
                "name": name,
                "gpu": kind.name,
                "region": region,
                "count": count,
                "flops": kind.flops,
                "memory": kind.memory - 1073741824,
                "power_active": kind.power_active,
                "power_idle": kind.power_waiting,
                "half_batch": float(f"{overhead_s * kind.flops / (3 * BLOCK_FLOPS):.2g}"),
            }
            for name, kind, region, count, overhead_s in (
                ("hamburg-a40", a40, "hamburg", 4, 1.32e-3),
                ("lyon-v100-sxm2-32gb", v100, "lyon", 2, 1.01e-3),
                ("lyon-rtx-3090", rtx, "lyon", 1, 1.51e-3),
            )
        ],
        "network": {
            "latency": [[seconds[a, b] for b in sites] for a in sites],
            "bandwidth": [[rates[a, b] for b in sites] for a in sites],
        },
    }
    assert made.content_hash == instance_from_json(by_hand, "by hand").content_hash


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("rtt [ms],bandwidth [Gbit/s]", "24,1.9"),
        ("latency (ms),rate (Mbit/s)", "12,1900"),
        ("one-way [s],bandwidth [MB/s]", "0.012,237.5"),
        ("ping_ms,bandwidth_gbps", "24,1.9"),
        ("rtt [us],bandwidth [GB/s]", "24000,0.2375"),
    ],
)
def test_units_stand_in_the_header(tmp_path: Path, header: str, row: str) -> None:
    (tmp_path / "links.csv").write_text(f"from,to,{header}\na,b,{row}\n")
    link = read_links(tmp_path / "links.csv")["a", "b"].link
    assert link is not None
    assert link.latency == pytest.approx(0.012, rel=1e-12)
    assert link.bandwidth == pytest.approx(0.2375e9, rel=1e-12)


@pytest.mark.parametrize("edit", ["\ufeff{}", "{}\r", "# a comment\n{}", "\n\n{}\n\n"])
def test_harmless_differences_of_files_change_nothing(tmp_path: Path, edit: str) -> None:
    plain = imported(tmp_path)
    gpus, links = (edit.format(text.replace("\n", "\r\n") if "\r" in edit else text) for text in (GPUS, LINKS))
    assert imported(tmp_path, gpus, links).content_hash == plain.content_hash
    semicolons = LINKS.replace(",", ";")
    assert imported(tmp_path, GPUS, semicolons).content_hash == plain.content_hash


WRONG: list[tuple[str, str, str]] = [
    ("", LINKS, "gpus.csv: is empty; the first line names its columns: site, gpu, count"),
    ("site,gpu,count\n", LINKS, "gpus.csv: has a header and no rows"),
    ("site,gpu\na,A40\n", LINKS, "gpus.csv: row 1: has no column 'count'"),
    (GPUS.replace("A40", "A41"), LINKS, "gpus.csv: row 2: gpu: unknown GPU 'A41'; near names are"),
    (GPUS.replace("A40", "A100"), LINKS, "'A100' may be A100-SXM4-40GB or"),
    (GPUS.replace("A40,4", "A40,0"), LINKS, "gpus.csv: row 2: count: found '0', expected a number of 1 or more"),
    (GPUS.replace("A40,4", "A40,2.5"), LINKS, "gpus.csv: row 2: count: found 2.5, expected a whole number"),
    (GPUS.replace("A40,4", "A40,"), LINKS, "gpus.csv: row 2: count: is empty"),
    (GPUS.replace("A40,4", "A40,4,5"), LINKS, "gpus.csv: row 2: has 4 cells, the header has 3"),
    (
        GPUS.replace("count\n", "count,gpu\n").replace("\nhamburg,A40,4", "\nhamburg,A40,4,T4"),
        LINKS,
        "two columns 'gpu'",
    ),
    ("site,gpu,count,efficiency\na,A40,1,0.4\n", LINKS, "unknown column 'efficiency'; known are site, gpu, count"),
    (GPUS, "", "links.csv: is empty"),
    (GPUS, LINKS.replace("rtt [ms]", "rtt"), "column 'rtt': has no known unit; write one of ms, s, us"),
    (GPUS, LINKS.replace("Gbit/s", "Gfurlong"), "has no known unit; write one of gbit/s"),
    (GPUS, LINKS.replace(",rtt [ms]", ",delay [ms]"), "has no column such as rtt [ms]"),
    (GPUS, LINKS.replace("lyon,24,1.9", "lyon,-24,1.9"), "links.csv: row 4: rtt [ms]: found '-24'"),
    (GPUS, LINKS.replace("lyon,24,1.9", "lyon,24,0"), "links.csv: row 4: bandwidth [gbit/s]: is 0;"),
    (GPUS, LINKS.replace("lyon,24,1.9", "lyon,24,fast"), "found 'fast', expected a number"),
    (GPUS, LINKS.replace(",", ";").replace("1.9", "1,9"), "has a decimal comma; write 1.9"),
    (GPUS, LINKS + "hamburg,lyon,1,1\n", "links.csv: row 6: the link from hamburg to lyon is given twice"),
    (GPUS, LINKS + "hamburg,oslo,1,1\n", "links.csv: row 6: 'oslo' has no GPUs; the sites are hamburg, lyon"),
    (GPUS, LINKS.replace("lyon,hamburg,24,2.4\n", ""), "none is given from lyon to hamburg; --fill other-direction"),
    (GPUS, LINKS.replace("lyon,lyon,0.2,10\n", ""), "none is given inside lyon; add a row"),
    (GPUS, LINKS.replace("lyon,24,1.9", "lyon,nan,1.9"), "found 'nan'"),
    (GPUS, LINKS.replace("bandwidth [Gbit/s]", "rtt [s]"), "has two such columns"),
]


@pytest.mark.parametrize(("gpus", "links", "words"), WRONG, ids=[words[:40] for _, _, words in WRONG])
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, gpus: str, links: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, gpus, links)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_pairs_are_filled_on_request_and_marked(tmp_path: Path) -> None:
    one_way = LINKS.replace("lyon,hamburg,24,2.4\n", "")
    made = imported(tmp_path, GPUS, one_way, fill="other-direction")
    assert made.network.bandwidth[1][0] == made.network.bandwidth[0][1]
    assert made.provenance is not None
    assert made.provenance["notes"] == ["the link from lyon to hamburg is that of the other direction"]
    none = imported(tmp_path, GPUS, one_way, fill="no-link")
    assert none.network.bandwidth[1][0] is None
    said = imported(tmp_path, GPUS, LINKS.replace("24,2.4", "-,none"))
    assert said.content_hash == none.content_hash


def test_a_gpu_alone_at_its_site_needs_no_link_inside(tmp_path: Path) -> None:
    made = imported(tmp_path, "site,gpu,count\na,A40,1\nb,A40,1\n", "from,to,rtt [s],rate [MB/s]\na,b,0,9\nb,a,0,9\n")
    assert made.network.bandwidth == ((None, 9e6), (9e6, None))


def test_equal_gpus_with_other_figures_are_groups_of_their_own(tmp_path: Path) -> None:
    made = imported(tmp_path, "site,gpu,count,power_w\nhamburg,A40,1,200\nhamburg,A40,2,250\nlyon,A40,2,200\n")
    assert [(group.name, group.power_active) for group in made.groups] == [
        ("hamburg-a40", 200),
        ("hamburg-a40-2", 250),
        ("lyon-a40", 200),
    ]


def test_memory_is_kept_back(tmp_path: Path) -> None:
    least, most = imported(tmp_path, reserve=3 * 2**30), imported(tmp_path, reserve=0)
    assert most.groups[0].memory - least.groups[0].memory == 3 * 2**30
    with pytest.raises(InputError, match="less memory than --reserve keeps back"):
        imported(tmp_path, reserve=2**40)


def test_what_nvidia_smi_prints_is_read(tmp_path: Path) -> None:
    (tmp_path / "hamburg.txt").write_text(
        "GPU 0: NVIDIA A40 (UUID: GPU-1)\nGPU 1: NVIDIA A40 (UUID: GPU-2)\nGPU 2: Tesla T4 (UUID: GPU-3)\n"
    )
    (tmp_path / "lyon.csv").write_text(
        "name, memory.total [MiB], power.limit [W]\nNVIDIA A40, 46068 MiB, 250.00 W\nNVIDIA A40, 46068 MiB, 250.00 W\n"
        "Tesla T4, 15360 MiB, [N/A]\n"
    )
    found = [(entry.site, entry.gpu.name, entry.count, entry.gpu.power_active) for entry in read_gpus(tmp_path)]
    assert found == [
        ("hamburg", "A40", 2, 300),
        ("hamburg", "T4", 1, 70),
        ("lyon", "A40", 2, 250),
        ("lyon", "T4", 1, 70),
    ]
    (tmp_path / "oslo.txt").write_text("command not found\n")
    with pytest.raises(InputError, match=r"oslo.txt: row 1: 'command not found' is no line of nvidia-smi -L"):
        read_gpus(tmp_path)


def test_what_ping_and_iperf3_print_is_read(tmp_path: Path) -> None:
    for sender, receiver, bits in (("a", "b", 1.9e9), ("b", "a", 2.4e9)):
        report = {"end": {"sum_sent": {"bits_per_second": 1}, "sum_received": {"bits_per_second": bits}}}
        (tmp_path / f"{sender}--{receiver}.json").write_text(json.dumps(report))
    (tmp_path / "a--b.txt").write_text(
        "3 packets transmitted, 3 received\nrtt min/avg/max/mdev = 23.0/24.0/25.0/0.1 ms\n"
    )
    links = read_links(tmp_path)
    for pair, rate in ((("a", "b"), 0.2375e9), (("b", "a"), 0.3e9)):
        assert links[pair].link == pytest.approx((0.012, rate))
    (tmp_path / "a--c.txt").write_text("rtt min/avg/max/mdev = 1/2/3/0.1 ms\n")
    with pytest.raises(InputError, match="a--c: has a ping and no rate"):
        read_links(tmp_path)
    (tmp_path / "a--c.json").write_text('{"error": "unable to connect"}')
    with pytest.raises(InputError, match=r"a--c.json: has no end.sum_received.bits_per_second"):
        read_links(tmp_path)


def test_figures_of_the_owner_are_not_ascribed_to_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "gpus.csv").write_text("site,gpu,count,power_w,tflops\na,A40,2,200,33\n")
    (tmp_path / "links.csv").write_text("from,to,rtt [ms],rate [MB/s]\na,a,1,900\n")
    made = import_pool(tmp_path / "gpus.csv", tmp_path / "links.csv", "gpt2-medium", 8, (1,), "full", "pool")
    text = "\n".join(made.explained)
    assert "flops = 3.3e+13 FLOP/s: as given" in text
    assert "power = 200 W computing (as given)" in text


def test_every_figure_is_explained(tmp_path: Path) -> None:
    (tmp_path / "gpus.csv").write_text(GPUS)
    (tmp_path / "links.csv").write_text(LINKS)
    made = import_pool(tmp_path / "gpus.csv", tmp_path / "links.csv", "gpt3-2.7b", 64, (1,), "full", "pool")
    text = "\n".join(made.explained)
    for group in made.instance.groups:
        for figure in (f"{group.flops:.6g}", f"{group.memory:.0f}", f"{group.power_active:g} W computing"):
            assert figure in text

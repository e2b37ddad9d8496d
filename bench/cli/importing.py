"""One's own pool: `import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bench.cli.options import DONE, Json, byte_count, note, print_json, say
from instances.errors import InputError

TEMPLATE = {
    "gpus.csv": "site,gpu,count\nhamburg,A40,4\nhamburg,RTX 3090,8\nlyon,V100-SXM2-32GB,8\n",
    "links.csv": (
        "from,to,rtt [ms],bandwidth [Gbit/s]\n"
        "hamburg,hamburg,0.2,25\nlyon,lyon,0.2,25\nhamburg,lyon,24,1.9\nlyon,hamburg,24,2.4\n"
    ),
    "config.json": (
        '{"model_type": "llama", "_name_or_path": "llama-3-8b", "hidden_size": 4096, "intermediate_size": 14336,\n'
        ' "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,\n'
        ' "max_position_embeddings": 8192, "tie_word_embeddings": false}\n'
    ),
    "README.txt": (
        "gpus.csv: site, GPU as nvidia-smi names it, how many; may have power_w, tflops (achieved), memory_gib.\n"
        "links.csv: each direction between sites, and inside a site; units in the header (rtt or latency in ms, s;\n"
        "  bandwidth in Mbit/s, Gbit/s, MB/s); `none` where there is no link.\n"
        "config.json: of the model, from Hugging Face; or give --model a name of the catalogue.\n"
        "geotrain-bench import --gpus gpus.csv --links links.csv --model config.json --sequence 4096 --batch 256 "
        "--out pool.json\n"
        "geotrain-bench plan pool.json\n"
    ),
}
"""A small pool as files, to be overwritten with one's own."""


# Long for its options, which typer reads off the signature.
def import_(
    gpus: Annotated[
        Path | None, typer.Option(help="CSV (site, gpu, count), or a folder of nvidia-smi output by site.")
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(help="CSV (from, to, rtt [ms], bandwidth [Gbit/s]), or a folder of ping, iperf3 -J."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Of the catalogue, or a config.json from Hugging Face.")] = None,
    batch: Annotated[int, typer.Option(help="Sequences in an iteration.", min=1)] = 256,
    micro_batches: Annotated[str, typer.Option(help="Sizes to choose from.", metavar="N,N")] = "1,2,4,8",
    recompute: Annotated[str, typer.Option(help="none, selective or full.")] = "full",
    sequence: Annotated[int | None, typer.Option(help="Tokens of a sequence, in place of the model's.", min=1)] = None,
    fill: Annotated[
        Literal["no", "other-direction", "no-link"], typer.Option(help="What a pair without a row gets.")
    ] = "no",
    reserve: Annotated[str, typer.Option(help="Memory of each GPU kept back for CUDA and NCCL.")] = "1GiB",
    name: Annotated[str | None, typer.Option(help="Of the instance; default: of the file.")] = None,
    out: Annotated[Path, typer.Option(help="Instance file to write.", metavar="FILE")] = Path("pool.json"),
    explain: Annotated[bool, typer.Option("--explain", help="Print how each figure came about.")] = False,
    template: Annotated[
        Path | None,
        typer.Option(help="Write an example of the input files into a folder, and end.", metavar="DIR"),
    ] = None,
    as_json: Json = False,
) -> int:
    """Make an instance of one's own GPUs, links and model, from what nvidia-smi, ping and iperf3 say."""
    from instances.disk import check_writable, write_text
    from instances.files import write_instance
    from instances.importing.pool import import_pool
    from instances.units import unlikely_units

    if template is not None:
        for file, text in TEMPLATE.items():
            write_text(template / file, text)
        say((template / "README.txt").read_text(encoding="utf-8").rstrip())
        return DONE
    missing = [option for option, value in (("gpus", gpus), ("links", links), ("model", model)) if value is None]
    if gpus is None or links is None or model is None:
        raise InputError(f"--{missing[0]}: is missing; --template DIR writes an example of all files")
    check_writable(out)
    made = import_pool(
        gpus,
        links,
        model,
        batch,
        _sizes(micro_batches),
        _recompute(recompute),
        name or out.stem,
        sequence,
        fill,
        0 if reserve == "0" else byte_count(reserve, "--reserve") or 0,
    )
    for line in (*made.notes, *unlikely_units(made.instance)):
        note(f"warning: {line}")
    write_instance(out, made.instance)
    if as_json:
        print_json({"file": str(out), "instance_hash": made.instance.content_hash, "explained": made.explained})
        return DONE
    if explain:
        say("\n".join(made.explained))
    instance = made.instance
    say(f"{out}: {instance.gpus} GPUs in {len(instance.groups)} groups, {instance.model.name}")
    say(f"Next: geotrain-bench plan {out}")
    return DONE


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1 or len(set(sizes)) < len(sizes):
        raise InputError(f"--micro-batches {text!r}: expected different whole numbers above 0, such as 1,2,4")
    return sizes


def _recompute(text: str) -> str:
    if text not in ("none", "selective", "full"):
        raise InputError(f"--recompute {text!r}: expected none, selective or full")
    return text

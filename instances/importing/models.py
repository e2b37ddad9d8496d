"""A model from the catalogue, or from a configuration as Hugging Face keeps it with every model (config.json)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from instances.catalogue.models import model as catalogue_model
from instances.catalogue.models import model_names
from instances.disk import read_json
from instances.errors import InputError
from instances.instance import Model

Config = Mapping[str, Any]


def read_model(name: str, sequence: int | None = None) -> Model:
    """A model by its name in the catalogue or from the path of a config.json; `sequence` replaces its length.

    InputError for what is neither, and for models that the cost model cannot state, with the reason.
    """
    if Path(name).suffix == ".json" or Path(name).exists():
        found = model_of_config(read_json(name), name)
    elif name in model_names():
        found = catalogue_model(name)
    else:
        known = ", ".join(model_names())
        raise InputError(f"model {name!r}: is no file, and the catalogue has {known}")
    return found if sequence is None else found.model_copy(update={"sequence": sequence})


def model_of_config(config: object, source: str) -> Model:
    """The shape that a configuration gives. InputError names the field that is missing or that we cannot state."""
    if not isinstance(config, dict) or "model_type" not in config:
        raise InputError(f"{source}: has no model_type, so it is no config.json of a model")
    kind = str(config["model_type"])
    if kind not in SHAPES:
        raise InputError(f"{source}: model_type {kind!r}: unknown; known are {', '.join(SHAPES)}")
    _refuse(config, source)
    try:
        shape = SHAPES[kind](config)
    except KeyError as error:
        raise InputError(f"{source}: {error.args[0]}: is missing") from None
    hidden, heads = shape["hidden"], shape["heads"]
    width = config.get("head_dim")
    numbers = {"head_dim": width or 0, "hidden_size": hidden, "num_attention_heads": heads}
    for field, value in numbers.items():
        if not isinstance(value, int):
            raise InputError(f"{source}: {field}: found {value!r}, expected a whole number")
    if width is not None and width * heads != hidden:
        raise InputError(
            f"{source}: head_dim: {heads} heads of {width} are {heads * width} wide, hidden_size is {hidden}: the cost "
            "model has heads that share the hidden size"
        )
    name = str(config.get("_name_or_path") or Path(source).parent.name or kind) or kind
    try:
        return Model(name=name, **shape)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{source}: {'.'.join(map(str, first['loc'])) or 'shape'}: {first['msg']}") from None


def _refuse(config: Config, source: str) -> None:
    """What the cost model cannot state."""
    for field in ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"):
        if config.get(field) not in (None, 0, 1):
            raise InputError(f"{source}: {field}: a mixture of {config[field]} experts; the model has dense blocks")
    width = config.get("word_embed_proj_dim")
    if width is not None and width != config.get("hidden_size"):
        raise InputError(f"{source}: word_embed_proj_dim: {width} is not hidden_size; the cost model has one width")
    if config.get("is_encoder_decoder"):
        raise InputError(f"{source}: is_encoder_decoder: the cost model has decoders only")


def _modern(tied: bool) -> Callable[[Config], dict[str, Any]]:
    """Llama and its kin: gated feed-forward, perhaps fewer heads for keys and values."""

    def shape(config: Config) -> dict[str, Any]:
        return {
            **_common(config, "intermediate_size", gated=True, tied=tied),
            "kv_heads": config.get("num_key_value_heads") or config["num_attention_heads"],
        }

    return shape


def _common(config: Config, ffn: str, gated: bool, tied: bool) -> dict[str, Any]:
    return {
        "layers": config["num_hidden_layers"],
        "hidden": config["hidden_size"],
        "heads": config["num_attention_heads"],
        "kv_heads": config["num_attention_heads"],
        "ffn": config[ffn],
        "gated_ffn": gated,
        "vocab": config["vocab_size"],
        "sequence": config["max_position_embeddings"],
        "tied_embeddings": config.get("tie_word_embeddings", tied),
    }


def _gpt2(config: Config) -> dict[str, Any]:
    return {
        "layers": config["n_layer"],
        "hidden": config["n_embd"],
        "heads": config["n_head"],
        "kv_heads": config["n_head"],
        "ffn": config.get("n_inner") or 4 * config["n_embd"],
        "gated_ffn": False,
        "vocab": config["vocab_size"],
        "sequence": config.get("n_positions") or config["n_ctx"],
        "tied_embeddings": config.get("tie_word_embeddings", True),
    }


def _falcon(config: Config) -> dict[str, Any]:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    grouped = config.get("new_decoder_architecture", False)
    return {
        "layers": config["num_hidden_layers"],
        "hidden": hidden,
        "heads": heads,
        "kv_heads": (config["num_kv_heads"] if grouped else 1 if config.get("multi_query", True) else heads),
        "ffn": config.get("ffn_hidden_size") or 4 * hidden,
        "gated_ffn": False,
        "vocab": config["vocab_size"],
        "sequence": config.get("max_position_embeddings", 2048),
        "tied_embeddings": config.get("tie_word_embeddings", True),
    }


SHAPES: Mapping[str, Callable[[Config], dict[str, Any]]] = {
    "llama": _modern(tied=False),
    "mistral": _modern(tied=False),
    "qwen2": _modern(tied=False),
    "gemma": _modern(tied=True),
    "gpt2": _gpt2,
    "gpt_neox": lambda config: _common(config, "intermediate_size", gated=False, tied=False),
    "opt": lambda config: _common(config, "ffn_dim", gated=False, tied=True),
    "falcon": _falcon,
}
"""By model_type: the shape in our words, with the library's defaults for tied embeddings."""


def parameters(model: Model) -> int:
    """Weights of all matrices: blocks and embeddings; norms, biases and tables of positions are not counted."""
    from instances.instance import Training
    from instances.workload import Workload

    training = Training(
        global_batch=1,
        micro_batches=(1,),
        schedule="gpipe",
        recompute="full",
        state_bytes_per_parameter=16.0,
        gradient_bytes=2.0,
    )
    return round(Workload.of(model, training).stage_parameters(model.layers, first=True, last=True))

"""Parameters, FLOPs and bytes of a block, the head and the embeddings, from the model and the training settings.

Counts after Narayanan et al. 2021 (arXiv 2104.04473); activations after Korthikanti et al. 2022
(arXiv 2205.05198), their terms written out so that gated and grouped-query blocks are covered.
"""

from __future__ import annotations

from dataclasses import dataclass

from instances.instance import Model, Training


@dataclass(frozen=True)
class Workload:
    """Per sequence and block unless said otherwise; FLOPs, bytes and parameters (symbol in brackets)."""

    block_parameters: float  # [p]
    embedding_parameters: int  # of one copy [v]
    block_forward_flops: float  # [f]
    head_forward_flops: int  # last stage only [f']
    backward_factor: float  # backward over forward, block [mu]
    message_bytes: int  # activations between two stages [A]
    stash_bytes: float  # kept from forward to backward [z]
    working_bytes: float  # of the block being recomputed [w]
    logits_bytes: int  # last stage only [o]
    head_input_bytes: int  # kept for the head, last stage only [2qh]
    tied: bool
    batch: int  # sequences in an iteration [B]
    state_bytes: float  # of one parameter

    HEAD_BACKWARD_FACTOR = 3.0
    """Backward over forward of the head: its logits are always recomputed, never kept."""

    @classmethod
    def of(cls, model: Model, training: Training) -> Workload:
        """The counts for one model under one training set-up."""
        h, q, m = model.hidden, model.sequence, model.ffn
        matrices = 3 if model.gated_ffn else 2
        # kv is kept as a fraction of whole numbers: bytes and parameters stay exact where they are whole.
        p = _whole(h * h * (2 * model.heads + 2 * model.kv_heads), model.heads) + matrices * h * m
        f = 2 * q * p + 4 * q * q * h
        core = 5 * q * q * model.heads
        dense = q * (_whole(h * (14 * model.heads + 4 * model.kv_heads), model.heads) + 2 * matrices * m)
        stash, working, backward = {
            "none": (dense + core, 0, 2.0),
            "selective": (dense, core, 2.0 + 4 * q * q * h / f),
            "full": (2 * q * h, dense + core, 3.0),
        }[training.recompute]
        return cls(
            block_parameters=p,
            embedding_parameters=model.vocab * h,
            block_forward_flops=f,
            head_forward_flops=2 * q * h * model.vocab,
            backward_factor=backward,
            message_bytes=2 * q * h,
            stash_bytes=stash,
            working_bytes=working,
            logits_bytes=4 * q * model.vocab,
            head_input_bytes=2 * q * h,
            tied=model.tied_embeddings,
            batch=training.global_batch,
            state_bytes=training.state_bytes_per_parameter,
        )

    def stage_parameters(self, layers: int, first: bool, last: bool) -> float:
        """Parameters of a stage of `layers` blocks; tied embeddings are held once by a one-stage pipeline."""
        copies = int(first) + int(last)
        if self.tied and first and last:
            copies = 1
        return layers * self.block_parameters + copies * self.embedding_parameters

    def stage_bytes(self, layers: int, first: bool, last: bool, replicas: int, micro_batch: int) -> float:
        """Memory a slot needs: state, stash of all sequences, working set, head input and logits.

        The schedule is fill-drain: all B / R sequences of a pipeline are in flight at once.
        """
        in_flight = self.batch // replicas
        need = self.state_bytes * self.stage_parameters(layers, first, last)
        need += in_flight * layers * self.stash_bytes + micro_batch * self.working_bytes
        if last:
            need += in_flight * self.head_input_bytes + micro_batch * self.logits_bytes
        return need


def _whole(numerator: int, denominator: int) -> float:
    """The quotient, exact whenever it is whole."""
    return numerator // denominator if numerator % denominator == 0 else numerator / denominator

"""Predicts the collectives of a transformer's training step from shapes, partitions and a mesh.

The model is a decoder of the GPT-2 family (A. Radford and others, Language models are unsupervised
multitask learners, 2019), whose output layer shares the table of embeddings. Its batch is split
along one axis of the mesh, its weights along another, as M. Shoeybi and others do (Megatron-LM:
training multi-billion parameter language models using model parallelism, 2019). The program is
examples/two_axis_transformer.py; nothing is run. `predicted` takes a Transformer (GPT2_SMALL, …),
where each weight is a Parameter.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...sharding import PartitionSpec
from .costs import Collective
from .device_groups import groups_along

__all__ = ["GPT2_SMALL", "Parameter", "Transformer", "predicted"]


@dataclass(frozen=True)
class Parameter:
    """The shape of a parameter and how it is divided.

    Attributes:
      contracted: the number of leading axes that the product sums over; 0 if the parameter is
        added, or multiplied element by element.
    Example:
      >>> from weft.sharding import PartitionSpec as P
      >>> Parameter((512, 2048), P(None, "model"), contracted=1).shape
      (512, 2048)
    """

    shape: tuple[int, ...]
    spec: PartitionSpec
    contracted: int = 0

    def axes(self, begin: int = 0, end: int | None = None) -> tuple[Hashable, ...]:
        """The mesh axes that divide the parameter."""
        named = [part for part in tuple(self.spec)[begin:end] if part is not None]
        return tuple(n for part in named for n in (part if isinstance(part, tuple) else (part,)))

    def part(self, mesh: Mapping[Hashable, int]) -> tuple[int, ...]:
        """The shape of the part on each device."""
        counts = [
            math.prod(mesh[name] for name in self.axes(i, i + 1)) for i in range(len(self.shape))
        ]
        if any(n % count for n, count in zip(self.shape, counts, strict=True)):
            raise ValueError(
                f"predicted: {self.spec} splits {self.shape} into {tuple(counts)} parts: each "
                "length must be a multiple"
            )
        return tuple(n // count for n, count in zip(self.shape, counts, strict=True))


@dataclass(frozen=True)
class Transformer:
    """Sizes of a decoder of the GPT-2 family.

    Attributes:
      layers: the number of blocks.
      width: the features of the residual stream; a multiple of `heads`.
      heads: the attention heads of a block.
      hidden: the features between the two dense layers of a block.
      length: the tokens of a sequence.
      vocabulary: the number of different tokens.
    Example:
      >>> sum(math.prod(p.shape) for p in GPT2_SMALL.blocks().values())
      7087872
    """

    layers: int
    width: int
    heads: int
    hidden: int
    length: int
    vocabulary: int

    def blocks(self) -> dict[str, Parameter]:
        """The parameters of each block: heads and hidden units are split along `model`."""
        d, h, k, f = self.width, self.heads, self.width // self.heads, self.hidden
        spec = PartitionSpec
        return {
            "norm1_scale": Parameter((d,), spec()),
            "norm1_shift": Parameter((d,), spec()),
            "qkv": Parameter((d, 3, h, k), spec(None, None, "model", None), contracted=1),
            "qkv_bias": Parameter((3, h, k), spec(None, "model", None)),
            "out": Parameter((h, k, d), spec("model", None, None), contracted=2),
            "out_bias": Parameter((d,), spec()),
            "norm2_scale": Parameter((d,), spec()),
            "norm2_shift": Parameter((d,), spec()),
            "up": Parameter((d, f), spec(None, "model"), contracted=1),
            "up_bias": Parameter((f,), spec("model")),
            "down": Parameter((f, d), spec("model", None), contracted=1),
            "down_bias": Parameter((d,), spec()),
        }

    def ends(self) -> dict[str, Parameter]:
        """The parameters before and after the blocks: the vocabulary is split along `model`."""
        d, spec = self.width, PartitionSpec
        return {
            "embedding": Parameter((self.vocabulary, d), spec("model", None)),
            "positions": Parameter((self.length, d), spec()),
            "norm_scale": Parameter((d,), spec()),
            "norm_shift": Parameter((d,), spec()),
        }


GPT2_SMALL = Transformer(
    layers=12, width=768, heads=12, hidden=3072, length=1024, vocabulary=50_304
)
"""The smallest GPT-2. Its 50,257 tokens are filled up to a multiple of 128, so that they can be
divided: 124.4 million parameters."""


def predicted(
    model: Transformer,
    mesh: Any,
    batch: int,
    *,
    dtype: str = "f32",
    batch_axes: Iterable[Hashable] = ("data",),
) -> list[Collective]:
    """The collectives of one training step, without compiling anything.

    The division of the parameters decides what is summed:

    - A product that sums over a divided axis of its weights gives a part of the sum on each device:
      an all-reduce of the result, in the forward pass. Where another axis of the weights is
      divided, each device has a part of the gradient of the product's input: an all-reduce in the
      backward pass.
    - If the table of embeddings is divided along the vocabulary, each row is on one device only: an
      all-reduce of the embeddings, of the softmax's maximum and sum, and of the score of the next
      token.
    - The loss and the gradient of every parameter are summed along the axes that divide the batch.
      The gradient of the table of embeddings is summed twice, because XLA sums the gradients of its
      two uses separately. As in XLA, the gradients of a block are sent together, and so are all
      others.

    Args:
      model: the sizes.
      mesh: a `Mesh`, or a dict of its axis lengths; it must have the axes `data` and `model`.
      batch: the number of sequences in a step, on all devices together.
      dtype: the dtype of parameters and activations, by HLO's name: "f32", "bf16".
      batch_axes: the axes of the mesh along which the batch is divided.
    Raises: ValueError: an axis is missing, or a length can't be divided evenly.
    Example:
      >>> step = predicted(GPT2_SMALL, {"data": 2, "model": 4}, batch=16)
      >>> round(sum(c.sent for c in step if c.axes == ("data",)) / 1e6)
      166
    Source: Megatron-LM, 2019: two all-reduces a block in each direction.
    """
    sizes: Mapping[Hashable, int] = getattr(mesh, "shape", mesh)
    along_batch = tuple(batch_axes)
    blocks, ends = model.blocks(), model.ends()
    named = {name for p in (*blocks.values(), *ends.values()) for name in p.axes()}
    missing = [name for name in (*along_batch, *sorted(named, key=str)) if name not in sizes]
    if missing:
        raise ValueError(f"predicted: the mesh has no axis {missing[0]!r}, only {list(sizes)}")
    copies = math.prod(sizes[name] for name in along_batch)
    if batch % copies:
        raise ValueError(f"predicted: {batch} sequences can't be divided into {copies} parts")
    if model.width % model.heads:
        raise ValueError(f"predicted: {model.heads} heads can't share a width of {model.width}")

    collectives: list[Collective] = []

    def all_reduce(
        axes: Iterable[Hashable], shapes: Sequence[tuple[int, ...]], origin: str, times: int = 1
    ) -> None:
        axes = tuple(name for name in axes if sizes[name] > 1)
        if axes:
            arrays = tuple((dtype, shape) for shape in shapes)
            groups = groups_along(sizes, axes)
            collectives.append(
                Collective("all-reduce", arrays, groups, axes=axes, times=times, origin=origin)
            )

    tokens = (batch // copies, model.length)
    stream = (*tokens, model.width)
    for name, p in blocks.items():
        if p.contracted:
            all_reduce(p.axes(0, p.contracted), [stream], f"{name}, forward", model.layers)
            all_reduce(p.axes(p.contracted), [stream], f"{name}, backward", model.layers)
    vocabulary = ends["embedding"].axes(0, 1)
    all_reduce(vocabulary, [stream], "embedding, forward")
    all_reduce(vocabulary, [stream], "scores, backward")
    all_reduce(vocabulary, [tokens], "softmax, maximum")
    all_reduce(vocabulary, [tokens, tokens], "softmax, sum and next token")

    in_block = [p.part(sizes) for p in blocks.values()]
    all_reduce(along_batch, in_block, "gradients of a block", model.layers)
    outside = [p.part(sizes) for p in (ends["embedding"], *ends.values())]
    all_reduce(along_batch, [(), *outside], "loss, gradients outside of blocks")
    return collectives

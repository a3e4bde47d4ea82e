"""BERT, an encoder of sequences that is trained to predict masked tokens, with the heads
BERTClassifierHead, BERTRegressionHead, BERTMLMHead and BERTPretrainingHead, and
BERTPretrainingLoss. PretrainedBERT loads its weights from a file, load_bert_weights reads such a
file, and AddBias adds a trained vector.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as onp

from ... import fastmath, layers as tl, option_checks
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...layers.base import Layer
from ...layers.recipes import takes_mode
from ...option_checks import checked_mode, checked_rate, divided, whole_number
from ...shapes import ShapeDtype
from ...user_lines import noted
from .bert_weights import bert_arrays

__all__ = [
    "BERT",
    "AddBias",
    "BERTClassifierHead",
    "BERTMLMHead",
    "BERTPretrainingHead",
    "BERTPretrainingLoss",
    "BERTRegressionHead",
    "PretrainedBERT",
    "load_bert_weights",
]

KERNEL_INITIALIZER = tl.RandomNormalInitializer(0.02)
BIAS_INITIALIZER = tl.RandomNormalInitializer(1e-6)
EPSILON = 1e-12
"""The epsilon of the normalizations."""


@takes_mode
def BERT(
    d_model: int = 768,
    vocab_size: int = 30522,
    max_len: int = 512,
    type_vocab_size: int = 2,
    n_heads: int = 12,
    d_ff: int = 3072,
    n_layers: int = 12,
    head: Callable[[], Layer] | None = None,
    init_checkpoint: str | os.PathLike[str] | None = None,
    mode: str = "eval",
    dropout: float = 0.0,
) -> Layer:
    """An encoder of sequences: bidirectional attention, normalized after each half block.

    The third input, the index of an example, is ignored. No position attends to padding, token 0.

    Args:
      d_model: features of a vector.
      vocab_size: the number of tokens, padding included.
      max_len: the longest sequence.
      type_vocab_size: the number of segments.
      n_heads: the number of attention heads; divides d_model.
      d_ff: units of the hidden layer of each block.
      n_layers: the number of blocks.
      head: function without arguments that makes a layer for both outputs, such as
        `lambda: BERTClassifierHead(2)`.
      init_checkpoint: a file with initial weights, see `load_bert_weights`; for mode "train".
        Nothing is downloaded.
      mode: "train" or "eval"; "predict" is the same as "eval".
      dropout: rate at which features of embeddings and of each half block, and weights of
        attention, become zero in mode "train".
    Returns: a layer from (tokens [batch, length], segments [batch, length], any input) to (floats
      [batch, d_model] of the first position, floats [batch, length, d_model]), or to the outputs of
      the head.
    Raises: TypeError, ValueError: an option is invalid, or d_model is not a multiple of n_heads.
    Example:
      >>> model = BERT(d_model=4, vocab_size=9, max_len=8, n_heads=2, d_ff=8, n_layers=1)
      >>> inputs = np.array([[5, 2, 0]]), np.array([[0, 1, 0]]), np.array([7])
      >>> _ = model.init(inputs)
      >>> [y.shape for y in model(inputs)]
      [(1, 4), (1, 3, 4)]
    Source: Devlin, Chang, Lee, Toutanova (2018), arXiv:1810.04805; Trax documentation,
      `models.BERT`, which has no dropout.
    """
    name = "BERT"
    for option, size in (
        ("vocab_size", vocab_size),
        ("max_len", max_len),
        ("type_vocab_size", type_vocab_size),
        ("d_ff", d_ff),
    ):
        whole_number(name, option, size)
    divided(name, "d_model", d_model, "n_heads", n_heads)
    whole_number(name, "n_layers", n_layers, least=0)
    rate, mode = checked_rate(name, dropout), checked_mode(name, mode)
    mode = "eval" if mode == "predict" else mode  # the encoder sees the whole sequence
    drop = [tl.Dropout(rate=rate, mode=mode)] if rate else []
    embeddings = [
        tl.Select([0, 1, 0], n_in=3),
        tl.Parallel(
            tl.Embedding(vocab_size, d_model),
            tl.Embedding(type_vocab_size, d_model),
            [tl.PaddingMask(), tl.Fn("Squeeze", lambda mask: jnp.squeeze(mask, (1, 2)))],
        ),
        tl.Add(),
        tl.PositionalEncoding(max_len, mode=mode),
        tl.LayerNorm(epsilon=EPSILON),
        drop,
    ]
    pooler = [
        tl.Fn("FirstAndAll", lambda x: (x[:, 0], x), n_out=2),
        tl.Dense(d_model),
        tl.Tanh(),
    ]
    model = PretrainedBERT(
        embeddings,
        [_block(d_model, n_heads, d_ff, rate, mode) for _ in range(n_layers)],
        tl.Select([0], n_in=2),
        pooler,
        init_checkpoint=init_checkpoint if mode == "train" else None,
    )
    if head is None:
        return model
    if isinstance(head, Layer):
        raise option_checks.wrong_type(
            name, "head", "a function that makes a layer: lambda: BERTClassifierHead(2)", head
        )
    return tl.Serial(model, option_checks.function(name, "head", head, "that makes a layer")())


def _block(d_model: int, n_heads: int, d_ff: int, rate: float, mode: str) -> list[Layer]:
    """Layers that map (vectors, mask) to (vectors, mask)."""

    def half(*layers: Any) -> list[Layer]:
        drop = [tl.Dropout(rate=rate, mode=mode)] if rate else []
        return [tl.Residual(*layers, *drop), tl.LayerNorm(epsilon=EPSILON)]

    attention = tl.SelfAttention(
        n_heads=n_heads,
        d_qk=d_model // n_heads,
        d_v=d_model // n_heads,
        bias=True,
        masked=True,
        attention_dropout=rate,
        mode=mode,
    )
    return [
        tl.Select([0, 1, 1]),
        *half(attention, AddBias()),
        *half(tl.Dense(d_ff), tl.Gelu(), tl.Dense(d_model)),
    ]


class AddBias(Layer):
    """Adds a trained vector to the last axis; it is initialized with zeros.

    Example:
      >>> layer = AddBias()
      >>> _ = layer.init(np.ones((2, 3)))
      >>> layer(np.ones((2, 3))).shape
      (2, 3)

    Source: Trax's module `models.research.bert`.
    """

    _needs_key = False

    def forward(self, inputs: Any) -> Any:
        """The sum."""
        return inputs + self.weights

    def init_weights_and_state(self, input_signature: Any) -> None:
        """The vector [d]."""
        if not input_signature.shape:
            raise ShapeError("AddBias: expected an input with a last axis; got a scalar")
        self.weights = jnp.zeros(input_signature.shape[-1:], jnp.float32)


class PretrainedBERT(tl.Serial):
    """Layers in series, with initial weights from a file.

    Args:
      *sublayers: the layers of a `BERT` without a head.
      init_checkpoint: the file, see `load_bert_weights`; None for random weights. `init` reads it.

    Raises: ValueError (from `init`): the sizes of the file's weights differ.
    Example::

        from weft.models.research import bert

        layers = bert.BERT(mode="train").sublayers
        body = bert.PretrainedBERT(*layers, init_checkpoint="bert-base-uncased/model.safetensors")
        classifier = tl.Serial(body, bert.BERTClassifierHead(2))

    Source: Trax's module `models.research.bert`, which downloads files by name.
    """

    def __init__(
        self, *sublayers: Any, init_checkpoint: str | os.PathLike[str] | None = None
    ) -> None:
        super().__init__(*sublayers)
        self._init_checkpoint = init_checkpoint

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layers, and replaces their weights with those of the file."""
        super().init_weights_and_state(input_signature)
        if self._init_checkpoint is not None:
            self.weights = self._read(self._init_checkpoint)

    def _read(self, path: str | os.PathLike[str]) -> Any:
        """The weights of a file, nested like the layer's and with the same shapes."""
        shapes = [tuple(w.shape) for w in fastmath.tree_flatten(self.weights)]
        # the first weights of a block are the query kernels, [n_heads, d_model, d_head].
        n_heads = shapes[5][0] if len(shapes) > 7 else 1
        arrays = bert_arrays("PretrainedBERT", path, n_heads)
        file_shapes = [array.shape for array in arrays]
        if file_shapes != shapes:
            differ = [f"{a} for {b}" for a, b in zip(file_shapes, shapes, strict=False) if a != b]
            raise noted(
                ValueError(
                    f"PretrainedBERT: {os.fspath(path)} has {len(file_shapes)} arrays, and the "
                    f"model {len(shapes)}; it has {differ[0] if differ else 'other blocks'}\n"
                    "  fix: BERT with d_model, vocab_size, max_len, d_ff and n_layers of the file"
                )
            )
        return fastmath.tree_unflatten(arrays, self.weights)[0]


def load_bert_weights(path: str | os.PathLike[str], n_heads: int = 12) -> Any:
    """Reads the weights of a `BERT` without a head from a file.

    The options `d_model`, `vocab_size`, `max_len`, `type_vocab_size`, `d_ff` and `n_layers` of
    `BERT` must match the file.

    Args:
      path: a `.safetensors` file with the names of Hugging Face's `BertModel`, or the prefix of a
        TensorFlow checkpoint (`bert_model.ckpt`) with the names of the original release. The first
        needs the package safetensors, the second tensorflow.
      n_heads: the number of heads, which the file does not contain; 12 for "base", 16 for "large".
    Returns: nested arrays of float32, to assign to the model's `weights`; for a model with a head,
      to the weights of its first sublayer.
    Raises: FileNotFoundError; ImportError: a package is missing; ValueError: an array is missing,
      or has another shape.
    Example::

        from weft.models.research import bert

        model = bert.BERT(mode="eval")
        model.init(signature)
        model.weights = bert.load_bert_weights("bert-base-uncased/model.safetensors")

    Source: Devlin, Chang, Lee, Toutanova (2018), arXiv:1810.04805, and its checkpoints.
    """
    name = "load_bert_weights"
    arrays = bert_arrays(name, path, whole_number(name, "n_heads", n_heads))
    (vocab_size, d_model), kinds, positions = (array.shape for array in arrays[:3])
    n_layers = (len(arrays) - 7) // 16
    model = BERT(
        d_model=d_model,
        vocab_size=vocab_size,
        max_len=positions[0],
        type_vocab_size=kinds[0],
        n_heads=n_heads,
        d_ff=arrays[15].shape[1] if n_layers else 1,
        n_layers=n_layers,
    )
    tokens = ShapeDtype((1, 1), onp.int32)
    like, _ = model.weights_and_state_signature((tokens, tokens, tokens))
    return fastmath.tree_unflatten(arrays, like)[0]


def BERTClassifierHead(n_classes: int) -> Layer:
    """A head that classifies sequences by the vectors of the first positions.

    Args:
      n_classes: the number of classes.
    Returns: a layer from (floats [batch, d], floats [batch, length, d]) to logits [batch,
      n_classes].
    Example:
      >>> head = BERTClassifierHead(3)
      >>> inputs = np.ones((2, 4)), np.ones((2, 5, 4))
      >>> _ = head.init(inputs)
      >>> head(inputs).shape
      (2, 3)
    Source: Trax documentation, `models.BERTClassifierHead`.
    """
    return tl.Serial(tl.Select([0], n_in=2), _dense("BERTClassifierHead", "n_classes", n_classes))


def BERTRegressionHead() -> Layer:
    """A head that predicts a number for each sequence from the vector of the first position.

    Returns: a layer from (floats [batch, d], floats [batch, length, d]) to floats [batch].
    Example:
      >>> head = BERTRegressionHead()
      >>> inputs = np.ones((2, 4)), np.ones((2, 5, 4))
      >>> _ = head.init(inputs)
      >>> head(inputs).shape
      (2,)
    Source: Trax documentation, `models.BERTRegressionHead`.
    """
    return tl.Serial(
        tl.Select([0], n_in=2),
        _dense("BERTRegressionHead", "n_units", 1),
        tl.Fn("Squeeze", lambda x: jnp.squeeze(x, -1)),
    )


def BERTMLMHead(vocab_size: int = 30522) -> Layer:
    """A head that predicts masked tokens from the vectors of all positions.

    Args:
      vocab_size: the number of tokens.
    Returns: a layer from (floats [batch, d], floats [batch, length, d]) to logits [batch, length,
      vocab_size].
    Example:
      >>> head = BERTMLMHead(9)
      >>> inputs = np.ones((2, 4)), np.ones((2, 5, 4))
      >>> _ = head.init(inputs)
      >>> head(inputs).shape
      (2, 5, 9)
    Source: Trax's module `models.research.bert`.
    """
    return tl.Serial(tl.Select([1], n_in=2), _dense("BERTMLMHead", "vocab_size", vocab_size))


def BERTPretrainingHead(n_classes: int, vocab_size: int = 30522) -> Layer:
    """A head for both pretraining tasks: classes of sequences, and masked tokens.

    Args:
      n_classes: the number of classes; 2 for predicting whether the second segment follows the
        first.
      vocab_size: the number of tokens.
    Returns: a layer from (floats [batch, d], floats [batch, length, d]) to (logits [batch,
      n_classes], logits [batch, length, vocab_size]).
    Example:
      >>> head = BERTPretrainingHead(2, vocab_size=9)
      >>> inputs = np.ones((2, 4)), np.ones((2, 5, 4))
      >>> _ = head.init(inputs)
      >>> [y.shape for y in head(inputs)]
      [(2, 2), (2, 5, 9)]
    Source: Trax's module `models.research.bert`.
    """
    name = "BERTPretrainingHead"
    return tl.Parallel(_dense(name, "n_classes", n_classes), _dense(name, "vocab_size", vocab_size))


def BERTPretrainingLoss() -> Layer:
    """The sum of the losses of both pretraining tasks.

    Returns: a layer from (logits of classes [batch, n_classes], logits of tokens [batch, length,
      vocab_size], classes [batch], their weights [batch], tokens [batch, length], their weights
      [batch, length]) to a scalar: the sum of two weighted means of cross entropies.
    Example:
      >>> loss = BERTPretrainingLoss()
      >>> logits = np.zeros((2, 2)), np.zeros((2, 3, 4))
      >>> classes, tokens = np.array([0, 1]), np.zeros((2, 3), int)
      >>> loss((*logits, classes, np.ones(2), tokens, np.ones((2, 3)))).round(4)
      Array(2.0794, dtype=float32)
    Source: Trax's module `models.research.bert`.
    """
    of_classes = [tl.Select([0, 2, 3], n_in=6), tl.WeightedCategoryCrossEntropy()]
    of_tokens = [tl.Select([1, 4, 5], n_in=6), tl.WeightedCategoryCrossEntropy()]
    return tl.Serial(tl.Branch(of_classes, of_tokens), tl.Add())


def _dense(name: str, option: str, n_units: int) -> Layer:
    """A last layer, with small random weights."""
    return tl.Dense(
        whole_number(name, option, n_units),
        kernel_initializer=KERNEL_INITIALIZER,
        bias_initializer=BIAS_INITIALIZER,
    )

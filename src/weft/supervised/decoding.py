"""Decoding: autoregressive_sample draws sequences of tokens from a model, and
autoregressive_sample_stream draws them token by token. beam_search comes from `beam_search.py`.

The model may be in any mode. A copy of it in mode "predict", or "eval" with `eval_mode=True`,
decodes with the weights that the model has at the call. Each call begins new sequences, and does
not change the model. The compiled step lives as long as the model.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as onp

from .. import option_checks
from ..layers.base import Layer
from .beam_search import beam_search as beam_search
from .requests import Request
from .sampling import Sampling

__all__ = ["autoregressive_sample", "autoregressive_sample_stream", "beam_search"]


def autoregressive_sample_stream(
    model: Layer,
    inputs: Any = None,
    batch_size: int = 1,
    temperature: float = 1.0,
    start_id: Any = 0,
    accelerate: bool = True,
    eval_mode: bool = False,
    eval_min_length: int = 1,
    *,
    rng: Any = None,
    top_k: int | None = None,
    top_p: float | None = None,
    pad_id: int | None = None,
) -> Iterator[onp.ndarray]:
    """Draws sequences of tokens from a model. Endlessly yields the next token of each sequence.

    While a token is yielded, the next step already runs.

    Args:
      model: a language model, from tokens [batch, length] to logits [batch, length, vocabulary]; or
        a model of two inputs, source tokens and tokens, whose first output is such logits.
      inputs: for a language model, the prompts, which the sequences continue; for a model of two
        inputs, the source tokens. Integers [batch_size, length], or a list of sequences of several
        lengths. The rows are independent.
      batch_size: the number of sequences.
      temperature: tokens are drawn from softmax(logits / temperature); 0 takes the most likely
        token.
      start_id: the token before each sequence, or an array of tokens, [batch_size, 1].
      accelerate: whether to compile the steps.
      eval_mode: whether to run the model in mode "eval" on the whole sequence at each step. The
        time of a step grows with the sequence. `start_id` is not used, because the model shifts its
        input.
      eval_min_length: in this mode, the minimal length to which sequences are padded; the lengths
        are powers of two.
      rng: random key, or an array of a key for each row; by default, `PRNGKey(0)`. The tokens of a
        row depend only on its key.
      top_k: draw only from this number of most likely tokens.
      top_p: draw only from the most likely tokens, whose probabilities add up to this.
      pad_id: the token that marks padding at the beginning or end of rows of `inputs`; by default,
        there is no padding.
    Returns: an iterator of integers [batch_size].
    Raises: TypeError, ValueError: an option is invalid, or the number of rows of
      `inputs` is not batch_size. FloatingPointError (later): logits are NaN, as for positions
      beyond `max_len`.
    Example:
      >>> from weft import models
      >>> from weft.shapes import ShapeDtype
      >>> model = models.TransformerLM(9, d_model=4, d_ff=8, n_layers=1, n_heads=2, mode="eval")
      >>> _ = model.init(ShapeDtype((2, 5), np.int32), rng=random.PRNGKey(0))
      >>> stream = autoregressive_sample_stream(model, batch_size=2)
      >>> [next(stream).shape for _ in range(3)]
      [(2,), (2,), (2,)]
    Source: Trax documentation, `supervised.decoding.autoregressive_sample_stream`.
    """
    name = "autoregressive_sample_stream"
    sampling = Sampling.checked(name, temperature, top_k, top_p)
    request = Request(
        name, model, inputs, batch_size, sampling, start_id, accelerate, eval_mode,
        eval_min_length, rng, pad_id,
    )  # fmt: skip
    return request.columns(None)


def autoregressive_sample(
    model: Layer,
    inputs: Any = None,
    batch_size: int = 1,
    temperature: float = 1.0,
    start_id: Any = 0,
    eos_id: int = 1,
    max_length: int = 100,
    accelerate: bool = True,
    eval_mode: bool = False,
    eval_min_length: int = 1,
    *,
    rng: Any = None,
    top_k: int | None = None,
    top_p: float | None = None,
    pad_id: int | None = None,
    fill_id: int | None = None,
) -> onp.ndarray:
    """Draws sequences of tokens from a model.

    Args:
      model, inputs, batch_size, temperature, start_id: as for `autoregressive_sample_stream`.
      eos_id: the token that ends a sequence; -1 for none.
      max_length: the maximal number of tokens to draw for a sequence.
      accelerate, eval_mode, eval_min_length, rng, top_k, top_p, pad_id: as for
        `autoregressive_sample_stream`.
      fill_id: the token that fills a sequence after its end; by default, sequences that end earlier
        continue with drawn tokens.
    Returns: integers [batch_size, length], without the prompts; `length` is `max_length`, or less
      if all sequences have ended.
    Raises: as `autoregressive_sample_stream`.
    Example:
      >>> from weft import models
      >>> from weft.shapes import ShapeDtype
      >>> model = models.TransformerLM(9, d_model=4, d_ff=8, n_layers=1, n_heads=2, mode="eval")
      >>> _ = model.init(ShapeDtype((2, 5), np.int32), rng=random.PRNGKey(0))
      >>> prompts = [[5, 2, 7], [3]]
      >>> autoregressive_sample(model, prompts, 2, temperature=0.0, max_length=6, eos_id=-1).shape
      (2, 6)
    Source: Trax documentation, `supervised.decoding.autoregressive_sample`.
    """
    name = "autoregressive_sample"
    sampling = Sampling.checked(name, temperature, top_k, top_p)
    request = Request(
        name, model, inputs, batch_size, sampling, start_id, accelerate, eval_mode,
        eval_min_length, rng, pad_id,
    )  # fmt: skip
    eos = option_checks.whole_number(name, "eos_id", eos_id, least=-1)
    length = option_checks.whole_number(name, "max_length", max_length, least=0)
    if fill_id is not None:
        option_checks.whole_number(name, "fill_id", fill_id, least=0)
    return _until_all_ended(request.columns(length), batch_size, eos, fill_id)


def _until_all_ended(
    columns: Iterable[onp.ndarray], batch_size: int, eos_id: int, fill_id: int | None
) -> onp.ndarray:
    """The columns up to the one in which the last row ends."""
    has_ended, result = onp.zeros(batch_size, bool), []
    for column in columns:
        result.append(column if fill_id is None else onp.where(has_ended, fill_id, column))
        has_ended |= column == eos_id
        if has_ended.all():
            break
    if not result:
        return onp.zeros((batch_size, 0), onp.int32)
    return onp.stack(result, axis=1).astype(onp.int32)

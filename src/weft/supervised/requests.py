"""Request: draws sequences from a model, as columns of tokens. step_of_pieces and step_of_prefixes
make the compiled function, and read_tokens reads its results.
"""

import collections
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as onp

from .. import fastmath, option_checks
from ..fastmath import numpy as jnp
from ..lax.selection import optimization_barrier
from ..layers.base import Layer
from ..layers.serial import as_tuple
from ..shapes import ShapeDtype
from ..user_lines import noted
from .decoders import Packed, decoder_of, logits_of
from .prompts import Prompts, start_tokens
from .sampling import Sampling, most_likely, row_keys, sampled

__all__ = ["Request", "read_tokens", "step_of_pieces", "step_of_prefixes"]

Step = Callable[..., Any]


class Request:
    """A request for sequences drawn from a model.

    Args:
      name: the calling function, for errors.
      model, inputs, batch_size, start_id, accelerate, eval_mode, eval_min_length, rng, pad_id: as
        for `decoding.autoregressive_sample_stream`.
      sampling: how tokens are chosen.
    Raises: TypeError, ValueError: an argument is invalid.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        inputs: Any,
        batch_size: Any,
        sampling: Sampling,
        start_id: Any,
        accelerate: Any,
        eval_mode: Any,
        eval_min_length: Any,
        rng: Any,
        pad_id: Any,
    ) -> None:
        self._name, self._model, self._sampling = name, model, sampling
        prompts = Prompts.read(name, inputs, batch_size, pad_id)
        self._batch = len(prompts.lengths)
        start = start_tokens(name, start_id, self._batch)
        # other backends cannot pass packed arrays
        can_compile = fastmath.is_backend(fastmath.Backend.JAX)
        self._compiles = option_checks.flag(name, "accelerate", accelerate) and can_compile
        self._is_whole = option_checks.flag(name, "eval_mode", eval_mode)
        self._least = option_checks.whole_number(name, "eval_min_length", eval_min_length)
        self._decoder = decoder_of(name, model, "eval" if self._is_whole else "predict")
        self._source = None
        if model.n_in == 2:
            if inputs is None:
                raise noted(
                    ValueError(
                        f"{name}: {model.name} has two inputs, of which inputs must be the first; "
                        "got None"
                    )
                )
            self._source, prompts = (
                jnp.asarray(prompts.tokens),
                Prompts.read(name, None, batch_size),
            )
        self._prompts = prompts if self._is_whole else prompts.behind(start)
        self._keys = row_keys(name, rng, self._batch)
        # layers with a key, such as hashing attention, use the same key at all steps
        self._model_key = self._keys[0]

    def columns(self, limit: int | None) -> Iterator[onp.ndarray]:
        """An iterator of tokens: arrays [batch], at most `limit` of them, or endless.

        It uses the weights that the model has now.
        """
        if limit == 0:
            return iter(())
        return self._of_prefixes(limit) if self._is_whole else self._of_pieces(limit)

    # In mode "predict", the decoder remembers earlier tokens.

    def _of_pieces(self, limit: int | None) -> Iterator[onp.ndarray]:
        tokens, lengths = self._prompts
        least = int(lengths.min())
        weights, state = self._begin(ShapeDtype((self._batch, 1), onp.int32))
        pieces = self._pieces(weights, state, tokens[:, :least])
        # the number of tokens drawn for a row; negative while a row reads its prompt
        counts = jnp.asarray(least - lengths - (len(pieces) - 1), jnp.int32)
        step = functools.partial(self._function(step_of_pieces), weights)
        return self._drawn(step, state, pieces, counts, limit)

    def _drawn(
        self,
        step: Step,
        state: Any,
        pieces: list[onp.ndarray],
        counts: Any,
        limit: int | None,
    ) -> Iterator[onp.ndarray]:
        rest = self._constants()
        for piece in pieces:
            drawn, state, following, counts = step(state, jnp.asarray(piece), counts, *rest)
        prompts, lengths = self._prompts
        offsets, rows = lengths - lengths.min(), onp.arange(self._batch)
        spread = int(offsets.max())
        recent: collections.deque[onp.ndarray] = collections.deque(maxlen=spread + 1)
        for n in range(spread):  # rows with longer prompts read the next prompt token
            recent.append(read_tokens(self._name, drawn))
            prompted = prompts[:, lengths.min() + n]
            following = jnp.asarray(onp.where(n < offsets, prompted, recent[-1])[:, None])
            drawn, state, following, counts = step(state, following, counts, *rest)
        for n in itertools.count(1):
            last = drawn
            if limit is None or n < limit:  # runs while the last tokens are used
                drawn, state, following, counts = step(state, following, counts, *rest)
            recent.append(read_tokens(self._name, last))
            yield recent[0] if spread == 0 else onp.stack(recent)[offsets, rows]
            if n == limit:
                return

    def _pieces(self, weights: Any, state: Any, tokens: onp.ndarray) -> list[onp.ndarray]:
        """Splits the tokens into pieces for the decoder."""
        if self._is_opaque:
            return [tokens]
        two = self._inputs(ShapeDtype((self._batch, 2), onp.int32))
        return self._decoder.pieces(tokens, two, weights, state, self._model_key)

    # In mode "eval", the model gets the whole sequences at each step.

    def _of_prefixes(self, limit: int | None) -> Iterator[onp.ndarray]:
        prompts, lengths = self._prompts
        size = self._padded_size(int(lengths.max()))
        weights, state = self._begin(ShapeDtype((self._batch, size), onp.int32))
        step = functools.partial(self._function(step_of_prefixes), weights, state)
        return self._drawn_whole(step, prompts, lengths, limit)

    def _drawn_whole(
        self, step: Step, prompts: onp.ndarray, lengths: onp.ndarray, limit: int | None
    ) -> Iterator[onp.ndarray]:
        rows, rest = onp.arange(self._batch), self._constants()
        tokens = prompts
        for n in itertools.count() if limit is None else range(limit):
            size = self._padded_size(int(lengths.max()))
            tokens = onp.pad(tokens, ((0, 0), (0, size - tokens.shape[1])))
            counts = onp.full(self._batch, n, onp.int32)
            drawn = step(tokens, lengths, counts, *rest)
            column = read_tokens(self._name, drawn)
            tokens[rows, lengths] = column
            lengths = lengths + 1
            yield column

    def _padded_size(self, length: int) -> int:
        """The power of two to which sequences are padded; it has room for one more token."""
        return 1 << (max(self._least, length + 1) - 1).bit_length()

    # For both modes.

    def _begin(self, tokens: ShapeDtype) -> tuple[Any, Any]:
        if self._is_opaque:
            return None, None
        return self._decoder.begin(self._name, self._model, self._inputs(tokens), self._model_key)

    @property
    def _is_opaque(self) -> bool:
        """True if steps are not compiled and the model overrides `__call__`, which is then
        called."""
        return not self._compiles and type(self._model).__call__ is not Layer.__call__

    def _inputs(self, tokens: Any) -> Any:
        if self._source is None:
            return tokens
        return ShapeDtype(self._source.shape, self._source.dtype), tokens

    def _constants(self) -> tuple[Any, ...]:
        """The arguments of a step that are the same at all steps."""
        options = Sampling(*(onp.float32(x) for x in self._sampling))  # type: ignore[arg-type]
        return self._source, self._keys, self._model_key, options

    def _function(self, make: Callable[..., Step]) -> Step:
        """The step function, compiled if requested."""
        how = self._sampling.is_greedy, self._sampling.leaves_out
        if self._is_opaque:
            model = self._model
            return make(lambda weights, state, x, key: (as_tuple(model(x))[0], state), *how)
        logits = functools.partial(logits_of, self._decoder.twin)
        if not self._compiles:
            return make(logits, *how)
        if make is step_of_pieces:  # reuses the memory of the state
            logits = functools.partial(_renewed, logits)
        donated = (1,) if make is step_of_pieces else ()
        return self._decoder.function(  # type: ignore[no-any-return]
            (make, *how), lambda: fastmath.jit(make(logits, *how), donate_argnums=donated)
        )


def step_of_pieces(logits: Step, is_greedy: bool, leaves_out: bool) -> Step:
    """A function that maps (weights, state, tokens [batch, length], counts, …) to (the next tokens,
    the new state, the next tokens [batch, 1], counts)."""

    def step(weights, state, tokens, counts, source, keys, model_key, options):  # type: ignore[no-untyped-def]
        inputs = tokens if source is None else (source, tokens)
        scores, state = logits(weights, state, inputs, model_key)
        drawn = _chosen(scores[:, -1], keys, counts, options, is_greedy, leaves_out)
        return drawn, state, drawn[:, None], counts + 1

    return step


def _renewed(
    logits: Step, weights: Any, state: Packed, inputs: Any, key: Any
) -> tuple[Any, Packed]:
    """`logits`, with a state whose arrays are all computed by the program.

    `jit` returns an argument that is also a result unchanged; if it was donated, it is deleted.
    """
    scores, new = logits(weights, state, inputs, key)
    old = {id(x) for x in state.flat}
    flat = [optimization_barrier(x) if id(x) in old else x for x in new.flat]
    return scores, Packed(flat, new.tree)


def step_of_prefixes(logits: Step, is_greedy: bool, leaves_out: bool) -> Step:
    """A function that maps (weights, state, tokens, lengths, counts, …) to the next tokens."""

    def step(weights, state, tokens, lengths, counts, source, keys, model_key, options):  # type: ignore[no-untyped-def]
        inputs = tokens if source is None else (source, tokens)
        scores, _ = logits(weights, state, inputs, model_key)
        # the model shifts its input, so the logits at a position predict the token there
        last = jnp.take_along_axis(scores, lengths[:, None, None], axis=1)[:, 0]
        return _chosen(last, keys, counts, options, is_greedy, leaves_out)

    return step


def _chosen(
    logits: Any, keys: Any, counts: Any, options: Sampling, is_greedy: bool, leaves_out: bool
) -> Any:
    if is_greedy:
        return most_likely(logits)
    return sampled(
        logits, fastmath.vmap(fastmath.random.fold_in)(keys, counts), options, leaves_out
    )


def read_tokens(name: str, drawn: Any) -> onp.ndarray:
    """The tokens from a step. Raises FloatingPointError if the logits were NaN."""
    tokens = onp.asarray(drawn)
    if (tokens < 0).any():
        row = int(onp.flatnonzero(tokens < 0)[0])
        raise noted(
            FloatingPointError(
                f"{name}: the logits of row {row} are NaN\n"
                "  fix: a model with room for all positions of prompt and result, by its max_len; "
                "or other weights"
            )
        )
    return tokens

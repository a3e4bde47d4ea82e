"""beam_search: searches for the most likely sequences of a model."""

import collections
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as onp

from .. import fastmath, option_checks
from ..fastmath import numpy as jnp
from ..layers.base import Layer
from ..layers.core import log_softmax
from ..shapes import ShapeDtype
from ..user_lines import noted
from .decoders import Decoder, Packed, decoder_of, logits_of
from .prompts import Prompts, start_tokens
from .requests import read_tokens

__all__ = ["beam_search"]


def beam_search(
    model: Layer,
    inputs: Any = None,
    batch_size: int = 1,
    n_beams: int = 2,
    start_id: Any = 0,
    eos_id: int = 1,
    max_length: int = 100,
    length_penalty: float = 1.0,
    accelerate: bool = True,
    *,
    pad_id: int | None = None,
    fill_id: int = 0,
) -> list[tuple[onp.ndarray, onp.ndarray]]:
    """Searches for the most likely sequences of a model, keeping `n_beams` prefixes.

    A sequence of n new tokens has the score log p / ((5 + n) / 6) ** length_penalty. At each step
    the `n_beams` most likely prefixes of each row continue, and the best finished sequences are
    kept. A row is finished when no prefix can get a better score than `n_beams` finished
    sequences, or after `max_length` tokens; then the prefixes count as sequences too.

    Args:
      model, inputs, batch_size, start_id, accelerate, pad_id: as for
        `autoregressive_sample_stream`. The rows of a batch do not depend on each other.
      n_beams: the number of prefixes, and of returned sequences.
      eos_id: the token that ends a sequence; -1 for none.
      max_length: the maximal number of new tokens of a sequence.
      length_penalty: 0 uses log p itself, which favours short sequences; greater values favour
        longer ones.
      fill_id: the token that fills a sequence after its end.
    Returns: a list of pairs, the best first: integers [batch_size, length], without the prompts,
      and scores, float32 [batch_size]. Missing sequences have the score -inf.
    Raises: TypeError, ValueError: an option is invalid. FloatingPointError: logits are NaN.
    Example:
      >>> from weft import models
      >>> from weft.shapes import ShapeDtype
      >>> model = models.TransformerLM(9, d_model=4, d_ff=8, n_layers=1, n_heads=2, mode="eval")
      >>> _ = model.init(ShapeDtype((1, 5), np.int32), rng=random.PRNGKey(0))
      >>> best, second = beam_search(model, [[5, 2]], eos_id=-1, max_length=6)
      >>> best[0].shape, bool(best[1][0] >= second[1][0])
      ((1, 6), True)
    Source: length penalty: Wu et al. (2016), arXiv:1609.08144; Trax documentation,
      `supervised.decoding.beam_search`, where eos_id and length_penalty have no effect.
    """
    name = "beam_search"
    prompts = Prompts.read(name, inputs, batch_size, pad_id)
    start = start_tokens(name, start_id, batch_size)
    k = option_checks.whole_number(name, "n_beams", n_beams)
    eos = option_checks.whole_number(name, "eos_id", eos_id, least=-1)
    length = option_checks.whole_number(name, "max_length", max_length)
    alpha = float(option_checks.number(name, "length_penalty", length_penalty, least=0.0))
    option_checks.flag(name, "accelerate", accelerate)
    fill = option_checks.whole_number(name, "fill_id", fill_id, least=0)
    if not fastmath.is_backend(fastmath.Backend.JAX):
        raise noted(
            ValueError(
                f"{name}: expected the backend 'jax'; got {fastmath.backend_name()!r}\n"
                "  fix: fastmath.set_backend('jax')"
            )
        )
    decoder = decoder_of(name, model, "predict")
    source = None
    if model.n_in == 2:
        if inputs is None:
            raise noted(
                ValueError(
                    f"{name}: {model.name} has two inputs, of which inputs must be the first; got "
                    "None"
                )
            )
        source, prompts = prompts.tokens[:, None], Prompts.read(name, None, batch_size)
    prompts = prompts.behind(start)
    # Rows with longer prompts read prompt tokens while other rows draw new tokens.
    waits = prompts.lengths - prompts.lengths.min()
    rows = [_Row(k, length, alpha, eos) for _ in waits]
    search = _Search(decoder, model, source, prompts, (k, eos), accelerate)
    for step, candidates in enumerate(search.candidates(int(waits.max()) + length)):
        for row, wait, of_row in zip(rows, waits, zip(*candidates, strict=True), strict=True):
            if step >= wait:
                row.add(*of_row)
        if all(row.is_done for row in rows):
            break
    return _as_pairs([row.ended for row in rows], k, fill)


class _Candidates(NamedTuple):
    """Prefixes with one more token: arrays [batch, 2 n_beams], in order of decreasing log p."""

    log_p: Any
    parent: Any
    token: Any
    chosen: Any  # the indices of the candidates that continue, [batch, n_beams]


class _Row:
    """The search for the sequences of one row. A `_Search` extends its prefixes."""

    def __init__(self, n_beams: int, max_length: int, alpha: float, eos: int) -> None:
        self._n_beams, self._max, self._alpha, self._eos = n_beams, max_length, alpha, eos
        self._prefixes: list[tuple[int, ...]] = [()] * n_beams
        self._length = 0
        self.ended: list[tuple[float, tuple[int, ...]]] = []
        self.is_done = False

    def add(self, log_p: Any, parent: Any, token: Any, chosen: Any) -> None:
        """Processes the candidates of a step."""
        if self.is_done:
            return
        self._length += 1
        ends, is_last = token == self._eos, self._length == self._max
        goes_on = onp.zeros(len(token), bool)
        goes_on[chosen] = ~ends[chosen]
        for i in onp.flatnonzero(onp.isfinite(log_p) & (ends | (goes_on & is_last))):
            tokens = (*self._prefixes[parent[i]], int(token[i]))
            self.ended.append((self._score(log_p[i], self._length), tokens))
        self.ended = sorted(self.ended, key=lambda one: -one[0])[: self._n_beams]
        self._prefixes = [(*self._prefixes[parent[i]], int(token[i])) for i in chosen]
        # an upper bound: log p only decreases, and the longest sequence has the greatest divisor
        best = self._score(onp.max(log_p, where=goes_on, initial=-onp.inf), self._max)
        worst = self.ended[-1][0] if len(self.ended) == self._n_beams else -onp.inf
        self.is_done = is_last or worst >= best

    def _score(self, log_p: Any, n: int) -> float:
        return float(log_p) / ((5 + n) / 6) ** self._alpha


def _as_pairs(
    rows: list[list[tuple[float, tuple[int, ...]]]], n_beams: int, fill: int
) -> list[tuple[onp.ndarray, onp.ndarray]]:
    """The sequences and scores of all rows, sorted by score within each row."""
    longest = max(len(tokens) for row in rows for _, tokens in row)
    pairs = []
    for rank in range(n_beams):
        tokens = onp.full((len(rows), longest), fill, onp.int32)
        scores = onp.full(len(rows), -onp.inf, onp.float32)
        for i, row in enumerate(rows):
            if rank < len(row):
                scores[i], sequence = row[rank]
                tokens[i, : len(sequence)] = sequence
        pairs.append((tokens, scores))
    return pairs


class _Search:
    """Beams of prefixes of a batch of rows, which grow by a token at each step.

    The model is mapped over rows, so the state of a row is one element of the first axis of each
    array, however a layer's state is laid out.
    """

    def __init__(
        self,
        decoder: Decoder,
        model: Layer,
        source: Any,
        prompts: Prompts,
        beams: tuple[int, int],
        compiles: bool,
    ) -> None:
        self._prompts, self._source = prompts, source
        self._k, self._eos = beams
        key = fastmath.random.get_prng(0)
        one: Any = ShapeDtype((1, 1), onp.int32)
        two: Any = ShapeDtype((1, 2), onp.int32)
        if source is not None:
            one, two = [(ShapeDtype(source.shape[1:], onp.int32), x) for x in (one, two)]
        self._weights, state = decoder.begin("beam_search", model, one, key)
        first = prompts.tokens[:, : prompts.lengths.min()]
        self._pieces = decoder.pieces(first, two, self._weights, state, key)
        mapped = functools.partial(_of_rows, decoder.twin, key)
        if compiles:
            self._read = decoder.function("rows", lambda: fastmath.jit(mapped))
            self._step = decoder.function(
                "beams", lambda: fastmath.jit(functools.partial(_step, mapped), donate_argnums=1)
            )
        else:
            self._read, self._step = mapped, functools.partial(_step, mapped)
        n = len(prompts.lengths)
        self._state = _map_arrays(lambda x: jnp.broadcast_to(x, (n, *x.shape)), state)

    def candidates(self, n_steps: int) -> Iterator[_Candidates]:
        """The candidates of each step."""
        least, k = int(self._prompts.lengths.min()), self._k
        source, state = self._source, self._state
        for piece in self._pieces:
            logits, state = self._read(self._weights, state, source, jnp.asarray(piece[:, None]))
        state = _map_arrays(lambda x: jnp.repeat(x, k, axis=0), state)
        logits = jnp.repeat(logits, k, axis=0)
        source = None if source is None else jnp.asarray(onp.repeat(source, k, axis=0))
        sums = onp.full((len(self._prompts.lengths), k), -onp.inf, onp.float32)
        sums[:, 0] = 0.0  # at first, only one beam counts, because all are equal
        beams = (state, logits, jnp.asarray(sums))
        under_way: collections.deque[tuple[_Candidates, Any]] = collections.deque()
        for n in range(n_steps):
            prompted = onp.full(len(sums), -1, onp.int32)
            is_prompted = n < self._prompts.lengths - least
            if is_prompted.any():
                prompted[is_prompted] = self._prompts.tokens[is_prompted, least + n]
            results, is_nan, beams = self._step(self._weights, beams, source, prompted, self._eos)
            under_way.append((results, is_nan))
            if n:  # the next step runs while the candidates are processed
                yield _read(*under_way.popleft())
        yield _read(*under_way.popleft())


def _read(candidates: _Candidates, is_nan: Any) -> _Candidates:
    """Candidates as NumPy arrays. Raises FloatingPointError if the logits were NaN."""
    read_tokens("beam_search", -onp.asarray(is_nan).astype(int))
    return _Candidates(*map(onp.asarray, candidates))


def _step(
    mapped: Callable[..., Any], weights: Any, beams: Any, source: Any, prompted: Any, eos: Any
) -> Any:
    """(candidates, mask of rows with NaN, beams that continue); beams are (state, logits, log
    p)."""
    state, logits, sums = beams
    (n, k), size = sums.shape, logits.shape[-1]
    logp = jnp.reshape(log_softmax(logits, axis=-1), (n, k, size))
    is_prompted = prompted[:, None] >= 0
    of_prompt = jnp.where(jnp.arange(size) == prompted[:, None], 0.0, -jnp.inf)
    is_nan = jnp.any(jnp.isnan(logp), axis=(1, 2))
    logp = jnp.where(is_prompted[..., None], of_prompt[:, None], logp)
    totals = jnp.reshape(sums[..., None] + logp, (n, k * size))
    log_p, places = fastmath.top_k(totals, min(2 * k, k * size))
    parent, token = places // size, places % size
    ends = (token == eos) & ~is_prompted
    rank = jnp.arange(token.shape[1])
    chosen = jnp.argsort(jnp.where(ends, token.shape[1], 0) + rank, axis=1)[:, :k]

    def of_chosen(x: Any) -> Any:
        return jnp.take_along_axis(x, chosen, axis=1)

    sums = jnp.where(of_chosen(ends), -jnp.inf, of_chosen(log_p))
    rows = jnp.reshape(of_chosen(parent) + k * jnp.arange(n)[:, None], (-1,))
    state = _map_arrays(lambda x: jnp.take(x, rows, axis=0), state)
    tokens = jnp.reshape(of_chosen(token), (n * k, 1, 1)).astype(jnp.int32)
    logits, state = mapped(weights, state, source, tokens)
    return _Candidates(log_p, parent, token, chosen), is_nan, (state, logits, sums)


def _of_rows(
    twin: Layer, key: Any, weights: Any, state: Packed, source: Any, tokens: Any
) -> tuple[Any, Packed]:
    """(logits [rows, vocabulary], state) for tokens [rows, 1, 1]; the model is mapped over rows."""
    forms = []

    def of_row(flat: Any, source: Any, tokens: Any) -> Any:
        inputs = tokens if source is None else (source, tokens)
        logits, new = logits_of(twin, weights, Packed(flat, state.tree), inputs, key)
        forms.append(new.tree)
        return logits[0, -1].astype(jnp.float32), new.flat

    axes = (0, None if source is None else 0, 0)
    logits, flat = fastmath.vmap(of_row, axes)(state.flat, source, tokens)
    return logits, Packed(flat, forms[-1])


def _map_arrays(f: Callable[[Any], Any], state: Packed) -> Packed:
    """Applies a function to the arrays of a state."""
    return Packed([f(x) for x in state.flat], state.tree)

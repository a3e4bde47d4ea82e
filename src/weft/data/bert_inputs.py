"""Inputs for BERT: CreateBertInputs, BertSingleSentenceInputs, BertDoubleSentenceInputs and
mask_random_tokens.

Source: Devlin et al., BERT (2019).
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .. import option_checks
from ..user_lines import noted
from .stages import Flow, RandomFlow, Unsuitable, bad_example, each

__all__ = [
    "BertDoubleSentenceInputs",
    "BertSingleSentenceInputs",
    "CreateBertInputs",
    "mask_random_tokens",
]


def CreateBertInputs(
    double_sentence: bool = True, labeled: bool = True, cls_id: int = 101, sep_id: int = 102
) -> Flow:
    """A stage that converts the ids of one or two sentences to BERT's input format.

    Ids become [CLS] s₁ [SEP], or [CLS] s₁ [SEP] s₂ [SEP]; segments are 0 up to the first [SEP],
    then 1.

    Args:
      double_sentence: whether examples have two sentences.
      labeled: whether a label follows the sentences.
      cls_id: the id of [CLS].
      sep_id: the id of [SEP].
    Returns: a stage from (s₁[, s₂][, label]) to (ids, segments, segments[, label, 1]); the third
      array is used as the mask, and the last value is the weight of the label.
    Raises:
      TypeError, ValueError: an option is invalid.
      ShapeError (while it runs): an example has the wrong form.
    Example:
      >>> import numpy
      >>> examples = [(numpy.array([5, 6]), numpy.array([7]), 1)]
      >>> ids, segments, _, label, weight = next(CreateBertInputs()(examples))
      >>> print(ids, segments)
      [101   5   6 102   7 102] [0 0 0 0 1 1]
    Source: Trax documentation, `data.CreateBertInputs`.
    """
    name = "CreateBertInputs"
    double = option_checks.flag(name, "double_sentence", double_sentence)
    return _inputs(name, 1 + double, labeled, cls_id, sep_id)


def BertSingleSentenceInputs(
    batch: Iterable[Any], labeled: bool = True, cls_id: int = 101, sep_id: int = 102
) -> Iterator[Any]:
    """Makes BERT's inputs from examples of one sentence, like `CreateBertInputs`.

    Args:
      batch: the examples, (sentence[, label]).
      labeled: whether there is a label.
      cls_id: the id of [CLS].
      sep_id: the id of [SEP].
    Returns: an iterator of (ids, segments, segments[, label, 1]).
    Raises: as `CreateBertInputs`.
    Example:
      >>> import numpy
      >>> next(BertSingleSentenceInputs([(numpy.array([5]),)], labeled=False))[0]
      array([101,   5, 102])
    Source: Trax documentation, `data.BertSingleSentenceInputs`.
    """
    return _inputs("BertSingleSentenceInputs", 1, labeled, cls_id, sep_id)(batch)


def BertDoubleSentenceInputs(
    batch: Iterable[Any], labeled: bool = True, cls_id: int = 101, sep_id: int = 102
) -> Iterator[Any]:
    """Makes BERT's inputs from examples of two sentences, like `CreateBertInputs`.

    Args:
      batch: the examples, (first, second[, label]).
      labeled: whether there is a label.
      cls_id: the id of [CLS].
      sep_id: the id of [SEP].
    Returns: an iterator of (ids, segments, segments[, label, 1]).
    Raises: as `CreateBertInputs`.
    Example:
      >>> import numpy
      >>> examples = [(numpy.array([5]), numpy.array([6]), 0)]
      >>> next(BertDoubleSentenceInputs(examples))[0]
      array([101,   5, 102,   6, 102])
    Source: Trax documentation, `data.BertDoubleSentenceInputs`.
    """
    return _inputs("BertDoubleSentenceInputs", 2, labeled, cls_id, sep_id)(batch)


def _inputs(name: str, sentences: int, labeled: bool, cls_id: int, sep_id: int) -> Flow:
    option_checks.flag(name, "labeled", labeled)
    cls = option_checks.whole_number(name, "cls_id", cls_id, 0)
    sep = option_checks.whole_number(name, "sep_id", sep_id, 0)
    n = sentences + bool(labeled)

    def join(example: Any) -> tuple[Any, ...]:
        is_tuple = isinstance(example, tuple | list) and len(example) == n
        if not is_tuple or any(np.ndim(x) != 1 for x in example[:sentences]):
            label = " and a label" if labeled else ""
            raise Unsuitable(f"a tuple of {sentences} arrays with one axis{label}")
        parts = [np.concatenate([[cls], example[0], [sep]])]
        parts += [np.concatenate([x, [sep]]) for x in example[1:sentences]]
        ids = np.concatenate(parts).astype(np.asarray(example[0]).dtype)
        segments = np.repeat(np.arange(sentences, dtype=np.int32), list(map(len, parts)))
        end = (example[-1], np.int32(1)) if labeled else ()
        return ids, segments, segments, *end

    return each(name, join)


def mask_random_tokens(
    batch: Iterable[Any],
    explicit_vocab_size: int = 30522,
    masking_prob: float = 0.15,
    cls_id: int = 101,
    sep_id: int = 102,
    mask_id: int = 103,
    vocab_start_id: int = 999,
    *,
    seed: int | None = None,
) -> Iterator[Any]:
    """Masks some ids of examples, and adds the original ids.

    Of the n ids that are not [CLS] or [SEP], round(masking_prob · n) are chosen. 80 % of them
    become [MASK], 10 % become a random id, and 10 % stay unchanged. Examples without a chosen id
    are skipped.

    Args:
      batch: examples (ids, …), ids [length].
      explicit_vocab_size: the exclusive upper bound of random ids.
      masking_prob: the fraction of ids to choose.
      cls_id: the id of [CLS].
      sep_id: the id of [SEP].
      mask_id: the id of [MASK].
      vocab_start_id: the inclusive lower bound of random ids.
      seed: the random seed; None draws one from NumPy's global generator.
    Returns: an iterator of (masked ids, …, ids, weights), weights float32 [length] with sum 1:
      equal for the chosen ids, otherwise 0.
    Raises:
      TypeError, ValueError: an option is invalid.
      ShapeError (while it runs): an example does not begin with an array of one axis.
    Example:
      >>> import numpy
      >>> ids = numpy.array([101, 2000, 2001, 2002, 2003, 102])
      >>> masked, target, weights = next(mask_random_tokens([(ids,)], masking_prob=0.5, seed=0))
      >>> print(weights)
      [0.  0.  0.  0.5 0.5 0. ]
    Source: Trax documentation, `data.mask_random_tokens`, which writes into the ids.
    """
    name = "mask_random_tokens"
    for option, value in (("cls_id", cls_id), ("sep_id", sep_id), ("mask_id", mask_id)):
        option_checks.whole_number(name, option, value, 0)
    low = option_checks.whole_number(name, "vocab_start_id", vocab_start_id, 0)
    high = option_checks.whole_number(name, "explicit_vocab_size", explicit_vocab_size)
    if low >= high:
        raise noted(
            ValueError(f"{name}: vocab_start_id must be less than {high}; got {vocab_start_id}")
        )
    rate = option_checks.number(name, "masking_prob", masking_prob, 0.0, 1.0)

    def run(examples: Iterator[Any], rng: np.random.Generator) -> Iterator[Any]:
        for number, example in enumerate(examples):
            if not isinstance(example, tuple | list) or not example or np.ndim(example[0]) != 1:
                raise bad_example(name, number, example, "a tuple whose first array has one axis")
            ids = np.asarray(example[0])
            places = np.flatnonzero((ids != cls_id) & (ids != sep_id))
            chosen = rng.choice(places, round(rate * len(places)), replace=False)
            if not len(chosen):
                continue
            masked, weights = ids.copy(), np.zeros(len(ids), np.float32)
            weights[chosen] = 1 / len(chosen)
            kind = rng.random(len(chosen))
            masked[chosen[kind < 0.8]] = mask_id
            others = chosen[(kind >= 0.8) & (kind < 0.9)]
            masked[others] = rng.integers(low, high, len(others))
            yield masked, *example[1:], ids, weights

    return RandomFlow(name, run, seed)(batch)

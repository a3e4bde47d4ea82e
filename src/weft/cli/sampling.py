"""Samples of a language model: Codec converts text to tokens and back, written_text yields a sample
piece by piece, and Samples logs samples during training.
"""

import codecs
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import data
from ..layers.base import Layer
from ..random import PRNGKey, fold_in
from ..supervised.callbacks import TrainingStepCallback
from ..supervised.decoding import autoregressive_sample_stream
from ..supervised.run_log import RunLog
from .config import Config

__all__ = ["Codec", "Samples", "written_text"]

TOKENIZERS = ("Tokenize", "SentencePieceTokenize")


class Codec:
    """Converts text to tokens and back, with the tokenizer of the data stages; without one, tokens
    are bytes.

    Args:
      tables: the tables of the configuration.

    Example:
      >>> codec = Codec({"data": {"stages": []}})
      >>> codec.tokens("né"), "".join(codec.texts([110, 195, 169]))
      ([110, 195, 169], 'né')
    """

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._options: dict[str, Any] | None = None
        for stage in tables["data"].get("stages", ()):
            name = stage if isinstance(stage, str) else stage["name"]
            options = {} if isinstance(stage, str) else dict(stage)
            if name == "Tokenize":
                keys = ("vocab_type", "vocab_file", "vocab_dir", "n_reserved_ids")
                self._options = {key: options[key] for key in keys if key in options}
            elif name == "SentencePieceTokenize":
                path = options.get("spm_path")
                self._options = {"vocab_type": "sentencepiece", "vocab_file": path}

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text."""
        if self._options is None:
            return [*text.encode()]
        return [int(i) for i in next(iter(data.tokenize([text], **self._options)))]

    def texts(self, tokens: Iterable[int]) -> Iterator[str]:
        """The text of a stream of tokens, piece by piece; invalid bytes become U+FFFD."""
        if self._options is None:
            yield from _texts_of_bytes(tokens)
            return
        all_tokens: list[int] = []
        shown = ""
        for token in tokens:
            all_tokens.append(token)
            text = data.detokenize(np.array(all_tokens), **self._options)
            if text.startswith(shown) and not text.endswith("\N{REPLACEMENT CHARACTER}"):
                yield text[len(shown) :]
                shown = text
        rest = data.detokenize(np.array(all_tokens), **self._options) if all_tokens else ""
        yield rest[len(shown) :]


def _texts_of_bytes(tokens: Iterable[int]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token in tokens:
        if token < 256:
            yield decoder.decode(bytes([token]))
        else:
            yield "\N{REPLACEMENT CHARACTER}"
    yield decoder.decode(b"", final=True)


def written_text(
    model: Layer, codec: Codec, options: Mapping[str, Any], number: int = 0
) -> Iterator[str]:
    """Yields the text of a sample of a language model, piece by piece, as tokens are drawn.

    Args:
      model: the model, with weights.
      codec: converts between text and tokens.
      options: the table `sample` of the configuration.
      number: the number of the sample, which seeds its random numbers.
    Returns: an iterator of texts, without the prompt.
    Raises: TypeError, ValueError: the model is not a language model, or an option is invalid.
      FloatingPointError (later): the sample is longer than the model's `max_len`.
    """
    prompt = codec.tokens(options.get("prompt", ""))
    stream = autoregressive_sample_stream(
        model,
        [prompt] if prompt else None,
        temperature=options.get("temperature", 1.0),
        rng=fold_in(PRNGKey(options.get("seed", 0)), number),
        top_k=options.get("top_k"),
        top_p=options.get("top_p"),
    )
    drawn = _until(stream, options.get("length", 200), options.get("eos_id", -1))
    return codec.texts(drawn)


def _until(stream: Iterator[np.ndarray], length: int, eos_id: int) -> Iterator[int]:
    """The tokens of the only row, up to a length or the end-of-sequence token."""
    for _ in range(length):
        token = int(next(stream)[0])
        if token == eos_id:
            return
        yield token


class Samples(TrainingStepCallback):
    """A training callback that logs a sample of the model every `every` steps.

    Args:
      loop: the training loop.
      config: the configuration.
      log: the loop's log.
    """

    def __init__(self, loop: Any, config: Config, log: RunLog) -> None:
        super().__init__(loop)
        self._options, self._log = config.tables["sample"], log
        self._codec = Codec(config.tables)

    def call_at(self, step: int) -> bool:
        return bool(step % self._options["every"] == 0)

    def on_step_end(self, step: int) -> None:
        pieces = written_text(self._loop.eval_model, self._codec, self._options)
        text = self._options.get("prompt", "") + "".join(pieces)
        self._log.text(step, "train", "sample", text)

"""Converts texts to ids and back: Tokenize, tokenize, detokenize, vocab_size, ConvertToUnicode,
SentencePieceTokenize and sentencepiece_tokenize. weft implements bytes, subwords and BERT's
WordPiece; `tokenizers` and `sentencepiece` need their packages. No vocabulary is downloaded.
"""

import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import option_checks
from ..option_checks import optional
from ..user_lines import noted
from .bert_encoder import BertEncoder
from .simple_encoders import ByteTextEncoder, to_unicode_ignore_errors
from .stages import Flow, Unsuitable, each
from .subword_encoder import SubwordTextEncoder

__all__ = [
    "ConvertToUnicode",
    "SentencePieceTokenize",
    "Tokenize",
    "detokenize",
    "sentencepiece_tokenize",
    "tokenize",
    "vocab_size",
]

PathLike: TypeAlias = str | os.PathLike[str]

VOCAB_TYPES = ("subword", "char", "sentencepiece", "tokenizers", "bert", "bert-lowercase")


class SentencePiece:
    """A model for the package sentencepiece."""

    def __init__(self, path: pathlib.Path, extra_ids: int = 0) -> None:
        package = optional("sentencepiece", "Tokenize: 'sentencepiece'", "sentencepiece")
        try:
            self._model = package.SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            raise noted(
                ValueError(f"Tokenize: {path} is not a model of sentencepiece ({error})")
            ) from None
        self.vocab_size = int(self._model.get_piece_size()) + extra_ids

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._model.encode(text)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        n = self._model.get_piece_size()
        return str(self._model.decode([i for i in ids if 0 <= i < n]))


class Tokenizers:
    """A tokenizer of the package tokenizers, loaded from its file `tokenizer.json`."""

    def __init__(self, path: pathlib.Path) -> None:
        package = optional("tokenizers", "Tokenize: 'tokenizers'", "tokenizers")
        try:
            self._tokenizer = package.Tokenizer.from_file(str(path))
        except Exception as error:  # the package raises this class itself
            raise noted(ValueError(f"Tokenize: {path} is not a tokenizer file ({error})")) from None
        self.vocab_size = int(self._tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids)))


def encoder_of(
    name: str, vocab_type: Any, vocab_file: PathLike | None, vocab_dir: PathLike | None
) -> Any:
    """The encoder for a vocabulary type and a file."""
    option_checks.choice(name, "vocab_type", vocab_type, VOCAB_TYPES)
    if vocab_type == "char":
        return ByteTextEncoder(num_reserved_ids=0)
    if vocab_file is None:
        raise noted(
            ValueError(
                f"{name}: vocab_type {vocab_type!r} needs vocab_file, the path of a vocabulary\n"
                "  fix: vocab_type='char' needs no file; nothing is downloaded"
            )
        )
    path = pathlib.Path(vocab_dir or "", vocab_file)
    if not path.is_file():
        raise noted(
            FileNotFoundError(
                f"{name}: there is no vocabulary {str(path)!r}\n"
                "  fix: a file of this machine; nothing is downloaded"
            )
        )
    makers: dict[str, Callable[[pathlib.Path], Any]] = {
        "subword": SubwordTextEncoder,
        "sentencepiece": SentencePiece,
        "tokenizers": Tokenizers,
        "bert": lambda path: BertEncoder(path, do_lower_case=False),
        "bert-lowercase": lambda path: BertEncoder(path, do_lower_case=True),
    }
    return makers[vocab_type](path)


def Tokenize(
    keys: Sequence[Any] | None = None,
    vocab_type: str = "subword",
    vocab_file: PathLike | None = None,
    vocab_dir: PathLike | None = None,
    n_reserved_ids: int = 0,
) -> Flow:
    """A stage that converts texts to ids.

    Args:
      keys: the positions in tuples, or the keys of dicts, of the texts; None for all.
      vocab_type: "char", the bytes of the text in UTF-8; "subword", a file of
        `text_encoder.SubwordTextEncoder`; "bert" or "bert-lowercase", a file of
        `text_encoder.BertEncoder`; "sentencepiece" or "tokenizers", a file for that package, which
        must be installed.
      vocab_file: the file of the vocabulary.
      vocab_dir: the folder of the file; None if `vocab_file` is a full path.
      n_reserved_ids: the number of reserved ids, which is added to all ids.
    Returns: a stage. Texts become int64 arrays [number of ids]; an example is a string, a tuple, a
      dict, or a list, which becomes a tuple.
    Raises:
      TypeError, ValueError: an option is invalid.
      FileNotFoundError: there is no such file.
      ImportError: the package is not installed.
      ShapeError (while it runs): an example does not have a key, or has no text there.
    Example:
      >>> list(Tokenize(keys=[0], vocab_type="char")([("abc", 7)]))
      [(array([97, 98, 99]), 7)]
    Source: Trax documentation, `data.Tokenize`.
    """
    return _tokenizing("Tokenize", keys, vocab_type, vocab_file, vocab_dir, n_reserved_ids)


def _tokenizing(
    name: str,
    keys: Sequence[Any] | None,
    vocab_type: str,
    vocab_file: PathLike | None,
    vocab_dir: PathLike | None,
    n_reserved_ids: int,
) -> Flow:
    reserved = option_checks.whole_number(name, "n_reserved_ids", n_reserved_ids, 0)
    encoder = encoder_of(name, vocab_type, vocab_file, vocab_dir)

    def ids(text: Any) -> np.ndarray:
        if isinstance(text, np.ndarray) and text.ndim == 0:
            text = text.item()
        if isinstance(text, bytes):
            text = to_unicode_ignore_errors(text)
        if not isinstance(text, str):
            raise Unsuitable("a text", f"{name}(keys=…) names the fields that are texts")
        return np.array(encoder.encode(text), np.int64) + reserved

    return each(name, on_keys(keys, ids))


def on_keys(keys: Sequence[Any] | None, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that applies another function to some fields of an example."""

    def apply(example: Any) -> Any:
        if isinstance(example, tuple | list | Mapping):
            is_dict = isinstance(example, Mapping)
            fields = dict(example) if is_dict else dict(enumerate(example))
            for key in fields if keys is None else keys:
                if key not in fields:
                    raise Unsuitable(f"a field {key!r}")
                fields[key] = function(fields[key])
            return fields if is_dict else tuple(fields.values())
        return function(example)

    return apply


def tokenize(
    stream: Iterable[Any],
    keys: Sequence[Any] | None = None,
    vocab_type: str = "subword",
    vocab_file: PathLike | None = None,
    vocab_dir: PathLike | None = None,
    n_reserved_ids: int = 0,
) -> Iterator[Any]:
    """Converts the texts of examples to ids, like `Tokenize`.

    Args:
      stream: the examples.
      keys: as for `Tokenize`.
      vocab_type: as for `Tokenize`.
      vocab_file: as for `Tokenize`.
      vocab_dir: as for `Tokenize`.
      n_reserved_ids: as for `Tokenize`.
    Returns: an iterator.
    Raises: as `Tokenize`.
    Example:
      >>> list(tokenize(["ab"], vocab_type="char"))
      [array([97, 98])]
    Source: Trax documentation, `data.tokenize`.
    """
    stage = _tokenizing("tokenize", keys, vocab_type, vocab_file, vocab_dir, n_reserved_ids)
    return stage(stream)


def detokenize(
    x: Iterable[int],
    vocab_type: str = "subword",
    vocab_file: PathLike | None = None,
    vocab_dir: PathLike | None = None,
    n_reserved_ids: int = 0,
) -> str:
    """Converts ids to text.

    Args:
      x: ids, an array or a list.
      vocab_type: as for `Tokenize`.
      vocab_file: as for `Tokenize`.
      vocab_dir: as for `Tokenize`.
      n_reserved_ids: as for `Tokenize`; smaller ids are ignored.
    Returns: a string.
    Raises: as `Tokenize`.
    Example:
      >>> detokenize([97, 98, 99], vocab_type="char")
      'abc'
    Source: Trax documentation, `data.detokenize`.
    """
    name = "detokenize"
    reserved = option_checks.whole_number(name, "n_reserved_ids", n_reserved_ids, 0)
    encoder = encoder_of(name, vocab_type, vocab_file, vocab_dir)
    ids = [int(i) - reserved for i in np.ravel(np.asarray(x))]
    return str(encoder.decode([i for i in ids if i >= 0]))


def vocab_size(
    vocab_type: str = "subword",
    vocab_file: PathLike | None = None,
    vocab_dir: PathLike | None = None,
    n_reserved_ids: int = 0,
) -> int:
    """The number of ids of a vocabulary.

    Args:
      vocab_type: as for `Tokenize`.
      vocab_file: as for `Tokenize`.
      vocab_dir: as for `Tokenize`.
      n_reserved_ids: the number of reserved ids, which is added.
    Returns: an int.
    Raises: as `Tokenize`.
    Example:
      >>> vocab_size("char", n_reserved_ids=2)
      258
    Source: Trax documentation, `data.vocab_size`.
    """
    reserved = option_checks.whole_number("vocab_size", "n_reserved_ids", n_reserved_ids, 0)
    return int(encoder_of("vocab_size", vocab_type, vocab_file, vocab_dir).vocab_size) + reserved


def ConvertToUnicode(keys: Sequence[Any] | None = None) -> Flow:
    """A stage that decodes UTF-8 bytes to strings; invalid bytes are ignored.

    Args:
      keys: the positions in tuples, or the keys of dicts; None for all.
    Returns: a stage. Fields that are not bytes are unchanged.
    Raises: ShapeError (while it runs): an example does not have a key.
    Example:
      >>> list(ConvertToUnicode(keys=["text"])([{"text": b"ab", "label": 1}]))
      [{'text': 'ab', 'label': 1}]
    Source: Trax documentation, `data.ConvertToUnicode`.
    """

    def text(x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.ndim == 0 and isinstance(x.item(), bytes):
            x = x.item()
        return to_unicode_ignore_errors(x) if isinstance(x, bytes) else x

    return each("ConvertToUnicode", on_keys(keys, text))


def SentencePieceTokenize(spm_path: PathLike | None = None, extra_ids: int = 0) -> Flow:
    """A stage that converts texts to ids with a model of the package sentencepiece.

    Args:
      spm_path: the file of the model.
      extra_ids: the number of ids after the ids of the model.
    Returns: a stage from strings, bare or in tuples of one, to int64 arrays [number of ids].
    Raises:
      ValueError: there is no `spm_path`, or it is not a model.
      FileNotFoundError: there is no such file.
      ImportError: the package is not installed.
      ShapeError (while it runs): an example is not a text.
    Example::

        tokens = data.Serial(data.Lines("texts/*.txt"), data.SentencePieceTokenize("spm.model"))

    Source: Trax documentation, `data.SentencePieceTokenize`.
    """
    name = "SentencePieceTokenize"
    option_checks.whole_number(name, "extra_ids", extra_ids, 0)
    if spm_path is None:
        raise noted(
            ValueError(
                f"{name}: spm_path must be the path of a model; got None\n"
                "  fix: a file of this machine; nothing is downloaded"
            )
        )
    encoder = encoder_of(name, "sentencepiece", spm_path, None)

    def ids(example: Any) -> np.ndarray:
        text = example[0] if isinstance(example, tuple | list) and len(example) == 1 else example
        if isinstance(text, bytes):
            text = to_unicode_ignore_errors(text)
        if not isinstance(text, str):
            raise Unsuitable("a text")
        return np.array(encoder.encode(text), np.int64)

    return each(name, ids)


def sentencepiece_tokenize(
    stream: Iterable[Any], spm_path: PathLike | None = None, extra_ids: int = 0
) -> Iterator[Any]:
    """Converts texts to ids, like `SentencePieceTokenize`.

    Args:
      stream: the texts.
      spm_path: as for `SentencePieceTokenize`.
      extra_ids: as for `SentencePieceTokenize`.
    Returns: an iterator of int64 arrays [number of ids].
    Raises: as `SentencePieceTokenize`.
    Example::

        for ids in data.sentencepiece_tokenize(["to be or not to be"], "spm.model"):
            ...

    Source: Trax documentation, `data.sentencepiece_tokenize`.
    """
    return SentencePieceTokenize(spm_path, extra_ids)(stream)

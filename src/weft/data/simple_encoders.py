"""Encoders that convert text to ids by a rule or a list: TextEncoder, ByteTextEncoder,
TokenTextEncoder, ClassLabelEncoder, OneHotClassLabelEncoder and RealEncoder.

Ids below NUM_RESERVED_TOKENS stand for RESERVED_TOKENS. strip_ids, whitespace_tokenize,
is_unicode, native_to_unicode, to_unicode, to_unicode_utf8 and to_unicode_ignore_errors work on ids
and texts.
"""

import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import option_checks
from ..user_lines import noted

__all__ = [
    "EOS",
    "EOS_ID",
    "NUM_RESERVED_TOKENS",
    "PAD",
    "PAD_ID",
    "RESERVED_TOKENS",
    "RESERVED_TOKENS_BYTES",
    "ByteTextEncoder",
    "ClassLabelEncoder",
    "OneHotClassLabelEncoder",
    "RealEncoder",
    "TextEncoder",
    "TokenTextEncoder",
    "is_unicode",
    "native_to_unicode",
    "strip_ids",
    "to_unicode",
    "to_unicode_ignore_errors",
    "to_unicode_utf8",
    "whitespace_tokenize",
]

PAD = "<pad>"
EOS = "<EOS>"
RESERVED_TOKENS = [PAD, EOS]
NUM_RESERVED_TOKENS = len(RESERVED_TOKENS)
PAD_ID = 0
EOS_ID = 1
RESERVED_TOKENS_BYTES = [b"<pad>", b"<EOS>"]


def native_to_unicode(s: str | bytes) -> str:
    """A string; bytes are decoded as UTF-8.

    Args:
      s: a string or bytes.
    Returns: a string.
    Raises: UnicodeDecodeError: the bytes are not UTF-8.
    Example:
      >>> native_to_unicode(b"caf\\xc3\\xa9")
      'café'
    Source: Trax documentation, `data.text_encoder.native_to_unicode`.
    """
    return to_unicode(s)


def is_unicode(s: Any) -> bool:
    """True for a string, False for bytes and other objects.

    Args:
      s: any object.
    Returns: a bool.
    Example:
      >>> is_unicode("a"), is_unicode(b"a")
      (True, False)
    Source: Trax documentation, `data.text_encoder.is_unicode`.
    """
    return isinstance(s, str)


def to_unicode(s: str | bytes, ignore_errors: bool = False) -> str:
    """A string; bytes are decoded as UTF-8.

    Args:
      s: a string or bytes.
      ignore_errors: whether to drop bytes that are not UTF-8.
    Returns: a string.
    Raises: UnicodeDecodeError: the bytes are not UTF-8.
    Example:
      >>> to_unicode(b"ab\\xff", ignore_errors=True)
      'ab'
    Source: Trax documentation, `data.text_encoder.to_unicode`.
    """
    if isinstance(s, str):
        return s
    if not isinstance(s, bytes | bytearray):
        raise option_checks.wrong_type("to_unicode", "s", "a string or bytes", s)
    return s.decode(errors="ignore" if ignore_errors else "strict")


def to_unicode_ignore_errors(s: str | bytes) -> str:
    """A string; bytes are decoded as UTF-8, and invalid bytes are dropped.

    Args:
      s: a string or bytes.
    Returns: a string.
    Example:
      >>> to_unicode_ignore_errors(b"ab\\xff")
      'ab'
    Source: Trax documentation, `data.text_encoder.to_unicode_ignore_errors`.
    """
    return to_unicode(s, ignore_errors=True)


def to_unicode_utf8(s: bytes) -> str:
    """Decodes UTF-8 bytes.

    Args:
      s: bytes.
    Returns: a string.
    Raises: UnicodeDecodeError: the bytes are not UTF-8.
    Example:
      >>> to_unicode_utf8(b"ab")
      'ab'
    Source: Trax documentation, `data.text_encoder.to_unicode_utf8`.
    """
    return to_unicode(s)


def whitespace_tokenize(text: str) -> list[str]:
    """The words of a text.

    Args:
      text: a string.
    Returns: a list of strings.
    Example:
      >>> whitespace_tokenize("to be ")
      ['to', 'be']
    Source: Trax documentation, `data.text_encoder.whitespace_tokenize`.
    """
    return text.split()


def strip_ids(ids: Iterable[int], ids_to_strip: Iterable[int]) -> list[int]:
    """Removes trailing ids that are in a set.

    Args:
      ids: ids.
      ids_to_strip: the set.
    Returns: a list.
    Example:
      >>> strip_ids([5, 0, 7, 1, 0], [0, 1])
      [5, 0, 7]
    Source: Trax documentation, `data.text_encoder.strip_ids`.
    """
    result, extraneous = list(ids), set(ids_to_strip)
    while result and result[-1] in extraneous:
        result.pop()
    return result


class TextEncoder:
    """Base class of the encoders; it encodes texts of numbers, separated by spaces.

    Args:
      num_reserved_ids: the number of initial ids that are reserved for other uses; None means 0.

    `decode(encode(s)) == s`. `encode` does not append an id for the end.

    Example:
      >>> encoder = TextEncoder()
      >>> encoder.encode("5 0"), encoder.decode([7, 2])
      ([7, 2], '5 0')

    Source: Trax documentation, `data.text_encoder.TextEncoder`.
    """

    def __init__(self, num_reserved_ids: int | None = NUM_RESERVED_TOKENS) -> None:
        self._num_reserved_ids = option_checks.whole_number(
            type(self).__name__, "num_reserved_ids", num_reserved_ids or 0, 0
        )

    @property
    def num_reserved_ids(self) -> int:
        """The number of ids that do not stand for text."""
        return self._num_reserved_ids

    def encode(self, s: str) -> list[int]:
        """The ids of a text."""
        return [int(word) + self._num_reserved_ids for word in s.split()]

    def decode(self, ids: Iterable[int], strip_extraneous: bool = False) -> str:
        """The text of ids; `strip_extraneous` drops reserved ids at the end."""
        return " ".join(self.decode_list(self._stripped(ids, strip_extraneous)))

    def decode_list(self, ids: Iterable[int]) -> list[Any]:
        """The text of each id."""
        return [
            self._reserved(i) if i < self._num_reserved_ids else str(i - self._num_reserved_ids)
            for i in map(int, ids)
        ]

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        raise noted(NotImplementedError(f"{type(self).__name__} has no bound of its ids"))

    def _stripped(self, ids: Iterable[int], strip_extraneous: bool) -> list[int]:
        return strip_ids(ids, range(self._num_reserved_ids)) if strip_extraneous else list(ids)

    def _reserved(self, i: int) -> str:
        return RESERVED_TOKENS[i] if i < NUM_RESERVED_TOKENS else f"<reserved_{i}>"


class ByteTextEncoder(TextEncoder):
    """Encodes the UTF-8 bytes of texts.

    Example:
      >>> encoder = ByteTextEncoder()
      >>> encoder.encode("é"), encoder.decode([197, 171]), encoder.vocab_size
      ([197, 171], 'é', 258)

    Source: Trax documentation, `data.text_encoder.ByteTextEncoder`.
    """

    def encode(self, s: str) -> list[int]:
        """The ids of a text."""
        return [byte + self._num_reserved_ids for byte in s.encode()]

    def decode(self, ids: Iterable[int], strip_extraneous: bool = False) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD."""
        parts = self.decode_list(self._stripped(ids, strip_extraneous))
        return b"".join(parts).decode(errors="replace")

    def decode_list(self, ids: Iterable[int]) -> list[bytes]:
        """The byte of each id, or the name of a reserved one."""
        n = self._num_reserved_ids
        return [self._reserved(i).encode() if i < n else bytes([i - n]) for i in map(int, ids)]

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return 256 + self._num_reserved_ids


class TokenTextEncoder(TextEncoder):
    """Encodes words, which are separated by spaces.

    Args:
      vocab_filename: a file with one word per line; the line number is the id. None for
        `vocab_list`.
      reverse: whether to reverse the order of ids.
      vocab_list: the words, if there is no file; the reserved tokens come before them.
      replace_oov: the word that replaces unknown words; None raises an error for them.
      num_reserved_ids: the number of reserved ids before those of `vocab_list`.

    Raises: ValueError: neither or both of the vocabularies are given.

    Example:
      >>> encoder = TokenTextEncoder(None, vocab_list=["to", "be"])
      >>> encoder.encode("be to"), encoder.decode([2, 3, 9])
      ([3, 2], 'to be ID_9')

    Source: Trax documentation, `data.text_encoder.TokenTextEncoder`.
    """

    def __init__(
        self,
        vocab_filename: str | os.PathLike[str] | None,
        reverse: bool = False,
        vocab_list: Sequence[str] | None = None,
        replace_oov: str | None = None,
        num_reserved_ids: int = NUM_RESERVED_TOKENS,
    ) -> None:
        super().__init__(num_reserved_ids)
        self._reverse = option_checks.flag("TokenTextEncoder", "reverse", reverse)
        self._replace_oov = replace_oov
        if (vocab_filename is None) == (vocab_list is None):
            raise noted(
                ValueError("TokenTextEncoder: expected one of vocab_filename and vocab_list")
            )
        if vocab_list is not None:
            reserved = [self._reserved(i) for i in range(self._num_reserved_ids)]
            words = [*reserved, *(word for word in vocab_list if word not in reserved)]
        else:
            words = lines_of("TokenTextEncoder", vocab_filename)
        self._words = words
        self._ids = {word: i for i, word in enumerate(words)}

    def encode(self, s: str) -> list[int]:
        """The ids of the words of a text."""
        words = s.split()
        if self._replace_oov is not None:
            words = [word if word in self._ids else self._replace_oov for word in words]
        unknown = [word for word in words if word not in self._ids]
        if unknown:
            raise noted(
                ValueError(
                    f"TokenTextEncoder: {unknown[0]!r} is not in the vocabulary of "
                    f"{len(self._words)} words\n  fix: TokenTextEncoder(…, replace_oov=…)"
                )
            )
        ids = [self._ids[word] for word in words]
        return ids[::-1] if self._reverse else ids

    def decode(self, ids: Iterable[int], strip_extraneous: bool = False) -> str:
        """The words of ids, separated by spaces."""
        return " ".join(self.decode_list(self._stripped(ids, strip_extraneous)))

    def decode_list(self, ids: Iterable[int]) -> list[str]:
        """The word of each id; `ID_n` for an unknown one."""
        n = len(self._words)
        words = [self._words[i] if 0 <= i < n else f"ID_{i}" for i in map(int, ids)]
        return words[::-1] if self._reverse else words

    def store_to_file(self, filename: str | os.PathLike[str]) -> None:
        """Writes a file with one word per line."""
        pathlib.Path(filename).write_text("".join(f"{w}\n" for w in self._words), encoding="utf-8")

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return len(self._words)


def lines_of(name: str, filename: Any) -> list[str]:
    """The lines of a file, without surrounding whitespace."""
    if not isinstance(filename, str | os.PathLike):
        raise option_checks.wrong_type(name, "the file name", "a path", filename)
    try:
        with open(filename, encoding="utf-8", newline="\n") as file:
            return [line.strip() for line in file]
    except FileNotFoundError:
        raise noted(FileNotFoundError(f"{name}: there is no file {str(filename)!r}")) from None


class ClassLabelEncoder(TextEncoder):
    """Encodes the names of classes.

    Args:
      class_labels: the names.
      class_labels_fname: a file with one name per line, instead of `class_labels`.

    Raises: ValueError: there are no names.

    Example:
      >>> encoder = ClassLabelEncoder(["cat", "dog"])
      >>> encoder.encode("dog"), encoder.decode([0])
      (1, 'cat')

    Source: Trax documentation, `data.text_encoder.ClassLabelEncoder`.
    """

    def __init__(
        self,
        class_labels: Sequence[str] | None = None,
        class_labels_fname: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(num_reserved_ids=0)
        if class_labels is None and class_labels_fname is not None:
            class_labels = lines_of("ClassLabelEncoder", class_labels_fname)
        if not class_labels:
            raise noted(
                ValueError("ClassLabelEncoder: expected class_labels or class_labels_fname")
            )
        self._class_labels = list(class_labels)

    def encode(self, s: str) -> Any:
        """The id of a name."""
        if s not in self._class_labels:
            raise noted(
                ValueError(
                    f"{type(self).__name__}: {s!r} is none of the classes {self._class_labels[:20]}"
                )
            )
        return self._class_labels.index(s)

    def decode(self, ids: Any, strip_extraneous: bool = False) -> str:
        """The name of an id, or of an array or list with one id."""
        (i,) = np.ravel(ids)
        return self._class_labels[int(i)]

    def decode_list(self, ids: Any) -> list[str]:
        """The name of each id."""
        return [self._class_labels[int(i)] for i in np.ravel(ids)]

    @property
    def vocab_size(self) -> int:
        """The number of classes."""
        return len(self._class_labels)


class OneHotClassLabelEncoder(ClassLabelEncoder):
    """Encodes the names of classes as one-hot vectors.

    Example:
      >>> encoder = OneHotClassLabelEncoder(["cat", "dog"])
      >>> encoder.encode("dog"), encoder.decode([1, 0])
      ([0, 1], 'cat')

    Source: Trax documentation, `data.text_encoder.OneHotClassLabelEncoder`.
    """

    def encode(self, label_str: str, on_value: float = 1, off_value: float = 0) -> Any:
        """The vector of a name."""
        vector = [off_value] * len(self._class_labels)
        vector[super().encode(label_str)] = on_value
        return vector

    def decode(self, ids: Any, strip_extraneous: bool = False) -> str:
        """The name of a vector."""
        return self._class_labels[int(np.argmax(np.ravel(ids)))]


class RealEncoder:
    """Encodes numbers in a text, separated by spaces.

    Example:
      >>> RealEncoder().encode("1.5 2"), RealEncoder().decode([1.5, 2.0])
      ([1.5, 2.0], '1.5 2.0')

    Source: Trax documentation, `data.text_encoder.RealEncoder`.
    """

    def encode(self, s: str) -> list[float]:
        """The numbers of a text."""
        return [float(word) for word in s.split()]

    def decode(self, ids: Iterable[float], strip_extraneous: bool = False) -> str:
        """The text of numbers."""
        return " ".join(str(float(x)) for x in ids)

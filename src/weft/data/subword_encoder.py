"""SubwordTextEncoder: ids of parts of words, from a vocabulary that covers every text.

`tokenizer.encode` splits a text into tokens. Each token is escaped and ends with `_`. Then it is
split repeatedly at the longest prefix that is in the vocabulary. A backslash becomes two
backslashes, `_` becomes a backslash and `u`, and a character that is not in the vocabulary becomes
a backslash, its Unicode number and `;`. The vocabulary contains these characters and the digits, so
it can encode every text.

Source: the file format and the rules of Tensor2Tensor's vocabularies; Trax documentation,
`data.text_encoder.SubwordTextEncoder`.
"""

import collections
import os
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import option_checks
from ..user_lines import noted
from . import tokenizer
from .simple_encoders import RESERVED_TOKENS, TextEncoder, native_to_unicode, strip_ids

__all__ = ["SubwordTextEncoder"]

_ESCAPES = frozenset("\\_u;0123456789")
_ESCAPED = re.compile(r"\\u|\\\\|\\([0-9]+);")
_UNKNOWN = "\u3013"
_CACHED = 2**20


class SubwordTextEncoder(TextEncoder):
    """Converts between texts and ids of subwords.

    Args:
      filename: a vocabulary file in UTF-8, with one subword per line, in quotes or not; the line
        number is the id. None makes an encoder without a vocabulary, for `build_from_token_counts`.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: the file has no subwords.

    Example:
      >>> encoder = SubwordTextEncoder.build_from_generator(["to be or not to be"], 20)
      >>> encoder.decode(encoder.encode("not to be; bee"))
      'not to be; bee'

    Source: Trax documentation, `data.text_encoder.SubwordTextEncoder`.
    """

    def __init__(self, filename: str | os.PathLike[str] | None = None) -> None:
        super().__init__(num_reserved_ids=0)
        self.filename = filename
        self._parts: list[str] = []
        self._ids: dict[str, int] = {}
        self._longest = 0
        self._alphabet: frozenset[str] = _ESCAPES
        self._cache: dict[str, list[int]] = {}
        if filename is not None:
            parts = _read(filename)
            self._set_parts(parts, _ESCAPES.union(*parts))

    def _set_parts(self, parts: Sequence[str], alphabet: frozenset[str]) -> None:
        self._parts = list(parts)
        self._ids = {part: i for i, part in enumerate(parts) if part}
        self._longest = max(map(len, self._ids), default=0)
        self._alphabet = alphabet
        self._cache = {}

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return len(self._parts)

    @property
    def all_subtoken_strings(self) -> tuple[str, ...]:
        """The subwords of the vocabulary, in the order of their ids."""
        return tuple(self._ids)

    def encode(self, s: str | bytes) -> list[int]:
        """The ids of a text."""
        return self._encode_tokens(tokenizer.encode(native_to_unicode(s)))

    def encode_without_tokenizing(self, token_text: str | bytes) -> list[int]:
        """The ids of a text that is a single token."""
        return self._encode_tokens([native_to_unicode(token_text)])

    def _encode_tokens(self, tokens: Iterable[str]) -> list[int]:
        ids: list[int] = []
        for token in tokens:
            token_ids = self._cache.get(token)
            if token_ids is None:
                token_ids = [self._ids[part] for part in self._split(self._escape(token))]
                if len(self._cache) >= _CACHED:
                    self._cache = {}
                self._cache[token] = token_ids
            ids += token_ids
        return ids

    def decode(self, ids: Iterable[int], strip_extraneous: bool = False) -> str:
        """The text of ids; `strip_extraneous` drops reserved ids at the end."""
        if strip_extraneous:
            ids = strip_ids(ids, range(len(RESERVED_TOKENS)))
        escaped = "".join(self.decode_list(ids)).split("_")
        return tokenizer.decode([token for token in map(_unescape, escaped) if token])

    def decode_list(self, ids: Iterable[int]) -> list[str]:
        """The subword of each id; an empty string for an unknown id."""
        n = len(self._parts)
        return [self._parts[i] if 0 <= i < n else "" for i in map(int, ids)]

    def _escape(self, token: str) -> str:
        token = token.replace("\\", "\\\\").replace("_", "\\u")
        if not self._alphabet.issuperset(token):  # such as "\n"
            token = "".join(c if c in self._alphabet else f"\\{ord(c)};" for c in token)
        return token + "_"

    def _split(self, escaped: str) -> list[str]:
        """Splits an escaped token: repeatedly takes the longest prefix that is in the
        vocabulary."""
        parts, start, n = [], 0, len(escaped)
        while start < n:
            for end in range(min(n, start + self._longest), start, -1):
                if escaped[start:end] in self._ids:
                    break
            else:
                raise noted(
                    ValueError(
                        f"SubwordTextEncoder: the vocabulary {self.filename or ''} has no part for "
                        f"{escaped[start:]!r}\n"
                        "  fix: a vocabulary with each character of its parts, and of \\_u;0-9"
                    )
                )
            parts.append(escaped[start:end])
            start = end
        return parts

    @classmethod
    def build_from_generator(
        cls,
        generator: Iterable[str],
        target_size: int,
        max_subtoken_length: int | None = None,
        reserved_tokens: Sequence[str] | None = None,
    ) -> "SubwordTextEncoder":
        """Builds an encoder for texts with about `target_size` ids.

        Args:
          generator: the texts.
          target_size: the number of ids.
          max_subtoken_length: the largest length of subwords; None for no bound.
          reserved_tokens: the tokens of the first ids; None means `RESERVED_TOKENS`.
        Returns: the encoder.
        Raises: TypeError, ValueError: an option is invalid.
        """
        counts: collections.Counter[str] = collections.Counter()
        for text in generator:
            counts.update(tokenizer.encode(native_to_unicode(text)))
        return cls.build_to_target_size(
            target_size, counts, 1, 1000, max_subtoken_length, reserved_tokens
        )

    @classmethod
    def build_to_target_size(
        cls,
        target_size: int,
        token_counts: Mapping[str, int],
        min_val: int,
        max_val: int,
        max_subtoken_length: int | None = None,
        reserved_tokens: Sequence[str] | None = None,
        num_iterations: int = 4,
    ) -> "SubwordTextEncoder":
        """Builds an encoder with about `target_size` ids, by bisection of the minimal count of a
        subword.

        Args:
          target_size: the number of ids; the search ends within 1 % of it.
          token_counts: the number of times that each token occurs.
          min_val: the lower bound of the minimal count.
          max_val: the upper bound of the minimal count.
          max_subtoken_length: the largest length of subwords; None for no bound.
          reserved_tokens: the tokens of the first ids; None means `RESERVED_TOKENS`.
          num_iterations: as for `build_from_token_counts`.
        Returns: the encoder.
        Raises: TypeError, ValueError: an option is invalid.
        """
        name = "SubwordTextEncoder"
        target = option_checks.whole_number(name, "target_size", target_size)
        low = option_checks.whole_number(name, "min_val", min_val)
        high = option_checks.whole_number(name, "max_val", max_val, low)
        best: SubwordTextEncoder | None = None
        while low <= high:
            count = (low + high) // 2
            encoder = cls()
            encoder.build_from_token_counts(
                token_counts, count, num_iterations, reserved_tokens, max_subtoken_length
            )
            distance = abs(encoder.vocab_size - target)
            if best is None or distance < abs(best.vocab_size - target):
                best = encoder
            if distance * 100 < target or low == high or count < 2:
                break
            if encoder.vocab_size > target:
                low = count + 1
            else:
                high = count - 1
        assert best is not None
        return best

    def build_from_token_counts(
        self,
        token_counts: Mapping[str, int],
        min_count: int,
        num_iterations: int = 4,
        reserved_tokens: Sequence[str] | None = None,
        max_subtoken_length: int | None = None,
    ) -> None:
        """Builds the vocabulary from all characters and from the subwords that occur often enough.

        Args:
          token_counts: the number of times that each token occurs.
          min_count: the minimal count of a subword of several characters.
          num_iterations: the number of iterations. Each splits the tokens by the vocabulary of the
            previous one and counts subwords; the first vocabulary has only characters.
          reserved_tokens: the tokens of the first ids; None means `RESERVED_TOKENS`.
          max_subtoken_length: the largest length of subwords; None for no bound.
        Raises: TypeError, ValueError: an option is invalid.
        """
        name = "SubwordTextEncoder"
        option_checks.whole_number(name, "min_count", min_count)
        option_checks.whole_number(name, "num_iterations", num_iterations)
        if max_subtoken_length is not None:
            option_checks.whole_number(name, "max_subtoken_length", max_subtoken_length)
        reserved = RESERVED_TOKENS if reserved_tokens is None else list(reserved_tokens)
        alphabet = _ESCAPES.union(*token_counts, *map(native_to_unicode, reserved)) - {"\n"}
        self._set_parts(sorted(alphabet), alphabet)
        first = [self._escape(native_to_unicode(token)) for token in reserved]
        for _ in range(num_iterations):
            counts = self._counts_of_parts(token_counts, max_subtoken_length)
            parts = _frequent(counts, min_count, alphabet)
            self._set_parts([*first, *parts], alphabet)

    def _counts_of_parts(
        self, token_counts: Mapping[str, int], max_length: int | None
    ) -> collections.Counter[str]:
        """The counts of all substrings of tokens that begin where the current split has a
        boundary."""
        counts: collections.Counter[str] = collections.Counter()
        for token, count in token_counts.items():
            escaped, start = self._escape(token), 0
            for part in self._split(escaped):
                last = len(escaped) if max_length is None else start + max_length
                for end in range(start + 1, min(last, len(escaped)) + 1):
                    counts[escaped[start:end]] += count
                start += len(part)
        return counts

    def dump(self) -> None:
        """Prints all ids with their subwords."""
        print(", ".join(f"{i} : {part!r}" for part, i in self._ids.items()))

    def store_to_file(
        self, filename: str | os.PathLike[str], add_single_quotes: bool = True
    ) -> None:
        """Writes the vocabulary to a file.

        Args:
          filename: the file.
          add_single_quotes: whether to write subwords in quotes, which preserve spaces at the ends.
        """
        quote = "'" * bool(add_single_quotes)
        text = "".join(f"{quote}{part}{quote}\n" for part in self._parts)
        pathlib.Path(filename).write_text(text, encoding="utf-8", newline="\n")


def _read(filename: Any) -> list[str]:
    name = "SubwordTextEncoder"
    if not isinstance(filename, str | os.PathLike):
        raise option_checks.wrong_type(name, "filename", "a path", filename)
    try:
        text = pathlib.Path(filename).read_bytes().decode()
    except FileNotFoundError:
        raise noted(FileNotFoundError(f"{name}: there is no file {str(filename)!r}")) from None
    except UnicodeDecodeError as error:
        raise noted(ValueError(f"{name}: {filename} is not UTF-8 ({error.reason})")) from None
    lines = [line.rstrip() for line in text.split("\n")]
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise noted(ValueError(f"{name}: {filename} has no vocabulary"))
    return [line[1:-1] if _is_quoted(line) else line for line in lines]


def _is_quoted(line: str) -> bool:
    return len(line) > 1 and line[0] == line[-1] and line[0] in "'\""


def _unescape(escaped: str) -> str:
    return _ESCAPED.sub(_character, escaped)


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code is None:
        return "_" if match[0] == "\\u" else "\\"
    try:
        return chr(int(code))
    except (ValueError, OverflowError):
        return _UNKNOWN


def _frequent(
    counts: collections.Counter[str], min_count: int, alphabet: frozenset[str]
) -> list[str]:
    """The subwords that occur often enough, longest first; an occurrence of a subword does not
    count for its prefixes. All characters are included."""
    parts = []
    longest_first = sorted((p for p, n in counts.items() if n >= min_count), key=len, reverse=True)
    for part in longest_first:
        count = counts[part]
        if count < min_count:
            continue
        if part not in alphabet:
            parts.append((count, part))
        for end in range(1, len(part)):
            counts[part[:end]] -= count
    parts += [(counts[character], character) for character in alphabet]
    return [part for _, part in sorted(parts, reverse=True)]

"""Splits texts into words and the text between them: encode splits a text, decode joins the tokens.
corpus_token_counts and vocab_token_counts count tokens in files.

A token is a maximal run of letters and digits, or of other characters. A single space between two
words is not a token; decode inserts it again.
"""

import collections
import glob
import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence

from .. import option_checks
from ..user_lines import noted

__all__ = ["corpus_token_counts", "decode", "encode", "vocab_token_counts"]


def encode(text: str) -> list[str]:
    """The tokens of a text.

    Args:
      text: a string.
    Returns: a list of strings.
    Raises: TypeError: `text` is not a string.
    Example:
      >>> encode("Dude - so, it's 9pm.")
      ['Dude', ' - ', 'so', ', ', 'it', "'", 's', '9pm', '.']
    Source: Trax documentation, `data.tokenizer.encode`.
    """
    if not isinstance(text, str):
        raise option_checks.wrong_type("encode", "text", "a string", text)
    # str.isalnum is true for the Unicode categories L and N
    runs = ["".join(run) for _, run in itertools.groupby(text, str.isalnum)]
    last = len(runs) - 1
    return [run for i, run in enumerate(runs) if run != " " or i in (0, last)]


def decode(tokens: Sequence[str]) -> str:
    """The text of tokens.

    Args:
      tokens: strings, none of them empty.
    Returns: the text, with a space between two tokens that begin with a letter or a digit.
    Raises: ValueError: a token is empty.
    Example:
      >>> decode(["Dude", " - ", "so", ", ", "it", "'", "s", "9pm", "."])
      "Dude - so, it's 9pm."
    Source: Trax documentation, `data.tokenizer.decode`.
    """
    if not all(tokens):
        raise noted(ValueError(f"decode: tokens must not be empty; got {list(tokens)[:20]}"))
    parts = []
    for i, token in enumerate(tokens):
        if i and tokens[i - 1][0].isalnum() and token[0].isalnum():
            parts.append(" ")
        parts.append(token)
    return "".join(parts)


def corpus_token_counts(
    text_filepattern: str, corpus_max_lines: int, split_on_newlines: bool = True
) -> collections.Counter[str]:
    """The number of times that each token occurs in text files.

    Args:
      text_filepattern: a pattern of files, such as `texts/*.txt`.
      corpus_max_lines: the number of lines to read from all files together; 0 reads all.
      split_on_newlines: whether to tokenize each line separately, without its line end.
    Returns: a Counter of tokens.
    Raises: FileNotFoundError: there is no such file.
    Example:
      >>> import pathlib
      >>> _ = pathlib.Path("a.txt").write_text("to be\\nor not to be\\n")
      >>> corpus_token_counts("a.txt", 0)["be"]
      2
    Source: Trax documentation, `data.tokenizer.corpus_token_counts`.
    """
    name = "corpus_token_counts"
    most = option_checks.whole_number(name, "corpus_max_lines", corpus_max_lines, 0)
    option_checks.flag(name, "split_on_newlines", split_on_newlines)
    counts: collections.Counter[str] = collections.Counter()
    lines = _lines(name, text_filepattern, most)
    for text in (line.strip() for line in lines) if split_on_newlines else _texts(lines):
        counts.update(encode(text))
    return counts


def _texts(lines: Iterable[str]) -> Iterator[str]:
    """All lines as one text."""
    yield "".join(lines)


def _lines(name: str, pattern: str, most: int) -> Iterator[str]:
    paths = sorted(glob.glob(pattern))
    if not paths:
        raise noted(FileNotFoundError(f"{name}: there is no file {pattern!r}"))

    def read() -> Iterator[str]:
        for path in paths:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield from file

    return itertools.islice(read(), most or None)


def vocab_token_counts(text_filepattern: str, max_lines: int) -> dict[str, int]:
    """The counts of tokens in files with lines `token,count`.

    Args:
      text_filepattern: a pattern of files.
      max_lines: the number of lines to read from all files together; 0 reads all.
    Returns: a dict from tokens to counts. Other lines are logged and skipped.
    Raises: FileNotFoundError: there is no such file.
    Example:
      >>> import pathlib
      >>> _ = pathlib.Path("counts.txt").write_text("be,2\\nto,2\\n")
      >>> vocab_token_counts("counts.txt", 0)
      {'be': 2, 'to': 2}
    Source: Trax documentation, `data.tokenizer.vocab_token_counts`.
    """
    name = "vocab_token_counts"
    most = option_checks.whole_number(name, "max_lines", max_lines, 0)
    counts: dict[str, int] = {}
    for line in _lines(name, text_filepattern, most):
        token, comma, count = line.strip().rpartition(",")
        if comma and count.strip().isdecimal():
            counts[token] = int(count)
        else:
            logging.getLogger(__name__).warning("%s: skipped the line %r", name, line)
    return counts

"""WordPiece: BertEncoder combines BertBasicEncoder, which finds words, with BertWordpieceTokenizer,
which splits them.

Source: Devlin et al., BERT (2019), and the vocabularies published with it; Trax documentation,
`data.text_encoder.BertEncoder`.
"""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from .. import option_checks
from ..user_lines import noted
from .simple_encoders import lines_of, to_unicode_ignore_errors

__all__ = ["BertBasicEncoder", "BertEncoder", "BertWordpieceTokenizer"]


class BertEncoder:
    """Converts between texts and ids of word pieces.

    Args:
      vocab_file: a file with one piece per line; the line number is the id. Pieces inside a word
        begin with `##`.
      do_lower_case: whether to convert texts to lower case and remove accents.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: the vocabulary does not have `[UNK]`.

    Example:
      >>> import pathlib
      >>> _ = pathlib.Path("vocab.txt").write_text("[UNK]\\nun\\n##want\\n##ed\\n")
      >>> encoder = BertEncoder("vocab.txt")
      >>> encoder.encode("Unwanted!"), encoder.decode([1, 2, 3])
      ([1, 2, 3, 0], 'unwanted')

    Source: Trax documentation, `data.text_encoder.BertEncoder`.
    """

    def __init__(self, vocab_file: str | os.PathLike[str], do_lower_case: bool = True) -> None:
        self.vocab = self.load_vocab(vocab_file)
        if "[UNK]" not in self.vocab:
            raise noted(ValueError(f"BertEncoder: {vocab_file} has no line [UNK]"))
        self._pieces = {i: piece for piece, i in self.vocab.items()}
        self._words = BertBasicEncoder(do_lower_case)
        self._wordpiece = BertWordpieceTokenizer(self.vocab)

    def load_vocab(self, vocab_file: str | os.PathLike[str]) -> dict[str, int]:
        """Reads a vocabulary: a dict from the lines of a file to their numbers."""
        return {piece: i for i, piece in enumerate(lines_of("BertEncoder", vocab_file))}

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return len(self.vocab)

    def tokenize(self, text: str | bytes) -> list[str]:
        """The pieces of a text."""
        return [p for word in self._words.tokenize(text) for p in self._wordpiece.tokenize(word)]

    def encode(self, text: str | bytes) -> list[int]:
        """The ids of a text."""
        return [self.vocab[piece] for piece in self.tokenize(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The words of ids, separated by spaces; `[UNK]` for an unknown id."""
        pieces = [self._pieces.get(int(i), "[UNK]") for i in ids]
        return " ".join(pieces).replace(" ##", "")


class BertBasicEncoder:
    """Splits texts into words at spaces; each punctuation mark is a word of its own.

    Args:
      do_lower_case: whether to convert words to lower case and remove accents.

    Example:
      >>> BertBasicEncoder().tokenize("Élan, vite!")
      ['elan', ',', 'vite', '!']

    Source: Trax documentation, `data.text_encoder.BertBasicEncoder`.
    """

    def __init__(self, do_lower_case: bool = True) -> None:
        self.do_lower_case = option_checks.flag("BertBasicEncoder", "do_lower_case", do_lower_case)

    def tokenize(self, text: str | bytes) -> list[str]:
        """The words of a text; each Chinese character is a word."""
        cleaned = "".join(map(_cleaned, to_unicode_ignore_errors(text)))
        words: list[str] = []
        for word in cleaned.split():
            if self.do_lower_case:
                decomposed = unicodedata.normalize("NFD", word.lower())
                word = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
            words += _at_punctuation(word)
        return words


def _cleaned(c: str) -> str:
    """A character as text: whitespace becomes a space, control characters are removed, Chinese
    characters get spaces around them."""
    if c in " \t\n\r" or (category := unicodedata.category(c)) == "Zs":
        return " "
    if c in "\0\ufffd" or category in ("Cc", "Cf"):
        return ""
    return f" {c} " if _is_chinese(ord(c)) else c


_CHINESE = (  # the blocks of CJK ideographs
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _is_chinese(code: int) -> bool:
    return any(first <= code <= last for first, last in _CHINESE)


def _at_punctuation(word: str) -> Iterator[str]:
    rest = ""
    for c in word:
        if _is_punctuation(c):
            yield from (rest, c) if rest else (c,)
            rest = ""
        else:
            rest += c
    if rest:
        yield rest


def _is_punctuation(c: str) -> bool:
    """True for punctuation, including all ASCII symbols."""
    return (c.isascii() and not c.isalnum()) or unicodedata.category(c)[0] == "P"


class BertWordpieceTokenizer:
    """Splits words into pieces: repeatedly takes the longest piece that is in the vocabulary.

    Args:
      vocab: the pieces; pieces inside a word begin with `##`.
      unk_token: the token for a word that cannot be split into pieces.
      max_input_chars_per_word: longer words become `unk_token`.

    Example:
      >>> vocab = {"un": 0, "##want": 1, "##ed": 2}
      >>> BertWordpieceTokenizer(vocab).tokenize("unwanted")
      ['un', '##want', '##ed']

    Source: Trax documentation, `data.text_encoder.BertWordpieceTokenizer`.
    """

    def __init__(
        self,
        vocab: Mapping[str, int],
        unk_token: str = "[UNK]",
        max_input_chars_per_word: int = 200,
    ) -> None:
        self.vocab = vocab
        self.unk_token = unk_token
        self.max_input_chars_per_word = option_checks.whole_number(
            "BertWordpieceTokenizer", "max_input_chars_per_word", max_input_chars_per_word
        )

    def tokenize(self, text: str | bytes) -> list[str]:
        """The pieces of the words of a text."""
        words = to_unicode_ignore_errors(text).split()
        return [piece for word in words for piece in self._pieces(word)]

    def _pieces(self, word: str) -> list[str]:
        pieces, start = [], 0
        if len(word) > self.max_input_chars_per_word:
            return [self.unk_token]
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.vocab:
                    break
            else:
                return [self.unk_token]
            pieces.append(piece)
            start = end
        return pieces

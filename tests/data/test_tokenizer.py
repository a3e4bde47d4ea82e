"""The tokenizer: texts of mixed scripts come back; alphanumeric is what Unicode says."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings, strategies as st

from weft.data import tokenizer

TEXTS = {
    "Dude - so, it's 9pm.": ["Dude", " - ", "so", ", ", "it", "'", "s", "9pm", "."],
    "to be or": ["to", "be", "or"],
    " a": [" ", "a"],
    "a ": ["a", " "],
    " ": [" "],
    "a  b": ["a", "  ", "b"],
    "a\nb": ["a", "\n", "b"],
    "пять 5 五½": ["пять", "5", "五½"],
    "": [],
}


@pytest.mark.parametrize("text", TEXTS)
def test_tokens(text):
    assert tokenizer.encode(text) == TEXTS[text]
    assert tokenizer.decode(TEXTS[text]) == text


@given(st.text(st.sampled_from("ab1é五 .,\n_\\🙂") | st.characters(codec="utf-8")))
@settings(max_examples=200, deadline=None)
def test_texts_come_back(text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_alphanumeric_characters_are_those_of_unicode():
    for code in range(0, sys.maxunicode, 7):
        c = chr(code)
        expected = unicodedata.category(c)[0] in "LN"
        assert tokenizer.encode(f"a{c}") == ([f"a{c}"] if expected else ["a", c])


def test_errors():
    with pytest.raises(ValueError, match="decode: tokens must not be empty"):
        tokenizer.decode(["a", ""])
    with pytest.raises(TypeError, match="encode: text must be a string; got b'a'"):
        tokenizer.encode(b"a")


def test_counts(tmp_path, caplog):
    (tmp_path / "a.txt").write_text("to be\nor not\n")
    (tmp_path / "b.txt").write_text("to be\n")
    counts = tokenizer.corpus_token_counts(str(tmp_path / "*.txt"), 0)
    assert counts == {"to": 2, "be": 2, "or": 1, "not": 1}
    assert tokenizer.corpus_token_counts(str(tmp_path / "*.txt"), 1) == {"to": 1, "be": 1}
    whole = tokenizer.corpus_token_counts(str(tmp_path / "a.txt"), 0, split_on_newlines=False)
    assert whole == {"to": 1, "be": 1, "\n": 2, "or": 1, "not": 1}
    (tmp_path / "c.csv").write_text("to,2\n,,3\nbad\n\nbe,x\n")
    assert tokenizer.vocab_token_counts(str(tmp_path / "c.csv"), 0) == {"to": 2, ",": 3}
    assert caplog.text.count("skipped the line") == 3
    assert tokenizer.vocab_token_counts(str(tmp_path / "c.csv"), 1) == {"to": 2}
    for count in (tokenizer.corpus_token_counts, tokenizer.vocab_token_counts):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            count(str(tmp_path / "x*"), 0)
        with pytest.raises(ValueError, match="must be at least 0"):
            count("x", -1)

"""Text to tokens and back, in pieces that can be printed."""

import pytest

from weft import data
from weft.cli.sampling import Codec

BYTES = {"data": {"source": "StandardLibrary", "stages": ["AddLossWeights"]}}


def test_bytes_are_decoded_as_they_come():
    codec = Codec(BYTES)
    text = "a é 漢 🎵"
    tokens = codec.tokens(text)
    assert tokens == [*text.encode()]
    pieces = [*codec.texts(tokens)]
    assert "".join(pieces) == text
    assert pieces[0] == "a"
    assert "\N{REPLACEMENT CHARACTER}" not in pieces


def test_bytes_that_are_no_text_and_tokens_that_are_no_bytes():
    assert "".join(Codec(BYTES).texts([65, 255, 300, 66, 195])) == "A\ufffd\ufffdB\ufffd"


def test_nothing_is_nothing():
    assert Codec(BYTES).tokens("") == []
    assert "".join(Codec(BYTES).texts([])) == ""


def test_the_tokenizer_of_the_data_is_used():
    stage = {"name": "Tokenize", "vocab_type": "char", "n_reserved_ids": 3, "keys": [0]}
    codec = Codec({"data": {"stages": [stage]}})
    assert codec.tokens("ab") == [100, 101]
    text = "Größe"
    assert "".join(codec.texts(codec.tokens(text))) == text
    options = {"vocab_type": "char", "n_reserved_ids": 3}
    assert codec.tokens(text) == next(data.tokenize([text], **options)).tolist()


def test_a_piece_waits_until_its_character_is_whole():
    codec = Codec({"data": {"stages": [{"name": "Tokenize", "vocab_type": "char"}]}})
    pieces = [*codec.texts([*"é!".encode()])]
    assert "".join(pieces) == "é!"
    assert not any("\ufffd" in piece for piece in pieces)


def test_a_model_of_sentencepiece(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("to be or not to be that is the question\n" * 50)
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(tmp_path / "m"), vocab_size=19, minloglevel=9
    )
    stage = {"name": "SentencePieceTokenize", "spm_path": str(tmp_path / "m.model")}
    codec = Codec({"data": {"stages": [stage]}})
    assert "".join(codec.texts(codec.tokens("to be or not"))) == "to be or not"

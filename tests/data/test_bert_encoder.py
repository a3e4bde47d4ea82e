"""WordPiece, against the package tokenizers where it is installed."""

import pytest

from weft.data.text_encoder import BertBasicEncoder, BertEncoder, BertWordpieceTokenizer

# fmt: off
PIECES = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##want", "##ed", "runn", "##ing", "want",
    "elan", "Él", "##an", ",", "!", "中", "文", "a", "##a", "##b", "'", "-", "9", "##9", "ü", "u",
]
# fmt: on
TEXTS = [
    "unwanted running",
    "UNwanted, running!",
    "Élan élan ELAN",
    "a\tb\u00a0a\r\nab aab\u200b aa\x00a",
    "中文a中 want-ed 99'9",
    "ü Ü",
    "",
    "   ",
    "xyz " + "a" * 201,
    "a" * 200,
]


@pytest.fixture
def vocab_file(tmp_path):
    (tmp_path / "vocab.txt").write_text("".join(f"{p}\n" for p in PIECES), encoding="utf-8")
    return tmp_path / "vocab.txt"


@pytest.mark.parametrize("lower", [True, False])
def test_pieces_are_those_of_the_package_tokenizers(vocab_file, lower):
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {p: i for i, p in enumerate(PIECES)}
    model = tokenizers.models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=200)
    other = tokenizers.Tokenizer(model)
    other.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lower)
    other.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    encoder = BertEncoder(vocab_file, do_lower_case=lower)
    for text in TEXTS:
        assert encoder.encode(text) == other.encode(text).ids, text


def test_encode_and_decode(vocab_file):
    encoder = BertEncoder(vocab_file)
    assert encoder.tokenize("Unwanted, RUNNING") == ["un", "##want", "##ed", ",", "runn", "##ing"]
    assert encoder.decode(encoder.encode("unwanted, running")) == "unwanted , running"
    assert encoder.encode(b"want\xff!") == encoder.encode("want!")
    assert encoder.decode([5, 99]) == "un [UNK]"
    assert encoder.vocab_size == len(PIECES)
    assert encoder.load_vocab(vocab_file)["##ed"] == 7


def test_words():
    basic = BertBasicEncoder()
    assert basic.tokenize("It's $5 — naïve…") == ["it", "'", "s", "$", "5", "—", "naive", "…"]
    assert BertBasicEncoder(do_lower_case=False).tokenize("It É") == ["It", "É"]
    small = BertWordpieceTokenizer({"a": 0, "##b": 1}, unk_token="?", max_input_chars_per_word=3)
    assert small.tokenize("ab abb abbb ba") == ["a", "##b", "a", "##b", "##b", "?", "?"]


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="BertEncoder: there is no file"):
        BertEncoder(tmp_path / "no")
    (tmp_path / "v").write_text("a\n")
    with pytest.raises(ValueError, match=r"BertEncoder: .*v has no line \[UNK\]"):
        BertEncoder(tmp_path / "v")
    with pytest.raises(TypeError, match="do_lower_case must be True or False"):
        BertBasicEncoder(1)

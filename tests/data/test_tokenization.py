"""`Tokenize` for each kind of vocabulary; tiny models of the packages are trained here."""

import sys

import numpy as np
import pytest

from weft import data
from weft.data.text_encoder import SubwordTextEncoder
from weft.errors import ShapeError

CORPUS = ["to be or not to be", "that is the question", "whether tis nobler in the mind"] * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabularies")
    SubwordTextEncoder.build_from_generator(CORPUS, 60).store_to_file(folder / "subword")
    (folder / "bert").write_text("[UNK]\nto\nbe\n##tter\nTo\n")
    return folder


@pytest.fixture(scope="module")
def sentencepiece_model(folder):
    package = pytest.importorskip("sentencepiece")
    (folder / "corpus").write_text("\n".join(CORPUS))
    package.SentencePieceTrainer.train(
        input=str(folder / "corpus"),
        model_prefix=str(folder / "spm"),
        vocab_size=28,
        num_threads=1,
        minloglevel=2,
    )
    return package.SentencePieceProcessor(model_file=str(folder / "spm.model"))


@pytest.fixture(scope="module")
def tokenizer(folder):
    package = pytest.importorskip("tokenizers")
    tokenizer = package.Tokenizer(package.models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = package.pre_tokenizers.Whitespace()
    trainer = package.trainers.BpeTrainer(
        vocab_size=50, special_tokens=["[UNK]"], show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def equal(array, ids):
    assert array.dtype == np.int64
    assert array.tolist() == list(ids)


def test_bytes():
    (out,) = data.Tokenize(vocab_type="char")([("é!",)])
    equal(out[0], "é!".encode())
    (out,) = data.tokenize(["é!"], vocab_type="char", n_reserved_ids=3)
    equal(out, [b + 3 for b in "é!".encode()])
    assert data.detokenize(out, "char", n_reserved_ids=3) == "é!"
    assert data.detokenize([0, 1, 100], "char", n_reserved_ids=3) == "a"
    assert data.vocab_size("char") == 256
    assert data.vocab_size("char", n_reserved_ids=3) == 259


def test_forms_of_examples():
    tokenize = data.Tokenize(keys=["text"], vocab_type="char")
    (out,) = tokenize([{"text": "a", "label": 3}])
    equal(out.pop("text"), [97])
    assert out == {"label": 3}
    ((a, b, c),) = data.Tokenize(keys=[0, 2], vocab_type="char")([["a", 5, b"bc"]])
    equal(a, [97])
    equal(c, [98, 99])
    assert b == 5
    (out,) = data.Tokenize(vocab_type="char")([np.array(b"ab")])
    equal(out, [97, 98])


@pytest.mark.parametrize("vocab_type", ["char", "subword", "bert", "sentencepiece", "tokenizers"])
def test_an_empty_text_has_no_ids(folder, sentencepiece_model, tokenizer, vocab_type):
    file = {"sentencepiece": "spm.model", "tokenizers": "tokenizer.json"}.get(
        vocab_type, vocab_type
    )
    (out,) = data.Tokenize(vocab_type=vocab_type, vocab_file=file, vocab_dir=folder)([""])
    equal(out, [])


def test_subwords(folder):
    encoder = SubwordTextEncoder(folder / "subword")
    (out,) = data.Tokenize(vocab_file="subword", vocab_dir=folder)(["to be?"])
    equal(out, encoder.encode("to be?"))
    assert data.detokenize(out, vocab_file=folder / "subword") == "to be?"
    assert data.vocab_size(vocab_file="subword", vocab_dir=str(folder)) == encoder.vocab_size


def test_bert(folder):
    options = {"vocab_file": "bert", "vocab_dir": folder}
    (cased,) = data.Tokenize(vocab_type="bert", **options)(["To better"])
    (lower,) = data.Tokenize(vocab_type="bert-lowercase", **options)(["To better"])
    equal(cased, [4, 2, 3])
    equal(lower, [1, 2, 3])
    assert data.detokenize(lower, "bert-lowercase", **options) == "to better"
    assert data.vocab_size("bert", **options) == 5


def test_sentencepiece(folder, sentencepiece_model):
    options = {"vocab_file": "spm.model", "vocab_dir": folder}
    ids = sentencepiece_model.encode("to be noble")
    (out,) = data.Tokenize(vocab_type="sentencepiece", n_reserved_ids=2, **options)(["to be noble"])
    equal(out, [i + 2 for i in ids])
    assert (
        data.detokenize([0, 1, *out], "sentencepiece", n_reserved_ids=2, **options) == "to be noble"
    )
    assert data.vocab_size("sentencepiece", n_reserved_ids=2, **options) == 30
    for example in ("to be noble", ("to be noble",), b"to be noble"):
        (out,) = data.SentencePieceTokenize(folder / "spm.model", extra_ids=100)([example])
        equal(out, ids)
    (out,) = data.sentencepiece_tokenize(["to be noble"], folder / "spm.model")
    equal(out, ids)


def test_tokenizers(folder, tokenizer):
    options = {"vocab_type": "tokenizers", "vocab_file": folder / "tokenizer.json"}
    (out,) = data.Tokenize(**options)(["to be noble"])
    equal(out, tokenizer.encode("to be noble").ids)
    assert data.detokenize(out, **options) == tokenizer.decode(out.tolist())
    assert data.vocab_size(**options) == tokenizer.get_vocab_size()


@pytest.mark.parametrize("name", ["sentencepiece", "tokenizers"])
def test_a_package_that_is_not_installed(folder, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ImportError, match=f"Tokenize: '{name}' needs .*\n  fix: pip install {name}"
    ):
        data.Tokenize(vocab_type=name, vocab_file="bert", vocab_dir=folder)


@pytest.mark.parametrize("name", ["sentencepiece", "tokenizers"])
def test_a_file_that_is_none_of_the_package(folder, name):
    pytest.importorskip(name)
    with pytest.raises(ValueError, match=f"Tokenize: .*bert is not a (model of )?{name[:9]}"):
        data.Tokenize(vocab_type=name, vocab_file="bert", vocab_dir=folder)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: data.Tokenize(), ValueError, "Tokenize: vocab_type 'subword' needs vocab_file"),
        (
            lambda: data.Tokenize(vocab_type="x"),
            ValueError,
            "vocab_type must be 'subword' or 'char'",
        ),
        (
            lambda: data.Tokenize(vocab_file="no"),
            FileNotFoundError,
            "Tokenize: there is no vocabul",
        ),
        (lambda: data.detokenize([1], "bert"), ValueError, "detokenize: vocab_type 'bert' needs"),
        (lambda: data.vocab_size("bert"), ValueError, "vocab_size: vocab_type 'bert' needs"),
        (lambda: data.tokenize([], vocab_file="no"), FileNotFoundError, "tokenize: there is no"),
        (lambda: data.SentencePieceTokenize(), ValueError, "SentencePieceTokenize: spm_path must"),
        (
            lambda: data.SentencePieceTokenize("no"),
            FileNotFoundError,
            "there is no vocabulary 'no'",
        ),
        (lambda: data.Tokenize(vocab_type="char", n_reserved_ids=-1), ValueError, "n_reserved_ids"),
    ],
)
def test_errors_of_options(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_examples_that_are_no_texts(folder, sentencepiece_model):
    with pytest.raises(ShapeError, match=r"Tokenize: example 1: expected a text; got \(str, int64"):
        list(data.Tokenize(keys=[0, 1], vocab_type="char")([("a", "b"), ("a", 5)]))
    with pytest.raises(ShapeError, match=r"Tokenize: example 0: expected a field 'text'; got {'x'"):
        list(data.Tokenize(keys=["text"], vocab_type="char")([{"x": "a"}]))
    with pytest.raises(ShapeError, match="SentencePieceTokenize: example 0: expected a text"):
        list(data.SentencePieceTokenize(folder / "spm.model")([("a", "b")]))


def test_convert_to_unicode():
    rows = [(b"\xc3\xa9\xff", 5), {"x": b"a", "y": b"b"}, b"c", np.array(b"d"), "e"]
    out = list(data.ConvertToUnicode()(rows))
    assert out == [("é", 5), {"x": "a", "y": "b"}, "c", "d", "e"]
    assert list(data.ConvertToUnicode(keys=["y"])(rows[1:2])) == [{"x": b"a", "y": "b"}]
    assert list(data.ConvertToUnicode(keys=[0])([(b"a", b"b")])) == [("a", b"b")]
    with pytest.raises(ShapeError, match="ConvertToUnicode: example 0: expected a field 7"):
        list(data.ConvertToUnicode(keys=[7])([("a",)]))

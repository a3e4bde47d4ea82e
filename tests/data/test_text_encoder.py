"""The encoders by a rule or a list."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from weft.data import text_encoder as te


def test_constants():
    assert (te.PAD, te.EOS, te.PAD_ID, te.EOS_ID, te.NUM_RESERVED_TOKENS) == (
        "<pad>",
        "<EOS>",
        0,
        1,
        2,
    )
    assert te.RESERVED_TOKENS == [te.PAD, te.EOS]
    assert te.RESERVED_TOKENS_BYTES == [b"<pad>", b"<EOS>"]


def test_strip_ids():
    assert te.strip_ids([0, 5, 0, 7, 1, 0], [0, 1]) == [0, 5, 0, 7]
    assert te.strip_ids([0, 0], [0]) == te.strip_ids([], [0]) == []


def test_unicode():
    assert te.native_to_unicode("é") == te.native_to_unicode("é".encode()) == "é"
    assert te.to_unicode_utf8(b"\xc3\xa9") == "é"
    assert te.to_unicode_ignore_errors(b"a\xffb") == te.to_unicode(b"a\xffb", True) == "ab"
    with pytest.raises(UnicodeDecodeError):
        te.to_unicode(b"\xff")
    with pytest.raises(TypeError, match="to_unicode: s must be a string or bytes; got 5"):
        te.to_unicode(5)
    assert te.whitespace_tokenize("  to\tbe\n") == ["to", "be"]
    assert (te.is_unicode("a"), te.is_unicode(b"a")) == (True, False)


def test_text_encoder():
    encoder = te.TextEncoder()
    assert encoder.encode("0 7 12") == [2, 9, 14]
    assert encoder.decode([2, 9, 14]) == "0 7 12"
    assert encoder.decode([2, 1, 0, 1, 0]) == "0 <EOS> <pad> <EOS> <pad>"
    assert encoder.decode([2, 1, 0], strip_extraneous=True) == "0"
    assert encoder.decode_list([3, 0]) == ["1", "<pad>"]
    assert encoder.num_reserved_ids == 2
    assert te.TextEncoder(0).encode("5") == te.TextEncoder(None).encode("5") == [5]
    with pytest.raises(NotImplementedError, match="TextEncoder has no bound"):
        _ = encoder.vocab_size
    with pytest.raises(ValueError, match="TextEncoder: num_reserved_ids must be at least 0"):
        te.TextEncoder(-1)


@given(st.text())
def test_byte_text_encoder(text):
    for reserved in (0, 2, 5):
        encoder = te.ByteTextEncoder(reserved)
        ids = encoder.encode(text)
        assert ids == [b + reserved for b in text.encode()]
        assert encoder.decode(ids) == encoder.decode([*ids, *[0] * bool(reserved)], True) == text
        assert encoder.vocab_size == 256 + reserved


def test_bytes_that_are_no_text():
    encoder = te.ByteTextEncoder()
    assert encoder.decode([2 + 0xFF, 2 + 97, 1]) == "\ufffda<EOS>"
    assert encoder.decode_list(np.array([99, 0])) == [b"a", b"<pad>"]


def test_token_text_encoder(tmp_path):
    encoder = te.TokenTextEncoder(None, vocab_list=["to", "<EOS>", "be"])
    assert encoder.vocab_size == 4
    assert encoder.encode(" be  to ") == [3, 2]
    assert encoder.decode([3, 2, 9, 0]) == "be to ID_9 <pad>"
    assert encoder.decode([3, 0, 1], True) == "be"
    with pytest.raises(ValueError, match=r"'or' is not in the vocabulary of 4 words\n  fix: Tok"):
        encoder.encode("to or")
    file = tmp_path / "words"
    encoder.store_to_file(file)
    assert file.read_text() == "<pad>\n<EOS>\nto\nbe\n"
    again = te.TokenTextEncoder(file, replace_oov="be")
    assert again.encode("to or") == [2, 3]
    assert te.TokenTextEncoder(file, reverse=True).encode("to be") == [3, 2]
    assert te.TokenTextEncoder(file, reverse=True).decode([3, 2]) == "to be"
    for args in ((None,), (file, False, ["a"])):
        with pytest.raises(ValueError, match="expected one of vocab_filename and vocab_list"):
            te.TokenTextEncoder(*args)
    with pytest.raises(FileNotFoundError, match="TokenTextEncoder: there is no file"):
        te.TokenTextEncoder(tmp_path / "no")
    with pytest.raises(TypeError, match="TokenTextEncoder: the file name must be a path"):
        te.TokenTextEncoder(5)


def test_class_label_encoder(tmp_path):
    (tmp_path / "labels").write_text("cat\ndog\n")
    for encoder in (
        te.ClassLabelEncoder(["cat", "dog"]),
        te.ClassLabelEncoder(class_labels_fname=tmp_path / "labels"),
    ):
        assert encoder.encode("dog") == 1
        assert encoder.decode([1]) == encoder.decode(np.array([[1]])) == encoder.decode(1) == "dog"
        assert encoder.decode_list([1, 0]) == ["dog", "cat"]
        assert encoder.vocab_size == 2
        with pytest.raises(ValueError, match="'cow' is none of the classes"):
            encoder.encode("cow")
    with pytest.raises(ValueError, match="expected class_labels or class_labels_fname"):
        te.ClassLabelEncoder()
    hot = te.OneHotClassLabelEncoder(["cat", "dog", "cow"])
    assert hot.encode("dog") == [0, 1, 0]
    assert hot.encode("dog", on_value=0.9, off_value=0.05) == [0.05, 0.9, 0.05]
    assert hot.decode([0.1, 0.2, 0.7]) == "cow"
    assert hot.vocab_size == 3
    with pytest.raises(ValueError, match="OneHotClassLabelEncoder: 'x' is none"):
        hot.encode("x")


def test_real_encoder():
    assert te.RealEncoder().encode("1.5 -2") == [1.5, -2.0]
    assert te.RealEncoder().decode([1.5, -2]) == "1.5 -2.0"

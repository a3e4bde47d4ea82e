"""Subwords: the file format byte for byte, segmentation and building against slow versions of the
rules."""

import collections
import re

import pytest
from hypothesis import given, settings, strategies as st

from weft.data import text_encoder, tokenizer
from weft.data.text_encoder import SubwordTextEncoder

CORPUS = [
    "to be or not to be",
    "that is the question: to be_come \\ or not",
    "été été 五",
    "a\n\nb\n",
]
ESCAPES = "\\_u;0123456789"


def escape(token, alphabet):
    out = ""
    for c in token:
        if c == "\\":
            out += "\\\\"
        elif c == "_":
            out += "\\u"
        elif c in alphabet and c != "\n":
            out += c
        else:
            out += "\\" + str(ord(c)) + ";"
    return out + "_"


def split(escaped, vocabulary):
    parts = []
    while escaped:
        best = max((p for p in vocabulary if p and escaped.startswith(p)), key=len)
        parts.append(best)
        escaped = escaped[len(best) :]
    return parts


def built(counts, min_count, iterations=4, reserved=("<pad>", "<EOS>"), longest=None):
    """The rules of building, written out without care for time."""
    alphabet = ({c for t in [*counts, *reserved] for c in t} | set(ESCAPES)) - {"\n"}
    vocabulary = sorted(alphabet)
    for _ in range(iterations):
        parts = collections.Counter()
        for token, count in counts.items():
            escaped = escape(token, alphabet)
            start = 0
            for part in split(escaped, vocabulary):
                for end in range(start + 1, len(escaped) + 1):
                    if longest is None or end - start <= longest:
                        parts[escaped[start:end]] += count
                start += len(part)
        kept = []
        for n in range(max(map(len, parts)), 0, -1):
            for part in [p for p, count in parts.items() if len(p) == n and count >= min_count]:
                count = parts[part]
                if count < min_count:
                    continue
                if part not in alphabet:
                    kept.append((count, part))
                for end in range(1, n):
                    parts[part[:end]] -= count
        kept += [(parts[c], c) for c in alphabet]
        first = [escape(t, alphabet) for t in reserved]
        vocabulary = first + [p for _, p in sorted(kept, reverse=True)]
    return vocabulary


def counts_of(texts):
    return collections.Counter(t for text in texts for t in tokenizer.encode(text))


@pytest.mark.parametrize("min_count", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"longest": 2}, {"iterations": 1}, {"reserved": ["[A]"]}])
def test_building(min_count, options):
    encoder = SubwordTextEncoder()
    encoder.build_from_token_counts(
        counts_of(CORPUS),
        min_count,
        num_iterations=options.get("iterations", 4),
        reserved_tokens=options.get("reserved"),
        max_subtoken_length=options.get("longest"),
    )
    expected = built(counts_of(CORPUS), min_count, **options)
    assert encoder.decode_list(range(encoder.vocab_size)) == expected
    assert set(encoder.all_subtoken_strings) == set(expected)


def test_the_order_depends_on_strings_only():
    encoders = [
        SubwordTextEncoder.build_from_generator(texts, 60) for texts in (CORPUS, CORPUS[::-1])
    ]
    parts = [e.decode_list(range(e.vocab_size)) for e in encoders]
    assert parts[0] == parts[1]
    assert parts[0][:2] == ["<pad>_", "<EOS>_"]


COUNTS = {c * 2: i + 1 for i, c in enumerate("abcdefghijklmnop")}


@pytest.fixture(scope="module")
def sizes():
    """The size of the vocabulary for each least count."""
    found = {}
    for count in range(1, 17):
        encoder = SubwordTextEncoder()
        encoder.build_from_token_counts(COUNTS, count)
        found[count] = encoder.vocab_size
    assert len(set(found.values())) == 16
    return found


@pytest.mark.parametrize("target", range(30, 80, 2))
def test_the_target_size_is_bisected(target, sizes):
    def bisected(low, high):
        middle = (low + high) // 2
        size = sizes[middle]
        if abs(size - target) * 100 < target or low >= high or middle < 2:
            return size
        other = (middle + 1, high) if size > target else (low, middle - 1)
        further = bisected(*other) if other[0] <= other[1] else size
        return min(size, further, key=lambda n: abs(n - target))

    encoder = SubwordTextEncoder.build_to_target_size(target, COUNTS, 1, 16)
    assert encoder.vocab_size == bisected(1, 16)


def test_the_file(tmp_path):
    encoder = SubwordTextEncoder.build_from_generator(CORPUS, 60)
    encoder.store_to_file(tmp_path / "quoted")
    encoder.store_to_file(tmp_path / "plain", add_single_quotes=False)
    parts = encoder.decode_list(range(encoder.vocab_size))
    assert (tmp_path / "quoted").read_bytes() == "".join(f"'{p}'\n" for p in parts).encode()
    again = SubwordTextEncoder(tmp_path / "quoted")
    assert again.decode_list(range(again.vocab_size)) == parts
    assert again.encode(CORPUS[1]) == encoder.encode(CORPUS[1])
    again.store_to_file(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "quoted").read_bytes()
    plain = SubwordTextEncoder(tmp_path / "plain")
    assert plain.decode_list(range(plain.vocab_size)) == [p.rstrip() for p in parts]


def test_a_file_of_others(tmp_path):
    lines = ["'<pad>_'", '"<EOS>_"', "the_", "'", "''", "' '", *ESCAPES, "t", "h", "e", "x", "q"]
    (tmp_path / "v").write_bytes("\r\n".join(lines).encode() + b"\n")
    encoder = SubwordTextEncoder(str(tmp_path / "v"))
    assert encoder.decode_list(range(7)) == ["<pad>_", "<EOS>_", "the_", "'", "", " ", "\\"]
    ids = encoder.encode("the hex")
    assert encoder.decode_list(ids) == ["the_", "h", "e", "x", "_"]
    assert encoder.decode(ids) == "the hex"
    assert encoder.decode_list(encoder.encode("z_\\")) == [*"\\122;_", *"\\u\\\\_"]
    assert encoder.decode(encoder.encode("z_\\")) == "z_\\"
    assert encoder.decode([2, 0, 1], strip_extraneous=True) == "the"
    assert encoder.decode([2, 99, -1]) == "the"
    assert encoder.filename == str(tmp_path / "v")


ENCODER = SubwordTextEncoder.build_from_generator(CORPUS, 60)


@given(st.text(st.sampled_from("tobe ht_\\;u9\n五é🙂.") | st.characters(codec="utf-8")))
@settings(max_examples=200, deadline=None)
def test_texts_come_back_and_parts_are_the_longest(text):
    ids = ENCODER.encode(text)
    assert ENCODER.decode(ids) == text
    vocabulary = ENCODER.all_subtoken_strings
    alphabet = {c for part in vocabulary for c in part}
    expected = [p for t in tokenizer.encode(text) for p in split(escape(t, alphabet), vocabulary)]
    assert ENCODER.decode_list(ids) == expected
    whole = ENCODER.decode_list(ENCODER.encode_without_tokenizing(text))
    assert whole == split(escape(text, alphabet), vocabulary)


def test_codes_that_are_no_characters():
    parts = {c: i for i, c in enumerate(ENCODER.decode_list(range(ENCODER.vocab_size)))}
    ids = [parts[c] for c in "\\99999999;_"]
    assert ENCODER.decode(ids) == "\u3013"
    assert ENCODER.encode(b"to") == ENCODER.encode("to")


def test_dump(capsys):
    ENCODER.dump()
    line = capsys.readouterr().out
    assert line.startswith("0 : '<pad>_', 1 : '<EOS>_', ")
    assert len(re.findall(r"\d+ : ", line)) == ENCODER.vocab_size


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: SubwordTextEncoder("no"), FileNotFoundError, "there is no file 'no'"),
        (lambda: SubwordTextEncoder(5), TypeError, "filename must be a path; got 5"),
        (lambda: SubwordTextEncoder("empty"), ValueError, "empty has no vocabulary"),
        (lambda: SubwordTextEncoder("bad"), ValueError, "bad is not UTF-8"),
        (lambda: SubwordTextEncoder("few").encode("ac"), ValueError, "few has no part for '_'"),
        (lambda: SubwordTextEncoder.build_from_generator(["a"], 0), ValueError, "target_size must"),
        (
            lambda: SubwordTextEncoder.build_to_target_size(9, {"a": 1}, 3, 2),
            ValueError,
            "max_val must be at least 3",
        ),
        (
            lambda: SubwordTextEncoder().build_from_token_counts({"a": 1}, 0),
            ValueError,
            "min_count must be at least 1",
        ),
    ],
)
def test_errors(tmp_path, monkeypatch, call, error, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "bad").write_bytes(b"\xff")
    (tmp_path / "few").write_text("a\nc\n")
    with pytest.raises(error, match=f"SubwordTextEncoder: .*{text}"):
        call()


def test_reserved_tokens_are_those_of_the_module():
    assert text_encoder.RESERVED_TOKENS == ["<pad>", "<EOS>"]

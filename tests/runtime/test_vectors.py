"""Which processors XLA is told to use vectors of 512 bits on. They are made up of files."""

import pytest

import weft
import weft.numpy as np
from weft.runtime import vectors

WIDE = {"xla_cpu_prefer_vector_width": 512}


@pytest.fixture(autouse=True)
def fresh():
    vectors.vector_options.cache_clear()
    yield
    vectors.vector_options.cache_clear()


@pytest.fixture
def processor(tmp_path, monkeypatch):
    """Makes the file that describes a processor."""

    def make(vendor, flags):
        path = tmp_path / "cpuinfo"
        path.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n\n")
        monkeypatch.setattr(vectors, "CPUINFO", str(path))
        monkeypatch.delenv("XLA_FLAGS", raising=False)

    return make


@pytest.mark.parametrize(
    ("vendor", "flags", "expected"),
    [
        ("AuthenticAMD", "fpu avx2 avx512f avx512vl", WIDE),
        ("AuthenticAMD", "fpu avx2", {}),
        ("AuthenticAMD", "fpu avx512ifma", {}),
        ("GenuineIntel", "fpu avx2 avx512f avx512vl", {}),
    ],
)
def test_wide_vectors_by_processor(processor, vendor, flags, expected):
    processor(vendor, flags)
    assert vectors.vector_options() == expected


def test_without_a_description_xla_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "CPUINFO", str(tmp_path / "none"))
    assert vectors.vector_options() == {}


def test_xla_flags_go_before(processor, monkeypatch):
    processor("AuthenticAMD", "avx512f")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_prefer_vector_width=128")
    assert vectors.vector_options() == {}


def test_programs_are_compiled_with_it(processor):
    """Also on a processor without such vectors; the user's own option goes before."""
    processor("AuthenticAMD", "avx512f")
    x = np.arange(8.0)
    for options in (None, {"xla_cpu_prefer_vector_width": 256}):
        f = weft.jit(lambda x: np.tanh(x) * 3 + 1, compiler_options=options)
        assert np.allclose(f(x), np.tanh(x) * 3 + 1)

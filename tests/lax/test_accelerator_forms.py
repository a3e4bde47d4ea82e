"""What is lowered otherwise on accelerators, compiled for the CPU: it must compute the same."""

import ml_dtypes
import numpy as np
import pytest

from weft.compiler.disk_cache import compile_or_load
from weft.compiler.lowered import LoweredProgram
from weft.compiler.placing import buffer_on
from weft.config import eager_tier
from weft.core.array import Array, from_host
from weft.interpreters.stage import stage
from weft.primitives import cumulative, fft, products, reductions, windows
from weft.primitives.windows import Geometry
from weft.runtime import client

RNG = np.random.default_rng(0)


def as_on_a_gpu(primitive, arrays, params):
    """The outputs of the program written for a GPU, run on the CPU."""
    args = [from_host(a) for a in arrays]
    program = LoweredProgram(stage(lambda *xs: [primitive(*xs, **params)], [a.aval for a in args]))
    device = client.default_device()
    text, _ = program.text("cuda")
    assert text != program.text("cpu")[0]
    executable = compile_or_load(text, program.result_types, device, {})
    results = executable.execute([buffer_on(args[i], device) for i in program.live])
    (out,) = (Array(None, v.aval, r) for v, r in zip(program.body.outvars, results, strict=True))
    return np.asarray(out)


special = np.float32([[1, np.nan, -np.nan, 3], [-np.inf] * 4, [2, 2, -0.0, 0.0], [5, 5, 5, 5]])
bf16 = RNG.standard_normal((3, 4)).astype(ml_dtypes.bfloat16)
half = (RNG.standard_normal((2, 3, 3)) + 1j * RNG.standard_normal((2, 3, 3))).astype(np.complex64)
INFINITE = np.array([complex(np.inf, 0), 2j, complex(0, -np.inf)], np.complex64)[:, None]
GEOMETRY = Geometry((1, 3), (1, 2), ((0, 0), (1, 2)), (1, 1), (1, 1))

FORMS = [
    *[
        (f, [x], {"axis": axis, "dtype": np.dtype(np.int32)})
        for f in (reductions.argmax, reductions.argmin)
        for x in (special, bf16, np.int8([[3, -1, 3]]))
        for axis in (0, 1)
    ],
    *[
        (f, [RNG.standard_normal((5, 4)).astype(np.float32)], {"axis": axis, "reverse": reverse})
        for f in (
            cumulative.cumsum,
            cumulative.cumprod,
            cumulative.cummax,
            cumulative.cummin,
            cumulative.cumlogsumexp,
        )
        for axis, reverse in ((0, False), (1, True))
    ],
    *[
        (f, [INFINITE], {"axis": 0, "reverse": reverse})
        for f in (cumulative.cumsum, cumulative.cumprod)
        for reverse in (False, True)
    ],
    *[
        (f, [x], {"geometry": GEOMETRY})
        for f in (windows.reduce_window_sum, windows.reduce_window_max, windows.reduce_window_min)
        for x in (RNG.standard_normal((2, 7)).astype(np.float32), np.arange(14).reshape(2, 7) % 5)
    ],
    *[
        (windows.window_place, [x], {"geometry": GEOMETRY, "largest": largest, "batch_dims": 0})
        for x in (special, np.int8([[3, -1, 3, 3]]))
        for largest in (True, False)
    ],
    *[
        (fft.fft, [spectrum], {"fft_type": fft.FftType.IRFFT, "fft_lengths": lengths})
        for spectrum, lengths in ((half, (3, 4)), (half, (3, 5)), (half[None], (2, 3, 4)))
    ],
    (products.dot_general, [bf16, bf16], {
        "dims": (((1,), (1,)), ((), ())), "dtype": np.dtype(np.float32),
    }),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f[0].name)
def test_the_form_for_accelerators_computes_the_same(form):
    primitive, arrays, params = form
    with eager_tier("host"):
        expected = np.asarray(primitive(*[from_host(a) for a in arrays], **params))
    out = as_on_a_gpu(primitive, arrays, params)
    assert out.dtype == expected.dtype
    np.testing.assert_allclose(out, expected, rtol=2e-6, atol=2e-6)

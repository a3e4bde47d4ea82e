"""Cases of convolution."""

import itertools

import numpy as np

from cases.case import INEXACT, Case, f32
from weft.lax import convolution as lax
from weft.primitives import convolution as p
from weft.primitives.convolution import ConvDimensionNumbers


def by_definition(
    lhs,
    rhs,
    *,
    strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    numbers,
    feature_groups=1,
    batch_groups=1,
    dtype=None,
    precision=None,
):
    """The sum over taps, one output element at a time."""
    x = lhs.transpose(numbers.lhs_spec)
    k = rhs.transpose(numbers.rhs_spec)
    if x.dtype.kind not in "fciu":
        x, k = x.astype(np.float64), k.astype(np.float64)
    spatial = []
    for n, w, s, (a, b), d, e in zip(
        x.shape[2:], k.shape[2:], strides, padding, lhs_dilation, rhs_dilation, strict=True
    ):
        room = (n - 1) * d + 1 + a + b - ((w - 1) * e + 1)
        spatial.append(room // s + 1 if room >= 0 else 0)
    batch = x.shape[0] // batch_groups
    out = np.zeros((batch, k.shape[0], *spatial), x.dtype)
    ins, outs = k.shape[1], k.shape[0]
    for b, o, *place in itertools.product(*map(range, out.shape)):
        row = b + (o * batch_groups // outs) * batch
        first = (o * feature_groups // outs) * ins
        for tap in itertools.product(*map(range, k.shape[2:])):
            at = [
                q * s + t * e - a
                for q, s, t, e, (a, _) in zip(
                    place, strides, tap, rhs_dilation, padding, strict=True
                )
            ]
            if all(
                0 <= i <= (n - 1) * d and i % d == 0
                for i, n, d in zip(at, x.shape[2:], lhs_dilation, strict=True)
            ):
                source = tuple(i // d for i, d in zip(at, lhs_dilation, strict=True))
                out[(b, o, *place)] += (
                    x[(row, slice(first, first + ins), *source)] * k[(o, slice(None), *tap)]
                ).sum()
    return out.transpose(np.argsort(numbers.out_spec))


ATOL = {"float32": 1e-5, "complex64": 2e-5, "float16": 2e-2, "bfloat16": 2e-1}
NCHW = lambda n: ConvDimensionNumbers(*[tuple(range(n + 2))] * 3)  # noqa: E731
NHWC = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
ODD = ConvDimensionNumbers((2, 0, 3, 1), (1, 3, 2, 0), (3, 2, 0, 1))


def shaped(numbers, batch, ins, outs, spatial, kernel, groups=1):
    lhs, rhs = [0] * (len(spatial) + 2), [0] * (len(spatial) + 2)
    for i, n in zip(numbers.lhs_spec, (batch, ins * groups, *spatial), strict=True):
        lhs[i] = n
    for i, n in zip(numbers.rhs_spec, (outs, ins, *kernel), strict=True):
        rhs[i] = n
    return f32(*lhs), f32(*rhs)


def convolution(
    spatial,
    kernel,
    strides=None,
    padding=None,
    dilation=None,
    gaps=None,
    numbers=None,
    batch=2,
    ins=2,
    outs=2,
    feature_groups=1,
    batch_groups=1,
    dtypes=(),
):
    n = len(spatial)
    numbers = numbers or NCHW(n)
    params = {
        "strides": strides or (1,) * n,
        "padding": padding or ((0, 0),) * n,
        "lhs_dilation": dilation or (1,) * n,
        "rhs_dilation": gaps or (1,) * n,
        "numbers": numbers,
        "feature_groups": feature_groups,
        "batch_groups": batch_groups,
    }
    args = shaped(numbers, batch, ins, outs, spatial, kernel, feature_groups)
    return Case(
        p.conv_general_dilated,
        args,
        params,
        oracle=by_definition,
        dtypes=dtypes,
        atol=ATOL,
        ulp=64,
        lower_atol=1e-5,
    )


def of(function, *args, **params):
    return Case(function, args, params, lower_atol=1e-5, ulp=64)


CASES = [
    convolution(
        (5,), (3,), dtypes=(*INEXACT, "int8", "int32", "uint8", "float64", "float8_e5m2", "int4")
    ),
    convolution((6,), (3,), (2,), ((1, 0),)),
    convolution((6,), (2,), (3,), ((2, 2),)),
    convolution((4,), (2,), padding=((3, 1),), dilation=(3,)),
    convolution((7,), (3,), gaps=(2,), padding=((1, 2),)),
    convolution((7,), (2,), (2,), ((-1, -2),)),
    convolution((5,), (3,), (2,), ((2, -1),), (2,), (3,)),
    convolution(
        (5,),
        (2,),
        (3,),
        ((-1, 3),),
        (3,),
        (2,),
        numbers=ConvDimensionNumbers((1, 2, 0), (0, 2, 1), (2, 0, 1)),
    ),
    convolution((2,), (5,)),
    convolution((0,), (2,), padding=((1, 2),)),
    convolution((3,), (1,)),
    convolution((), (), batch=3, ins=4),
    convolution((4, 5), (2, 3), numbers=NHWC, dtypes=("bfloat16", "complex64")),
    convolution((4, 5), (3, 2), (2, 1), ((1, 1), (0, 1)), numbers=NHWC),
    convolution((4, 3), (2, 2), (2, 1), ((0, 1), (-1, 2)), (1, 2), (2, 1), numbers=ODD),
    convolution((5,), (3,), feature_groups=2, outs=4, dtypes=("int16", "bfloat16")),
    convolution((5,), (3,), feature_groups=3, ins=1, outs=6),
    convolution(
        (4, 3),
        (2, 2),
        (2, 1),
        ((0, 1), (1, 2)),
        (1, 2),
        (2, 1),
        numbers=ODD,
        feature_groups=2,
        outs=4,
    ),
    convolution((5,), (3,), batch_groups=2, batch=4, outs=4, dtypes=("int16",)),
    convolution((5,), (2,), (2,), ((1, 0),), batch_groups=3, batch=3, outs=3),
    convolution(
        (4, 3),
        (2, 2),
        (2, 1),
        ((0, 1), (1, 2)),
        (1, 2),
        (2, 1),
        numbers=ODD,
        batch_groups=2,
        batch=2,
        outs=4,
    ),
    # more gaps in the array than strides: the kernel's gradient has the array as its kernel
    convolution((4,), (2,), (2,), ((1, 2),), (3,), (2,)),
    convolution((3,), (2,), padding=((-1, 2),), dilation=(2,), feature_groups=2, outs=4),
    convolution((3,), (3,), padding=((2, 1),), dilation=(2,), batch_groups=2, batch=4, outs=4),
    convolution(
        (3, 2), (2, 3), (1, 2), ((1, 2), (2, 1)), (3, 1), (1, 2), ODD, feature_groups=2, outs=4
    ),
    convolution((2, 3, 2), (2, 2, 1)),
    of(lax.conv, f32(2, 3, 5, 4), f32(2, 3, 3, 2), window_strides=(2, 1), padding="SAME"),
    of(
        lax.conv_with_general_padding,
        f32(1, 2, 4),
        f32(2, 2, 2),
        window_strides=(1,),
        padding=((1, 2),),
        lhs_dilation=(2,),
        rhs_dilation=None,
    ),
    *[
        of(
            lax.conv_transpose,
            f32(1, 4, 2),
            f32(3, 2, 3),
            strides=(2,),
            padding=q,
            transpose_kernel=t,
            **more,
        )
        for q, t, more in [
            ("SAME", False, {}),
            ("VALID", False, {"rhs_dilation": (2,)}),
            (((1, 2),), False, {}),
        ]
    ],
    of(
        lax.conv_transpose,
        f32(1, 4, 3),
        f32(3, 2, 3),
        strides=(2,),
        padding="SAME",
        transpose_kernel=True,
    ),
    of(
        lax.conv_general_dilated_patches,
        f32(1, 2, 4, 3),
        filter_shape=(2, 3),
        window_strides=(1, 1),
        padding="SAME",
    ),
]

"""Wrong uses of initializers, activations, convolutions, pooling, normalization, metrics, devices
and tables: each error names the layer, what came, and the user's line.
"""

import re

import numpy as onp
import pytest
from row_names import row_name

import weft.layers as tl
from weft import fastmath, shapes
from weft.fastmath import numpy as jnp

KEY = fastmath.random.get_prng(0)
ROWS, IMAGES = jnp.ones((2, 8, 3)), jnp.ones((2, 7, 6, 3))
OUTPUTS, TARGETS = jnp.ones((4, 5)), jnp.zeros(4, jnp.int32)


def run(layer, *inputs):
    """Initializes a layer and calls it."""
    x = inputs if len(inputs) > 1 else inputs[0]
    layer.init(shapes.signature(x))
    return layer(x)


def call(layer, x):
    """Calls a layer that has no weights."""
    return layer(x)


# (what is done, error, what its message has)
CONSTRUCTORS = [
    # initializers
    (lambda: tl.RandomNormalInitializer(-1.0), ValueError, "RandomNormalInitializer: stddev"),
    (lambda: tl.RandomNormalInitializer("1"), TypeError, "stddev must be a number; got '1'"),
    (lambda: tl.RandomUniformInitializer(-0.5), ValueError, "lim must be at least 0.0; got -0.5"),
    (lambda: tl.ScaledInitializer(-1, -2, 0.0, "fan_in", "normal"), ValueError,
     "ScaledInitializer: scale must be greater than 0.0; got 0.0"),
    (lambda: tl.ScaledInitializer(-1, -2, 1.0, "fan", "normal"), ValueError,
     "mode must be 'fan_in' or 'fan_out' or 'fan_avg'; got 'fan'"),
    (lambda: tl.ScaledInitializer(-1, -2, 1.0, "fan_in", "cauchy"), ValueError,
     "distribution must be .* got 'cauchy'"),
    (lambda: tl.GlorotUniformInitializer(out_dim=1.5), TypeError,
     "GlorotUniformInitializer: out_dim must be an int"),
    (lambda: tl.GlorotNormalInitializer(scale=-1), ValueError, "GlorotNormalInitializer: scale"),
    (lambda: tl.LeCunNormalInitializer(scale=0), ValueError, "LeCunNormalInitializer: scale"),
    (lambda: tl.LeCunUniformInitializer(in_dim=None), TypeError, "LeCunUniformInitializer: in_dim"),
    (lambda: tl.KaimingNormalInitializer(param="x"), TypeError, "KaimingNormalInitializer: param"),
    (lambda: tl.KaimingUniformInitializer(param=float("nan")), ValueError,
     "KaimingUniformInitializer: param must be no NaN"),
    (lambda: tl.OrthogonalInitializer(True), TypeError, "OrthogonalInitializer: stddev"),
    (lambda: tl.GlorotUniformInitializer()((-1, 4), KEY), ValueError,
     r"GlorotUniformInitializer: shape\[0\] must be at least 0; got -1"),
    (lambda: tl.GlorotUniformInitializer()(4, KEY), TypeError, "shape must be a tuple or list"),
    (lambda: tl.GlorotUniformInitializer(in_dim=-3)((3, 4), KEY), ValueError,
     r"in_dim=-3 is not an axis of shape \(3, 4\)"),
    (lambda: tl.LeCunNormalInitializer()((3, 4), KEY, nonreceptive_dims=[2]), ValueError,
     "nonreceptive_dims=2 is not an axis"),
    (lambda: tl.AtariConvInit((3, 4), KEY), ValueError, "AtariConvInit: kernel_shape must be"),
    (lambda: tl.OrthogonalInitializer()((2.0, 3), KEY), TypeError, r"shape\[0\] must be an int"),
    # activations
    (lambda: tl.LeakyRelu("a"), TypeError, "LeakyRelu: a must be a number"),
    (lambda: tl.ParametricRelu(None), TypeError, "ParametricRelu: a must be a number"),
    (lambda: tl.Elu([1.0]), TypeError, r"Elu: a must be a number; got \[1.0\]"),
    (lambda: tl.Selu(alpha="x"), TypeError, "Selu: alpha"),
    (lambda: tl.Selu(lmbda=None), TypeError, "Selu: lmbda"),
    (lambda: tl.ThresholdedLinearUnit(n_in=-1), ValueError, "ThresholdedLinearUnit: n_in"),
    # convolutions
    (lambda: tl.Conv(0, (3, 3)), ValueError, "Conv: filters must be at least 1; got 0"),
    (lambda: tl.Conv(4.0, (3, 3)), TypeError, "Conv: filters must be an int; got 4.0"),
    (lambda: tl.Conv(4, 3), TypeError, r"kernel_size must be a tuple such as \(2, 2\); got 3"),
    (lambda: tl.Conv(4, (3,)), ValueError, r"kernel_size must be 2 numbers, .* got \(3,\)"),
    (lambda: tl.Conv(4, (3, -1)), ValueError, r"kernel_size\[1\] must be at least 1; got -1"),
    (lambda: tl.Conv(4, (3, 3), strides=(1, 0)), ValueError, r"strides\[1\] must be at least 1"),
    (lambda: tl.Conv(4, (3, 3), strides=2), TypeError, "strides must be a tuple"),
    (lambda: tl.Conv(4, (3, 3), strides=(1, 1, 1)), ValueError, "strides must be 2 numbers"),
    (lambda: tl.Conv(4, (3, 3), padding="same"), ValueError, "padding must be 'VALID' or 'SAME'"),
    (lambda: tl.Conv(4, (3, 3), padding=[(1, 1)]), ValueError, r"or 2 pairs \(low, high\)"),
    (lambda: tl.Conv(4, (3, 3), padding=[(1, 1), (-1, 0)]), ValueError, r"padding\[1\]\[0\] must"),
    (lambda: tl.Conv(4, (3, 3), padding=1), ValueError, "padding must be"),
    (lambda: tl.Conv(4, (3, 3), dimension_numbers=("NHWC", "HWIO")), ValueError,
     "dimension_numbers must be specs"),
    (lambda: tl.Conv(4, (3, 3), dimension_numbers=("NHWC", "HWIO", "NHWD")), ValueError,
     "dimension_numbers must be specs"),
    (lambda: tl.Conv(4, (3, 3), dimension_numbers=("NHHC", "HHIO", "NHHC")), ValueError,
     "dimension_numbers must be specs"),
    (lambda: tl.Conv(4, (3, 3), dimension_numbers="NHWC"), TypeError,
     "dimension_numbers must be like"),
    (lambda: tl.Conv(4, (3, 3), kernel_initializer=0.1), TypeError,
     "kernel_initializer must be a function"),
    (lambda: tl.Conv(4, (3, 3), bias_initializer=None), TypeError, "bias_initializer"),
    (lambda: tl.Conv(4, (3, 3), use_bias=0), TypeError, "use_bias must be True or False; got 0"),
    (lambda: tl.Conv1d(4, (3,)), TypeError, r"Conv1d: kernel_size must be an int; got \(3,\)"),
    (lambda: tl.Conv1d(4, 3, stride=0), ValueError, "Conv1d: stride must be at least 1"),
    (lambda: tl.Conv1d(4, 3, padding="FULL"), ValueError, "padding must be"),
    (lambda: tl.CausalConv(4, kernel_width=0), ValueError, "CausalConv: kernel_width"),
    (lambda: tl.CausalConv(-4), ValueError, "CausalConv: filters must be at least 1; got -4"),
    (lambda: tl.CausalDepthwiseConv(kernel_size=(3,)), TypeError, "CausalDepthwiseConv: kernel_s"),
    (lambda: tl.CausalDepthwiseConv(kernel_initializer="glorot"), TypeError, "kernel_initializer"),
    (lambda: tl.CausalDepthwiseConv(use_bfloat16="yes"), TypeError, "use_bfloat16"),
    (lambda: tl.ConvTranspose(4, (3,)), ValueError, "ConvTranspose: kernel_size must be 2 numbers"),
    (lambda: tl.ConvTranspose(4, (3, 3), rhs_dilation=(1, 0)), ValueError, r"rhs_dilation\[1\]"),
    (lambda: tl.ConvTranspose(4, (3, 3), kernel_initialzer=jnp.ones, kernel_initializer=jnp.ones),
     ValueError, "two spellings of one option"),
    # pooling
    (lambda: tl.MaxPool(2), TypeError, "MaxPool: pool_size must be a tuple"),
    (lambda: tl.MaxPool((2, 0)), ValueError, r"MaxPool: pool_size\[1\] must be at least 1; got 0"),
    (lambda: tl.AvgPool((2, 2), (1,)), ValueError, "AvgPool: strides must be 2 numbers"),
    (lambda: tl.SumPool((2, 2), padding="valid"), ValueError, "SumPool: padding must be"),
    (lambda: tl.SumPool((2, 2), strides=2), TypeError, "SumPool: strides must be a tuple"),
    # normalization
    (lambda: tl.BatchNorm(axis=1.0), TypeError, "BatchNorm: axis must be an int; got 1.0"),
    (lambda: tl.BatchNorm(axis="NHW"), TypeError, "BatchNorm: axis must be an int; got 'NHW'"),
    (lambda: tl.BatchNorm(epsilon=-1e-5), ValueError, "epsilon must be at least 0.0"),
    (lambda: tl.BatchNorm(momentum=1.5), ValueError, "momentum must be at least 0.0 and at most 1"),
    (lambda: tl.BatchNorm(mode="test"), ValueError, "mode must be 'train' or .* got 'test'"),
    (lambda: tl.BatchNorm(center=None), TypeError, "center must be True or False"),
    (lambda: tl.LayerNorm(1e-6), TypeError, "LayerNorm: center must be True or False; got 1e-06"),
    (lambda: tl.LayerNorm(epsilon="small"), TypeError, "LayerNorm: epsilon must be a number"),
    (lambda: tl.FilterResponseNorm(init_epsilon=0.0), ValueError, "must be greater than 0.0"),
    (lambda: tl.FilterResponseNorm(init_learnt_epsilon=-1.0), ValueError, "init_learnt_epsilon"),
    (lambda: tl.FilterResponseNorm(mode="fast"), ValueError, "FilterResponseNorm: mode"),
    # metrics
    (lambda: tl.CategoryCrossEntropy(label_smoothing=1.5), ValueError,
     "label_smoothing must be at least 0.0 and at most 1.0; got 1.5"),
    (lambda: tl.CategoryCrossEntropy(label_smoothing=-0.1), ValueError, "label_smoothing"),
    (lambda: tl.WeightedCategoryCrossEntropy(cutoff="x"), TypeError, "cutoff must be a number"),
    (lambda: tl.MacroAveragedFScore(beta=-1), ValueError, "MacroAveragedFScore: beta"),
    (lambda: tl.WeightedFScore(initial_category_index=-1), ValueError, "initial_category_index"),
    (lambda: tl.Accuracy(classifier="argmax"), TypeError, "classifier must be a layer"),
    (lambda: tl.SequenceAccuracy(classifier=tl.Add()), ValueError, "from one array to one"),
    # devices
    (lambda: tl.Accelerate(lambda x: x), TypeError, "Accelerate: layer must be a layer; got"),
    (lambda: tl.Accelerate(tl.LayerNorm(), 1000), ValueError, "n_devices must be at most"),
    (lambda: tl.Accelerate(tl.LayerNorm(), -1), ValueError, "n_devices must be at least 1"),
    (lambda: tl.jit_forward(3, 1), TypeError, "jit_forward: forward must be a function"),
    (lambda: tl.jit_forward(print, 1000), ValueError, "n_devices must be at most"),
    (lambda: tl.reshape_by_device(jnp.ones((5, 2)), 2), ValueError, "2 devices don't divide"),
    (lambda: tl.reshape_by_device(jnp.ones(()), 2), ValueError, "don't divide the batch"),
    (lambda: tl.reshape_by_device(jnp.ones(4), 0), ValueError, "n_devices must be at least 1"),
    (lambda: tl.for_n_devices(jnp.ones(4), "all"), TypeError, "n_devices must be an int"),
    (lambda: tl.mean_or_pmean(2, jnp.ones((2, 2)), axis=1), ValueError, "axis must be 0"),
    # tables and drawings
    (lambda: tl.summary(print, shapes.ShapeDtype((2,))), TypeError, "layer must be a layer"),
    (lambda: tl.draw([tl.LayerNorm()]), TypeError, "draw: layer must be a layer"),
]  # fmt: skip

CALLS = [
    (lambda: run(tl.Glu(), jnp.ones((2, 3))), r"Glu: the last axis, .* got shape \(2, 3\)"),
    (lambda: call(tl.Relu(), "text"), "Serial"),
    (lambda: run(tl.Conv(4, (3, 3)), ROWS),
     r"Conv: expected an array with axes NHWC.* \(2, 8, 3\)"),
    (lambda: tl.Conv(4, (3, 3))(IMAGES), "Conv"),  # without init
    (lambda: run(tl.Conv(4, (9, 9)), IMAGES),
     r"the window \(9, 9\) is larger than the input's lengths \(7, 6\)"),
    (lambda: run(tl.Conv1d(4, 3), IMAGES), "Convolutions on more than 4 dimensions only supported"),
    (lambda: run(tl.CausalConv(4), IMAGES), "CausalConv"),
    (lambda: run(tl.CausalDepthwiseConv(), IMAGES),
     r"CausalDepthwiseConv: expected an array \[batch, time, depth\]; got shape \(2, 7, 6, 3\)"),
    (lambda: run(tl.ConvTranspose(4, (3, 3)), ROWS), "ConvTranspose: expected an array with axes"),
    (lambda: run(tl.ConvTranspose(4, (3,), dimension_numbers=("NWC", "WIO", "NWC")), IMAGES),
     "Deconvolutions on more than 4 dimensions only supported in NHWC"),
    (lambda: run(tl.MaxPool(), ROWS), r"MaxPool: pool_size \(2, 2\) is for arrays with 4 axes"),
    (lambda: run(tl.AvgPool((2,)), IMAGES), "AvgPool: pool_size"),
    (lambda: run(tl.SumPool((3, 8)), IMAGES), "SumPool: the window"),
    (lambda: run(tl.BatchNorm(), jnp.ones((2, 3))), r"axis=\(0, 1, 2\) must be different axes"),
    (lambda: run(tl.BatchNorm((0, -4)), IMAGES), r"axis=\(0, -4\) must be different axes"),
    (lambda: run(tl.BatchNorm(), jnp.ones((1, 2, 2, 3), jnp.int32)), "would be float32 .* int32"),
    (lambda: run(tl.BatchNorm(), IMAGES.astype(jnp.bfloat16)), "x.astype"),
    (lambda: tl.BatchNorm()(IMAGES), "BatchNorm"),  # without init
    (lambda: run(tl.LayerNorm(), jnp.ones(())),
     "LayerNorm: expected an array with at least 1 axis"),
    (lambda: run(tl.FilterResponseNorm(), jnp.ones(3)), "at least 2 axes"),
    (lambda: run(tl.CategoryAccuracy(), OUTPUTS, OUTPUTS), "CategoryAccuracy: expected targets"),
    (lambda: call(tl.CategoryAccuracy(), OUTPUTS), "CategoryAccuracy"),
    (lambda: run(tl.WeightedCategoryAccuracy(), OUTPUTS, TARGETS, jnp.ones((4, 1))),
     r"WeightedCategoryAccuracy: weights must broadcast .* \(4,\); got shape \(4, 1\)"),
    (lambda: run(tl.CategoryCrossEntropy(), OUTPUTS, TARGETS[:3]),
     "CategoryCrossEntropy: expected"),
    (lambda: run(tl.CategoryCrossEntropy(), OUTPUTS, TARGETS[..., None]),
     r"fix: targets\[\.\.\., 0\]"),
    (lambda: run(tl.CategoryAccuracy(), OUTPUTS, OUTPUTS), "the numbers of categories, such"),
    (lambda: run(tl.WeightedCategoryCrossEntropy(), OUTPUTS, TARGETS, jnp.ones(3)), "weights must"),
    (lambda: run(tl.BinaryCrossEntropy(), jnp.ones((4, 1)), TARGETS),
     "targets must have the shape"),
    (lambda: run(tl.MaskedSequenceAccuracy(), OUTPUTS[None], TARGETS[None], jnp.ones(5)),
     "weights"),
    (lambda: run(tl.Accuracy(), OUTPUTS, TARGETS[:, None], TARGETS), "Accuracy: targets must have"),
    (lambda: run(tl.SequenceAccuracy(), OUTPUTS, TARGETS, jnp.ones(5)),
     "SequenceAccuracy: weights"),
    (lambda: run(tl.CrossEntropyLoss(), OUTPUTS, OUTPUTS, TARGETS), "CrossEntropyLoss: expected"),
    (lambda: run(tl.CrossEntropySum(), OUTPUTS, TARGETS, jnp.ones(2)), "CrossEntropySum: weights"),
    (lambda: run(tl.BinaryCrossEntropyLoss(), OUTPUTS, TARGETS, TARGETS), "BinaryCrossEntropyLoss"),
    (lambda: run(tl.L2Loss(), OUTPUTS, OUTPUTS, TARGETS), r"L2Loss: weights must have the shape"),
    (lambda: run(tl.SmoothL1Loss(), OUTPUTS, OUTPUTS[:1], OUTPUTS), "SmoothL1Loss: targets must"),
    (lambda: run(tl.WeightedSum(), TARGETS, OUTPUTS), "WeightedSum: weights must broadcast"),
    (lambda: run(tl.MacroAveragedFScore(1.0, 5), OUTPUTS, TARGETS), "leaves none of 5 categories"),
    (lambda: run(tl.WeightedFScore(), OUTPUTS, OUTPUTS), "WeightedFScore: expected targets"),
    (lambda: run(tl.Accelerate(tl.Add(), 2), jnp.ones(4), jnp.ones(6)), "one batch axis"),
    (lambda: run(tl.Accelerate(tl.LayerNorm(), 2), jnp.ones(())), "at least 1 axis"),
    (lambda: tl.summary(tl.Conv(4, (3, 3)), ROWS), "Conv: expected an array with axes NHWC"),
    (lambda: tl.draw(tl.MaxPool(), input_signature=ROWS), "MaxPool: pool_size"),
]  # fmt: skip


def names_a_line(text, f):
    """Whether a message has a line of a lambda of this file."""
    lines = {line for _, _, line in f.__code__.co_lines() if line}
    name = __file__.rsplit("/", 1)[-1]
    found = re.findall(rf"{name}(?:, line |:)(\d+)", text)
    return not lines.isdisjoint(map(int, found))


@pytest.mark.parametrize("case", CONSTRUCTORS, ids=row_name)
def test_wrong_options(case):
    f, kind, message = case
    with pytest.raises(kind, match=message) as info:
        f()
    text = "\n".join([str(info.value), *info.value.__notes__])
    assert names_a_line(text, f), text


@pytest.mark.parametrize("case", CALLS, ids=row_name)
def test_wrong_calls(case):
    f, message = case
    with pytest.raises(tl.LayerError) as info:
        f()
    text = str(info.value)
    assert re.search(message, text, re.DOTALL), text
    assert names_a_line(text, f), text
    assert "Error: " in text.splitlines()[0], text


def test_a_file_that_is_not_there():
    with pytest.raises(OSError, match="nowhere"):
        tl.InitializerFromFile("/nowhere.npy")((1,), onp.zeros(2))

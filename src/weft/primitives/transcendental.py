"""Exponentials, logarithms, trigonometry. Knows its own derivatives."""

import numpy as np

from ..core.primitive import Primitive
from .families import unary

tanh: Primitive = unary(
    "tanh", "Hyperbolic tangent.", evaluate=np.tanh, stablehlo="tanh", accepts="inexact",
    jvp=lambda dx, out, x: dx * (1 - out * out),
)  # fmt: skip
sin: Primitive = unary(
    "sin", "Sine.", evaluate=np.sin, stablehlo="sine", accepts="inexact", host_limit=None,
    jvp=lambda dx, out, x: dx * cos(x),
)  # fmt: skip
cos: Primitive = unary(
    "cos", "Cosine.", evaluate=np.cos, stablehlo="cosine", accepts="inexact", host_limit=None,
    jvp=lambda dx, out, x: -(dx * sin(x)),
)  # fmt: skip
exp: Primitive = unary(
    "exp", "e to the power x.", evaluate=np.exp, stablehlo="exponential", accepts="inexact",
    jvp=lambda dx, out, x: dx * out,
)  # fmt: skip
log: Primitive = unary(
    "log", "Natural logarithm.", evaluate=np.log, stablehlo="log", accepts="inexact",
    jvp=lambda dx, out, x: dx / x,
)  # fmt: skip

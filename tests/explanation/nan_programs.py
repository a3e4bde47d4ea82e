"""Programs that make a NaN or an infinity, and sound ones. The line at fault ends in `# <-`.

`PROGRAMS` has for each the arguments, the operation, the pass, and the words that the trace has
besides. `KNOWN` has programs with a known pattern: its name, and the value that the rewritten
program must have, by NumPy or SciPy in float64. `SOUND` look like them, and are finite.
"""

from typing import Any, NamedTuple

import numpy as onp
import scipy.special

import weft
import weft.numpy as np
from weft import lax, layers as tl, nn
from weft.scipy.special import gammaln

X = onp.array([4.0, 0.0, 1.0], onp.float32)
ZEROS = onp.zeros(3, onp.float32)
LARGE = onp.array([200.0, -200.0, 1.0], onp.float32)
ROWS = onp.array([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0]], onp.float32)
MASK = onp.array([[True, True, False], [False, False, False]])


class Program(NamedTuple):
    """A program and what `nan_trace` must say about it."""

    function: Any
    args: tuple[Any, ...]
    operation: str
    backward: bool = False
    words: str = ""


# --- forward ---


def logarithm(x):
    y = 2.0 * x
    return np.log(y) + 1.0  # <-


def quotient(x):
    total = np.sum(x)
    return x / total  # <-


def negative_root(x):
    shifted = x - 2.0
    return np.sum(np.sqrt(shifted))  # <-


def overflow(x):
    return np.sum(np.exp(x * 10.0))  # <-


def infinity_minus_infinity(x):
    a = np.exp(x)  # <-
    return np.sum(a - a)


def after_a_discarded_infinity(x, y):
    log = np.log(x)
    root = np.sqrt(y)  # <-
    return np.where(x > 0, log, root)


def half_sum(x):
    return np.mean(x * x)  # <-


def all_masked(scores, mask):
    scores = np.where(mask, scores, -np.inf)
    return nn.softmax(scores, axis=-1)  # <-


def masked_constant(x, mask):
    penalty = (1.0 - mask) * np.inf  # <-
    return nn.softmax(x - penalty)


def inner_arccos(a, b):
    cosine = np.sum(a * b) * 1.2
    return np.arccos(cosine)  # <-


def entropy(p):
    return -np.sum(p * np.log(p))  # <-


def cross_entropy(logits, labels):
    e = np.exp(logits)  # <-
    p = e / np.sum(e, axis=-1, keepdims=True)
    return -np.mean(np.sum(labels * np.log(p), axis=-1))


def binary_cross_entropy(z, y):
    p = nn.sigmoid(z)
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))  # <-


def deviation_by_moments(x):
    variance = np.mean(x**2) - np.mean(x) ** 2
    return np.sqrt(variance) + 1.0  # <-


def step_of_scan(start):
    def step(carry, x):
        return carry - 1.0, np.log(carry) * x  # <-

    return lax.scan(step, start, np.arange(5.0))[1]


def step_of_while(x):
    def body(state):
        i, x = state
        return i + 1, np.log(x)  # <-

    return lax.while_loop(lambda state: state[0] < 4, body, (0, x))[1]


def branch(x):
    def negative(x):
        return np.sqrt(x)  # <-

    return lax.cond(x < 0, negative, lambda x: x, x)


def mapped(x):
    return weft.vmap(lambda row: np.log(np.min(row)))(x)  # <-


@weft.jit
def jitted_inside(x):
    @weft.jit
    def inner(x):
        return 1.0 / x  # <-

    return inner(x) * 2.0


def standardized(x):
    return (x - np.mean(x)) / np.std(x)  # <-


def mean_of_selected(x, mask):
    count = np.sum(mask)
    return np.sum(x * mask) / count  # <-


def cosine(a, b):
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return np.dot(a, b) / norms  # <-


# --- backward ---


def where_over_root(x):
    root = np.sqrt(x)  # <-
    return np.sum(np.where(x > 0, root, 0.0))


def where_over_quotient(x):
    positive = x > 0
    return np.sum(np.where(positive, 1.0 / x, 0.0))  # <-


def where_over_log(x):
    return np.sum(np.where(x == 0, 0.0, x * np.log(x)))  # <-


def where_over_power(x):
    return np.sum(np.where(x > 0, x**0.5, 0.0))  # <-


def norm_by_hand(x, y):
    difference = x - y
    return np.sqrt(np.sum(difference**2))  # <-


def deviation(x):
    return np.std(x, axis=0) * 2.0  # <-


def power(x):
    return np.sum(x**0.3)  # <-


def angle(x):
    return np.sum(np.arccos(x))  # <-


def sigmoid_by_hand(x):
    return np.sum(1 / (1 + np.exp(-x)))  # <-


def softplus_by_hand(x):
    return np.mean(np.log(1.0 + np.exp(x)))  # <-


def gradient_of_root(x):
    return weft.grad(norm_by_hand)(x, x)


def rule_with_a_fault(x):
    @weft.custom_vjp
    def double(x):
        return 2.0 * x

    def forward(x):
        return double(x), x

    def backward(x, ct):
        return (ct * np.log(x - x),)  # <-

    double.defvjp(forward, backward)
    return np.sum(double(x))


def root_in_scan(x):
    def step(carry, x):
        return carry + np.sqrt(x * carry), None  # <-

    return lax.scan(step, 0.0, x)[0]


def root_in_checkpoint(x):
    @weft.checkpoint
    def block(x):
        return np.sqrt(np.abs(x))  # <-

    return np.sum(block(x) * 3.0)


def training_step(weights, x, y):
    def loss(weights):
        error = x @ weights - y
        return np.mean(np.sqrt(error * error))  # <-

    value, gradient = weft.value_and_grad(loss)(weights)
    return weights - 0.1 * gradient, value


def adam_step(weights, gradient, moment):
    moment = 0.9 * moment + 0.1 * gradient**2
    return weights - gradient / np.sqrt(moment)  # <-


def layer_norm_by_hand(x):
    centered = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centered**2, axis=-1, keepdims=True)
    return np.sum(centered * lax.rsqrt(variance))  # <-


def attention(q, k, mask):
    scores = q @ k.T / np.sqrt(3.0)
    scores = np.where(mask, scores, float("-inf"))
    weights = nn.softmax(scores)  # <-
    return weights @ k


def in_a_layer(x):
    model = tl.Serial(tl.Fn("Double", lambda x: 2 * x), tl.Fn("Log", lambda x: np.log(x)))  # <-
    model.init(x)
    return model(x)


PROGRAMS = [
    Program(logarithm, (X,), "log"),
    Program(quotient, (ZEROS,), "div"),
    Program(negative_root, (X,), "sqrt"),
    Program(overflow, (X * 10,), "exp"),
    Program(infinity_minus_infinity, (LARGE,), "exp", words="becomes a NaN in sub"),
    Program(after_a_discarded_infinity, (X, X - 2), "sqrt"),
    Program(half_sum, (onp.full(3, 300, onp.float16),), "mul"),
    Program(all_masked, (ROWS, MASK[:, :3]), "sub"),
    Program(masked_constant, (ROWS[0], MASK[0].astype("float32")), "mul"),
    Program(inner_arccos, (onp.float32([1, 0]), onp.float32([1, 0])), "acos"),
    Program(entropy, (onp.float32([0, 0.5, 0.5]),), "log", words="becomes a NaN in mul"),
    Program(cross_entropy, (ROWS * 100, onp.eye(3, dtype="float32")[:2]), "exp"),
    Program(binary_cross_entropy, (LARGE, onp.float32([1, 1, 0])), "log"),
    Program(deviation_by_moments, (onp.full(5, 1000.1, onp.float32),), "sqrt"),
    Program(step_of_scan, (3.0,), "log", words="inside: step 3 of scan"),
    Program(step_of_while, (2.0,), "log", words="inside: step 2 of while_loop"),
    Program(branch, (-1.0,), "sqrt", words="inside: branch 1 of cond"),
    Program(mapped, (ROWS - 1,), "log"),
    Program(jitted_inside, (X,), "div"),
    Program(standardized, (onp.full(3, 2, onp.float32),), "div"),
    Program(mean_of_selected, (X, ZEROS), "div"),
    Program(cosine, (X, ZEROS), "div"),
    Program(where_over_root, (X,), "div", True, "for sqrt and its derivative"),
    Program(where_over_quotient, (X,), "div", True),
    Program(where_over_log, (X,), "log", True),
    Program(where_over_power, (X,), "pow", True),
    Program(norm_by_hand, (X, X), "div", True),
    Program(deviation, (onp.ones((3, 2), onp.float32),), "div", True),
    Program(power, (X,), "pow", True),
    Program(angle, (onp.float32([1, 0.5]),), "rsqrt", True),
    Program(sigmoid_by_hand, (LARGE,), "exp", True, "becomes a NaN in mul"),
    Program(softplus_by_hand, (LARGE,), "exp"),
    Program(rule_with_a_fault, (X,), "log", True),
    Program(root_in_scan, (X,), "div", True, "step 0 of scan"),
    Program(root_in_checkpoint, (X,), "div", True),
    Program(training_step, (ZEROS, ROWS, onp.zeros(2, onp.float32)), "div", True),
    Program(adam_step, (X, ZEROS, ZEROS), "div"),
    Program(layer_norm_by_hand, (onp.ones((2, 3), onp.float32),), "rsqrt"),
    Program(attention, (ROWS, ROWS, MASK[:, :2]), "sub"),
    Program(in_a_layer, (X,), "log", words="layer: Serial > Log"),
]


# --- known patterns ---


class Known(NamedTuple):
    """A program with a known pattern, and its value for the arguments in float64."""

    kind: str
    function: Any
    args: tuple[Any, ...]
    value: Any
    forward_only: bool = False  # its derivative is infinite, in exact arithmetic too


def kl_divergence(p, q):
    ratio = p / q
    return np.sum(p * np.log(ratio))  # <-


def log_likelihood(logits, labels):
    probabilities = nn.softmax(logits, axis=-1)
    return np.sum(labels * np.log(probabilities))  # <-


def log_partition(x):
    weights = np.exp(x)  # <-
    total = weights.sum(axis=1)
    return np.mean(np.log(total))


def log_of_two(x):
    return np.sum(np.log(np.exp(x) + np.exp(2.0 * x)))  # <-


def complement(x):
    p = 1 / (1 + np.exp(-x))
    return np.sum(np.log(1 - p))  # <-


def tanh_of_parts(x):
    return np.sum((np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)))  # <-


def softmax_by_hand(x):
    exponentials = np.exp(x)  # <-
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def softmax_by_indexing(x):
    exponentials = np.exp(x)  # <-
    total = exponentials.sum(1)
    return exponentials / total[:, None]


def softmax_of_small(x):
    exponentials = np.exp(x - 300.0)
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)  # <-


def safe_quotient(x, y):
    quotient = x / y  # <-
    return np.sum(np.where(y != 0, quotient, 0.0))


def other_branch(x):
    small = x < 1e-6
    return np.sum(np.where(small, 0.0, np.sqrt(x)))  # <-


def over_several_lines(x):
    return np.sum(
        np.where(
            x > 0,
            np.sqrt(x),  # <-
            0.0,
        )
    )


def unit_vector(x):
    return x / np.linalg.norm(x)  # <-


def pairwise(x):
    difference = x[:, None] - x[None]
    return np.sum(np.sqrt(np.sum(difference**2, axis=-1)))  # <-


def log_of_probability(p, y):
    return -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))  # <-


def log_of_certainty(p):
    return np.sum(np.log(1 - p))  # <-


def half_norm(x):
    return np.sqrt(np.sum(x**2))  # <-


def half_dot(x):
    return np.dot(x, x)  # <-


def masked_gamma(x, mask):
    return np.sum(gammaln(x) * mask)  # <-


def root_beside_a_logarithm(x, y):
    probabilities = nn.softmax(x)
    distance = np.sqrt(np.sum(y**2))  # <-
    return np.sum(np.log(probabilities)) + distance


def quotient_beside_a_logarithm(x, y):
    ratio = x / y  # <-
    return np.sum(np.log(nn.softmax(x))) + np.sum(ratio)


def one_of_two_quotients(x, y):
    return np.sum(1.0 / np.sum(1.0 / (y + 1.0)) / x)  # <-


def inner_quotient(x):
    return np.sum(1.0 / (2.0 + np.log(1.0 / x)))  # <-


def gamma_of_selected(x, mask):
    values = gammaln(x)  # <-
    return np.sum(mask * values)


def angles(y, x):
    return np.sum(np.arctan2(y, x))  # <-


def covariance_root(a):
    return np.linalg.cholesky(a)  # <-


SMALL = onp.array([0.0, 0.25, 0.75], onp.float32)
HALVES = onp.full(8, 300, onp.float16)
SINGULAR = onp.ones((2, 2), onp.float32)


def softplus(x):
    return onp.logaddexp(0, x)


KNOWN = [
    Known("log of softmax", log_likelihood, (ROWS * 100, onp.eye(3)[:2].astype("float32")),
          lambda x, y: onp.sum(y * scipy.special.log_softmax(x, axis=-1))),
    Known("log of softmax", cross_entropy, (ROWS * 100, onp.eye(3)[:2].astype("float32")),
          lambda x, y: -onp.mean(onp.sum(y * scipy.special.log_softmax(x, axis=-1), axis=-1))),
    Known("log of sigmoid", binary_cross_entropy, (LARGE, onp.float32([1, 1, 0])),
          lambda z, y: onp.mean(y * softplus(-z) + (1 - y) * softplus(z))),
    Known("log of sigmoid", complement, (LARGE,), lambda x: -onp.sum(softplus(x))),
    Known("log of a sum of exponentials", log_partition, (ROWS * 100,),
          lambda x: onp.mean(scipy.special.logsumexp(x, axis=1))),
    Known("log of a sum of exponentials", log_of_two, (LARGE,),
          lambda x: onp.sum(onp.logaddexp(x, 2 * x))),
    Known("log of 1 + exp", softplus_by_hand, (LARGE,), lambda x: onp.mean(softplus(x))),
    Known("softmax by hand", softmax_by_hand, (ROWS * 100,),
          lambda x: scipy.special.softmax(x, axis=-1)),
    Known("softmax by hand", softmax_by_indexing, (ROWS * 100,),
          lambda x: scipy.special.softmax(x, axis=1)),
    Known("softmax by hand", softmax_of_small, (ROWS,),
          lambda x: scipy.special.softmax(x, axis=-1)),
    Known("sigmoid by hand", sigmoid_by_hand, (LARGE,), lambda x: onp.sum(scipy.special.expit(x))),
    Known("tanh by hand", tanh_of_parts, (LARGE,), lambda x: onp.sum(onp.tanh(x))),
    Known("x · log(y) at 0", entropy, (SMALL,), lambda p: onp.sum(scipy.special.entr(p)), True),
    Known("x · log(y) at 0", kl_divergence, (SMALL, SMALL[::-1] + 0.1),
          lambda p, q: onp.sum(scipy.special.rel_entr(p, q)), True),
    Known("where over a singular operation", where_over_root, (X,), lambda x: onp.sum(onp.sqrt(x))),
    Known("where over a singular operation", where_over_quotient, (X,),
          lambda x: onp.sum(1 / x[x > 0])),
    Known("where over a singular operation", where_over_log, (X,),
          lambda x: onp.sum(scipy.special.xlogy(x, x))),
    Known("where over a singular operation", where_over_power, (X,),
          lambda x: onp.sum(onp.sqrt(x))),
    Known("where over a singular operation", safe_quotient, (X, X), lambda x, y: 2.0),
    Known("where over a singular operation", other_branch, (X,), lambda x: onp.sum(onp.sqrt(x))),
    Known("where over a singular operation", over_several_lines, (X,),
          lambda x: onp.sum(onp.sqrt(x))),
    Known("variance as a difference", deviation_by_moments, (onp.float32([1000.1] * 4 + [1000.2]),),
          lambda x: onp.std(x) + 1),
    Known("root at 0", norm_by_hand, (X, X), lambda x, y: 0.0),
    Known("root at 0", root_beside_a_logarithm, (X, ZEROS),
          lambda x, y: onp.sum(scipy.special.log_softmax(x))),
    Known("root at 0", pairwise, (ROWS,), lambda x: 2 * onp.linalg.norm(x[0] - x[1])),
    Known("root at 0", deviation, (onp.ones((3, 2), onp.float32),), lambda x: onp.zeros(2)),
    Known("root at 0", layer_norm_by_hand, (onp.ones((2, 3), onp.float32),), lambda x: 0.0),
    Known("power of 0", power, (X,), lambda x: onp.sum(x**0.3)),
    Known("inverse function at the edge", angle, (onp.float32([1, 0.5]),),
          lambda x: onp.sum(onp.arccos(x))),
    Known("angle of (0, 0)", angles, (X - 1, X - 1), lambda y, x: onp.sum(onp.arctan2(y, x))),
    Known("x · log(y) at 0", log_of_probability, (onp.float32([1, 0.5]), onp.float32([1, 1])),
          lambda p, y: -onp.sum(onp.log(p)), True),
    Known("log of 0", logarithm, (X,), lambda x: onp.log(onp.maximum(2 * x, 1e-30)) + 1),
    Known("root of a negative number", negative_root, (X,), lambda x: onp.sqrt(2)),
    Known("overflow of exp", overflow, (onp.float32([20, 1]),),
          lambda x: onp.exp(80) + onp.exp(10)),
    Known("log(1 - p)", log_of_certainty, (onp.float32([1, 0.5]),),
          lambda p: onp.log(2.0**-23) + onp.log(0.5)),
    Known("singular matrix", covariance_root, (SINGULAR,), lambda a: [[1, 0], [1, 0]]),
    Known("division by 0", quotient, (ZEROS,), lambda x: x),
    Known("division by 0", quotient_beside_a_logarithm, (X, X),
          lambda x, y: onp.sum(scipy.special.log_softmax(x)) + 2),
    Known("division by 0", one_of_two_quotients, (X, X),
          lambda x, y: 1 / onp.sum(1 / (y + 1)) * 2.25),
    Known("division by 0", inner_quotient, (X,),
          lambda x: 1 / (2 - onp.log(4)) + 0.5 + 0.5),
    Known("division by 0", unit_vector, (ZEROS,), lambda x: x),
    Known("division by 0", standardized, (onp.full(3, 2, onp.float32),), lambda x: 0 * x),
    Known("division by 0", mean_of_selected, (X, ZEROS), lambda x, mask: 0.0),
    Known("division by 0", cosine, (X, ZEROS), lambda a, b: 0.0),
    Known("all masked", all_masked, (ROWS, MASK),
          lambda x, mask: [scipy.special.softmax([1, 2, -onp.inf]), [1 / 3] * 3]),
    Known("all masked", attention, (ROWS, ROWS, MASK[:, :2]),
          lambda q, k, mask: [scipy.special.softmax(q[0] @ k.T / 3**0.5) @ k, k.mean(axis=0)]),
    Known("overflow of float16", half_sum, (HALVES,), lambda x: onp.mean(x**2)),
    Known("overflow of float16", half_norm, (HALVES,), lambda x: onp.linalg.norm(x)),
    Known("overflow of float16", half_dot, (HALVES,), lambda x: onp.dot(x, x)),
    Known("0 · inf", masked_constant, (ROWS[0], onp.float32([1, 1, 0])),
          lambda x, mask: scipy.special.softmax([1, 2, -onp.inf])),
    Known("0 · inf", masked_gamma, (X, onp.float32([1, 0, 2])), lambda x, mask: onp.log(6), True),
    Known("0 · inf", gamma_of_selected, (X, onp.float32([1, 0, 2])), lambda x, mask: onp.log(6),
          True),
]  # fmt: skip


# --- sound programs, which have the same parts ---


def safe_root(x):
    return np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0))


def softmax_with_a_mask(x, mask):
    return nn.softmax(np.where(mask, x, -np.inf), axis=-1)


def discarded_infinity(x):
    return 1.0 / (1.0 + lax.stop_gradient(np.exp(x)))


def largest(x):
    return np.max(np.log(np.abs(x) + 1e-6))


def safe_loop(x):
    return lax.fori_loop(0, 5, lambda i, x: np.sqrt(x + 1.0), x)


def integers(n):
    return n // 2


SOUND = [
    (safe_root, (X,)),
    (softmax_with_a_mask, (ROWS, MASK[:1])),
    (discarded_infinity, (LARGE,)),
    (largest, (X,)),
    (safe_loop, (X,)),
    (integers, (onp.arange(3),)),
    (weft.jit(weft.grad(safe_root)), (X,)),
    (np.linalg.norm, (ZEROS,)),
]

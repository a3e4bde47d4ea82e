"""check_derivatives: rules with a mistake are named, right ones and weft's own are not."""

import collect
import numpy as onp
import planted_rules
import pytest
from planted_rules import X, with_jvp, with_vjp

import weft
import weft.numpy as np
from weft import extend, lax, nn, random
from weft.core.array import as_value
from weft.core.primitive import Primitive
from weft.errors import DerivativeRuleError
from weft.interpreters.debugging.derivative_rules import Rule, compare_rule, operation_on_leaves
from weft.scipy import stats

PLANTED, SOUND = planted_rules.PLANTED, planted_rules.SOUND
ONLY_EAGER = {"Python's if"} | {name for name in SOUND if "primitive" in name}


def size(tree):
    """A number that depends on all leaves."""
    return sum(np.sum(np.abs(x) ** 2).astype(np.float32) for x in weft.tree_leaves(tree))


def differentiate(function, args, jit=False):
    """Takes the gradient in all arguments that have one, with the switch on."""
    argnums = tuple(
        i
        for i, x in enumerate(args)
        if all(np.issubdtype(leaf.dtype, np.inexact) for leaf in weft.tree_leaves(x))
    )
    gradient = weft.grad(lambda *xs: size(function(*xs)), argnums)
    with weft.check_derivatives(True):
        (weft.jit(gradient) if jit else gradient)(*args)


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", PLANTED)
def test_a_mistake_is_noticed(name, jit):
    function, args = PLANTED[name]
    with pytest.raises(DerivativeRuleError, match=r"must give the (derivative|transpose)"):
        differentiate(function, args, jit)


@pytest.mark.parametrize("name", SOUND)
def test_a_right_rule_is_not_blamed(name):
    differentiate(*SOUND[name])


@pytest.mark.parametrize("name", [name for name in SOUND if name not in ONLY_EAGER])
def test_a_right_rule_is_not_blamed_in_a_compiled_function(name):
    differentiate(*SOUND[name], jit=True)


MATRIX = planted_rules.SQUARE
POSITIVE = planted_rules.POSITIVE
KEY = random.key(0)
CONFIGS = [nn.get_scaled_dot_general_config("mxfp8")] * 3


def cube_root(a):
    def newton(f, x):
        return lax.fori_loop(0, 60, lambda i, x: x - f(x) / (3 * x * x + 1e-6), x)

    return lax.custom_root(
        lambda x: x**3 - a, np.ones(3), newton, lambda linear, y: y / linear(np.ones(3))
    )


def scaled(a, b):
    return nn.scaled_dot_general(a, b, (((1,), (1,)), ((), ())), configs=CONFIGS)


QUERY = onp.random.default_rng(0).normal(size=(1, 1024, 1, 2)).astype(onp.float32)

OWN = planted_rules.rows(
    ("scaled products", scaled, MATRIX, MATRIX),
    ("attention in blocks", lambda q: nn.dot_product_attention(q, q / 2, q + 1), QUERY),
    ("gamma", lambda a: random.gamma(KEY, a), POSITIVE),
    ("wald", lambda a: random.wald(KEY, a, (3,)), POSITIVE),
    ("pinv", np.linalg.pinv, MATRIX[:2]),
    ("lstsq", lambda a, b: np.linalg.lstsq(a, b)[0], MATRIX[:, :2], X),
    ("det", np.linalg.det, MATRIX),
    ("det of zeros", np.linalg.det, 0 * MATRIX),
    ("slogdet", np.linalg.slogdet, MATRIX),
    ("singular values", lambda a: np.linalg.svd(a, compute_uv=False), MATRIX),
    ("eigenvalues", np.linalg.eigvals, MATRIX),
    ("custom_root", cube_root, POSITIVE),
    ("logistic", lambda x: stats.logistic.cdf(x) + stats.logistic.logcdf(x), X),
    ("logistic quantiles", stats.logistic.ppf, 0.3 * POSITIVE),
    ("gumbel_r", lambda x: stats.gumbel_r.cdf(x) + stats.gumbel_r.sf(x), X),
    ("gamma's tail", lambda x: stats.gamma.logcdf(x, 2.5), POSITIVE),
)


SLOW = {name: pytest.mark.slow for name in ("attention in blocks", "gamma's tail")}


@pytest.mark.parametrize("name", [pytest.param(n, marks=SLOW.get(n, ())) for n in OWN])
def test_weft_s_own_rules_are_not_blamed(name):
    function, args = OWN[name]
    differentiate(function, args)


CASES = [c for c in collect.CASES if c.family != "special"]


@pytest.mark.parametrize("part", range(4))
def test_weft_s_own_primitives_are_not_blamed(part):
    compared = 0
    for case in CASES[2 * part :: 8]:
        args = [as_value(x) for x in case.arguments()]
        function = case.function
        if isinstance(function, Primitive):
            flat = operation_on_leaves(function, tuple(case.params.items()))
        else:

            def flat(*xs, function=function, case=case):
                return [as_value(x) for x in weft.tree_leaves(function(*xs, **case.params))]

        compare_rule(
            Rule(case.name, flat, flat, "x{}".format, "", True),
            args,
            [x.aval.inexact for x in args],
        )
        compared += 1
    assert compared > 50


# --- messages ---


def message(function, *args):
    with pytest.raises(DerivativeRuleError) as caught:
        differentiate(function, args)
    return "\n".join([str(caught.value), *caught.value.__notes__])


def test_the_message_names_the_rule_the_argument_and_the_element():
    f = weft.custom_vjp(planted_rules.affine)

    def forward(params, x):
        return f(params, x), (params, x)

    def backward(kept, ct):
        params, x = kept
        return {"w": ct * x, "b": -ct}, ct * params["w"]

    f.defvjp(forward, backward)
    text = message(f, {"w": X, "b": X}, POSITIVE)
    assert text.startswith("custom_vjp: the backward rule backward (test_derivative_checks.py:")
    assert "of affine (planted_rules.py:" in text
    assert "must give the derivative of the function in params['b'], float32[3]" in text
    assert "the cotangent of params['b'][" in text
    assert "\n  the sign is wrong\n" in text
    assert "\n  fix: correct the rule, or set affine.check_derivatives = False" in text
    assert "\n  at test_derivative_checks.py:" in text


def test_a_jvp_rule_names_the_partial_derivative():
    text = message(with_jvp(lambda x: x**3, lambda t, out, x: t * x * x), onp.float32(2.0))
    assert "the rule <lambda> (test_derivative_checks.py:" in text
    assert "d output / d x, at x = 2: differences give 12, the rule 4" in text


HINTS = {
    "the sign is wrong": with_jvp(lambda x: np.cos(x), lambda t, out, x: t * np.sin(x)),
    "it is 0.5 times the derivative": with_jvp(lambda x: x**2, lambda t, out, x: t * x),
    "the rule gives zero": with_jvp(lambda x: x**2, lambda t, out, x: 0 * t),
    "wrong where the argument is negative": with_jvp(lambda x: np.abs(x), lambda t, out, x: t),
    "a number that is not finite": with_jvp(lambda x: x**2, lambda t, out, x: t * 2 * x * np.nan),
    "it returns the output 1.16, where the function returns 0.16": with_vjp(
        lambda x: x**2, lambda x: x, lambda x, g: (2 * x * g,)
    ),
}
HINTS["it returns the output 1.16, where the function returns 0.16"].fwd = lambda x: (x**2 + 1, x)


@pytest.mark.parametrize("hint", HINTS)
def test_a_probable_cause_is_named(hint):
    assert hint in message(HINTS[hint], X if "output" not in hint else X[1:2])


def test_a_transposed_cotangent_is_named():
    f = with_vjp(lambda a: a * MATRIX, lambda a: None, lambda kept, g: ((g * MATRIX).T,))
    assert "it is transposed" in message(f, MATRIX)


def test_a_conjugate_is_named():
    f = with_vjp(lambda z: np.exp(z), lambda z: np.exp(z), lambda y, g: (np.conj(g * y),))
    assert "it is the complex conjugate" in message(f, planted_rules.Z)


def test_a_rule_that_is_not_linear_is_named():
    calls = with_jvp(lambda x: x * x, lambda t, out, x: 2 * x * t)
    calls.defjvp(
        lambda p, t: (p[0] * p[0], 2 * p[0] * t[0] + 0 * t[0] * t[0] + t[0] * np.abs(t[0]))
    )
    with pytest.raises(DerivativeRuleError), weft.check_derivatives(True):
        weft.jvp(calls, (X,), (X,))


# --- when it is compared ---


def counted():
    """A function that counts its calls, with a right rule."""
    calls = []

    def f(x):
        calls.append(x)
        return np.sin(x)

    return with_jvp(f, lambda t, out, x: t * np.cos(x)), calls


def test_a_rule_is_compared_once_for_a_signature():
    f, calls = counted()
    differentiate(f, [X])
    first = len(calls)
    differentiate(f, [X])
    assert len(calls) == first + 1
    differentiate(f, [X[:2]])
    assert len(calls) > first + 5


def test_a_wrong_rule_is_named_at_each_use():
    f = with_jvp(lambda x: np.cos(x), lambda t, out, x: t * np.sin(x))
    for _ in range(2):
        assert "the sign is wrong" in message(f, X)


def test_nothing_is_compared_without_the_switch():
    f, calls = counted()
    weft.grad(lambda x: np.sum(f(x)))(X)
    assert len(calls) == 1
    assert not weft.config.check_derivatives


def test_a_function_is_not_compared_when_it_is_only_called():
    f, calls = counted()
    with weft.check_derivatives(True):
        f(X)
    assert len(calls) == 1


def test_a_traced_function_is_compared_after_the_switch_is_turned_on():
    f = with_jvp(lambda x: np.cos(x), lambda t, out, x: t * np.sin(x))
    gradient = weft.jit(weft.grad(lambda x: np.sum(f(x))))
    gradient(X)
    with weft.check_derivatives(True), pytest.raises(DerivativeRuleError):
        gradient(X)
    gradient(X)


def test_a_block_turns_the_comparison_off():
    f = with_jvp(lambda x: np.cos(x), lambda t, out, x: t * np.sin(x))

    def unchecked(x):
        with weft.check_derivatives(False):
            return f(x)

    differentiate(unchecked, [X])


def test_at_random_arguments_a_rule_may_have_a_domain():
    f = with_jvp(
        lambda x: np.where(x > 0, np.sqrt(np.abs(x)), 0.0), lambda t, out, x: 0.5 * t / np.sqrt(x)
    )
    differentiate(f, [POSITIVE], jit=True)
    assert "not finite" in message(f, X)  # these are the arguments


def test_the_results_are_the_same():
    f, _ = counted()
    gradient = weft.grad(lambda x: np.sum(f(x) ** 2))
    expected = gradient(X)
    with weft.check_derivatives(True):
        assert onp.array_equal(gradient(X), expected)


def test_a_primitive_that_differs_on_purpose_can_say_so():
    p = planted_rules.primitive(
        "hides_its_derivative", lambda x: x**3, lambda primals, tangents, out: tangents[0]
    )
    assert p.check_derivatives
    assert "check_derivatives = False on the primitive hides_its_derivative" in message(p, X)
    p.check_derivatives = False
    differentiate(p, [X])


def test_an_elementwise_primitive_of_a_user_is_compared():
    p = extend.unary(
        "wrong_gauss",
        "exp(-x²).",
        evaluate=lambda x: onp.exp(-x * x),
        stablehlo=None,
        jvp=lambda dx, out, x: dx * (-x * out),
        accepts="float",
    )
    assert "it is 0.5 times the derivative" in message(p, X)


def test_weft_s_own_primitives_are_not_compared():
    assert not lax.sin_p.check_derivatives
    assert not lax.scan_p.check_derivatives


# --- structure and loops ---

SYMMETRIC = MATRIX @ MATRIX.T


def log_det(a):
    """Reads the lower half of a symmetric matrix."""
    factor = lax.linalg.cholesky(a, symmetrize_input=False)
    return 2 * np.sum(np.log(np.diagonal(factor)))


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_function_of_symmetric_matrices_may_read_one_half(factor):
    f = with_vjp(log_det, lambda a: a, lambda a, g: (factor * g * np.linalg.inv(a),))
    if factor == 1:
        differentiate(f, [SYMMETRIC])
    else:
        assert "must give the derivative" in message(f, SYMMETRIC)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_function_of_triangular_matrices_may_read_one_half(sign):
    def solve(a):
        return lax.linalg.triangular_solve(a, X[:, None], left_side=True, lower=True)

    def backward(kept, g):
        a, y = kept
        u = np.linalg.solve(np.tril(a).T, g)
        return (-sign * u @ y.T,)

    f = with_vjp(solve, lambda a: (a, solve(a)), backward)
    if sign == 1:
        differentiate(f, [onp.tril(MATRIX)])
    else:
        assert "must give the derivative" in message(f, onp.tril(MATRIX))


def test_a_loop_is_not_run_at_random_arguments():
    """It would not end for negative ones."""

    def root(a):
        return lax.while_loop(lambda x: np.any(abs(x * x - a) > 1e-5), lambda x: (x + a / x) / 2, a)

    wrong = with_jvp(root, lambda t, out, a: t / out)
    differentiate(wrong, [POSITIVE], jit=True)
    assert "it is 2 times the derivative" in message(wrong, POSITIVE)

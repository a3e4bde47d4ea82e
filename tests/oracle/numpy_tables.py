"""Tables of `numpy`: functions and arguments in source text."""

from oracle.lax_tables import expressions

X = "np.asarray(onp.linspace(0.3, 2.1, 12, dtype='float32').reshape(3, 4))"
KINDS = ("bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64")
SCALARS = ("True", "2", "2.5", "1j", "np.float32(2)", "onp.int8(2)")


def of(dtype):
    return f"np.asarray(onp.array([[3, 1, 2], [0, 2, 1]])).astype('{dtype}')"


def unary():
    names = "abs negative sqrt exp sin tanh sign square reciprocal floor conj isfinite cumsum sort"
    for name in names.split():
        for dtype in KINDS:
            yield f"np.{name}", (of(dtype),)


def binary():
    names = "add subtract multiply divide floor_divide maximum power arctan2 equal bitwise_and"
    for name in names.split():
        kinds = KINDS[:-1] if name == "arctan2" else KINDS  # of complex numbers: NumPy refuses too
        for dtype in kinds:
            for other in kinds:
                yield f"np.{name}", (of(dtype), of(other))
            for scalar in ("2", "2.5"):
                yield f"np.{name}", (of(dtype), scalar)


def mixed():
    """Result dtypes and weak types of arrays, scalars of Python and of NumPy, and both."""
    for dtype in KINDS:
        for scalar in SCALARS:
            for operator in "+*":
                yield f"lambda x: x {operator} {scalar}", (of(dtype),)
                yield f"lambda x: {scalar} {operator} x", (f"{of(dtype)}[0, 0]",)
            yield f"lambda x: np.where(x == 1, x, {scalar})", (of(dtype),)
            yield f"lambda x: np.concatenate([x.ravel(), np.asarray([{scalar}])])", (of(dtype),)
            yield f"lambda x: np.asarray({scalar}) * x", (of(dtype),)
            yield f"lambda x: api.jit(lambda x, y: x * y + 1)(x, {scalar})", (of(dtype),)
            yield f"lambda x: x.at[0].set({scalar}).dtype.name", (of(dtype),)
            yield f"lambda x: np.result_type(x, {scalar}).name", (of(dtype),)
    for one in SCALARS:
        for other in SCALARS:
            yield f"lambda: np.add({one}, {other})", ()
            yield f"lambda: np.stack([np.asarray({one}), np.asarray({other})])", ()


def reductions():
    for name in ["sum", "prod", "mean", "var", "max", "argmin", "any", "all", "ptp", "median"]:
        for dtype in KINDS:
            for options in ("", ", axis=0", ", axis=1, keepdims=True"):
                yield f"lambda x: np.{name}(x{options})", (of(dtype),)


def edges():
    for bins in ("[3.0, 1.0, 0.0]", "[0.0, 1.0, 3.0]"):
        for right in ("True", "False"):
            yield f"lambda x: np.digitize(x, np.array({bins}), {right})", (X,)
    yield "lambda x: np.setdiff1d(x, np.array([2]))", (of("uint8"),)
    yield "lambda x: np.unique(x, return_inverse=True)", ("np.zeros((2, 0))",)
    yield "lambda x: np.resize(x, (2, 2))", ("np.zeros(0)",)
    yield "lambda x: np.repeat(x, 2, axis=0)", ("np.array(3.5)",)
    yield "lambda x: np.cov(x)", ("np.zeros(0)",)
    yield "lambda x: np.unwrap(x)", ("np.zeros(0)",)
    yield "lambda x: np.searchsorted(np.sort(x[0]), x)", (of("complex64"),)
    yield (
        "lambda x: np.einsum('ij,kj,kl->il', x, x, x, preferred_element_type=np.float32)",
        (of("int8"),),
    )
    yield "lambda x: np.dot(x, x.T, preferred_element_type=np.float16)", (of("float32"),)


def indices():
    for index in ("1", "-1", "::-1, 1:3", "..., None", "np.array([2, 0])", ":, np.array([-1, 9])"):
        yield f"lambda x: x[{index}]", (X,)
        for method in ("set", "add", "max"):
            yield f"lambda x: x.at[{index}].{method}(2.0)", (X,)


WIDE = """
np.sin(x) * 2; np.sum(x, axis=0); np.arange(5) * x[0, 0]; np.mean(np.arange(4));
np.cumprod(x, axis=1); np.linspace(0, 1, 5); np.std(x, axis=1); np.var(x * 1j);
x.astype(np.float32) + 1.5; x.astype(np.int64) << 40; np.asarray(2**40) // 3;
np.asarray([2**62]) * 3; np.uint64(2**63) + np.asarray(1, 'uint8');
np.add(np.int64(1), np.float32(2)); np.argmax(x, 0); np.argsort(x, axis=0);
np.bincount(np.asarray([1, 2, 2])); np.where(x > 1)[0]; np.unique(np.round(x));
np.convolve(x[0], x[1]); x @ x.T; lax.erf(x); lax.lgamma(x); lax.igamma(x, x + 1);
lax.bessel_i1e(x); lax.erf_inv(x / 3); lax.digamma(x); lax.zeta(x + 1, x);
lax.betainc(x, x, x / 3); lax.logistic(x * 1j); lax.cumlogsumexp(x, 1);
lax.reduce_precision(x, 5, 10); lax.convert_element_type(np.asarray([1e300, -1e300]), 'int64');
lax.bitcast_convert_type(x, 'uint64'); lax.bitcast_convert_type(x, 'float32');
lax.population_count(np.asarray([-1, 3])); lax.scan(lambda c, r: (c + r.sum(), c), 0.0, x);
lax.fori_loop(0, 3, lambda i, v: v + i, 0); lax.while_loop(lambda v: v < 5, lambda v: v * 2, 1.0);
lax.iota(int, 3); lax.full((2,), 2.5); lax.sort(x, dimension=0); lax.top_k(x, 2);
api.grad(lambda x: np.sum(np.exp(x) ** 2))(x); api.hessian(lambda v: np.sum(v**3))(x[0]);
api.jit(lambda x, n: x * n)(x, 3); api.vmap(lambda r: np.sort(r)[::-1])(x); np.logaddexp(x, x);
np.i0(x); np.sinc(x); random.normal(random.PRNGKey(0), (3,));
random.uniform(random.PRNGKey(0), (3,)); random.randint(random.PRNGKey(1), (4,), 0, 2**40);
random.bits(random.PRNGKey(0), (3,), 'uint64'); random.permutation(random.PRNGKey(0), 7);
random.gamma(random.PRNGKey(0), 2.5, (3,));
random.exponential(random.PRNGKey(5), (2,), np.float32);
lax.conv(x[None, None], x[None, None, :2, :2], (1, 1), 'SAME'); lax.complex(x, x); np.exp2(x);
np.nextafter(x, 9.0); np.frexp(x)
"""


def wide():
    """With 64-bit types."""
    for e in expressions(WIDE):
        yield f"lambda x: {e}", ("np.asarray(onp.linspace(0.3, 2.1, 12).reshape(3, 4))",)


TABLES = (unary, binary, mixed, reductions, edges, indices, wide)

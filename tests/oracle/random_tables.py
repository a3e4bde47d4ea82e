"""Tables of `random`: the streams are the classic ones on both sides."""

from oracle.lax_tables import expressions

DRAWS = """
bits(k, (5,)); bits(k, (3,), 'uint8'); split(k, (2, 2)); fold_in(k, 9); uniform(k, (5,));
uniform(k, (2, 3), minval=-1.0, maxval=np.asarray([1.0, 2.0, 3.0])); uniform(k, (4,), 'bfloat16');
uniform(k, (4,), 'float16'); normal(k, (5,)); normal(k, (3,), 'complex64');
normal(k, (4,), 'bfloat16'); truncated_normal(k, -1.0, 2.0, (5,)); randint(k, (7,), 0, 10);
randint(k, (7,), -128, 127, 'int8'); permutation(k, 9);
permutation(k, np.arange(12).reshape(3, 4), axis=1, independent=True);
choice(k, 5, (3,), replace=False);
choice(k, np.arange(4) * 1.5, (2, 3), p=np.asarray([0.1, 0.2, 0.3, 0.4])); bernoulli(k, 0.3, (9,));
categorical(k, np.log(np.asarray([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]))); exponential(k, (5,));
gumbel(k, (5,)); laplace(k, (5,)); logistic(k, (5,)); cauchy(k, (5,)); pareto(k, 2.0, (5,));
gamma(k, np.asarray([0.3, 1.0, 9.0]), (3,)); beta(k, 2.0, 3.0, (4,));
dirichlet(k, np.asarray([1.0, 2.0, 3.0]), (2,)); poisson(k, 3.5, (6,)); poisson(k, 40.0, (6,));
rademacher(k, (6,)); t(k, 4.0, (4,)); chisquare(k, 3.0, (4,)); rayleigh(k, 2.0, (4,));
weibull_min(k, 2.0, 1.5, (4,)); geometric(k, 0.3, (6,)); maxwell(k, (4,)); lognormal(k, 0.5, (4,));
loggamma(k, 2.0, (4,)); double_sided_maxwell(k, 0.0, 1.0, (4,)); wald(k, 2.0, (4,));
f(k, 3.0, 4.0, (4,))
"""


def random():
    from_seed = ("random.PRNGKey(0)", "random.PRNGKey(2**31 + 5)", "random.key(7)")
    for e in expressions(DRAWS):
        yield f"lambda k: data(random.{e})", (from_seed[0],)
    for key in from_seed:
        yield "lambda k: data(random.split(k, 3))", (key,)
        yield "lambda k: random.normal(random.split(k)[1], (3,))", (key,)
        yield "lambda k: api.vmap(lambda k: random.uniform(k, (2,)))(random.split(k, 3))", (key,)
        yield "lambda k: api.jit(lambda k: random.permutation(k, 5))(k)", (key,)
        yield "lambda k: api.grad(lambda s: (random.normal(k, (3,)) * s).sum())(2.0)", (key,)


TABLES = (random,)

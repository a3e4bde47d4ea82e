"""Models and samplers: numpyro, blackjax."""

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import infer

from .registry import numbers, program


def regression(x: Any, y: Any = None) -> None:
    w = numpyro.sample("w", dist.Normal(jnp.zeros(2), 1).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ w, s), obs=y)


@program
def densities() -> Any:
    x = numbers(6)
    laws = [dist.Normal(0.5, 2), dist.StudentT(3.0, 0, 1), dist.Laplace(0, 1), dist.Cauchy(0, 1)]
    laws += [dist.Gumbel(0, 1), dist.Logistic(0, 1)]
    positive = [dist.Gamma(2.0, 1.0), dist.LogNormal(0, 1), dist.Exponential(2.0)]
    return [law.log_prob(x) for law in laws], [law.log_prob(jnp.abs(x) + 0.1) for law in positive]


@program
def draws() -> Any:
    key = jax.random.PRNGKey(3)
    laws = [dist.Normal(0.5, 2), dist.Uniform(0, 2), dist.Bernoulli(0.4), dist.Laplace(0, 1)]
    return [law.sample(key, (5,)) for law in laws]


@program
def log_density_of_a_model() -> Any:
    x = numbers(8, 2)
    y = x @ jnp.array([1.0, -2.0])

    def cost(w: Any) -> Any:
        given = {"w": w, "s": jnp.array(0.7)}
        return infer.util.log_density(regression, (x, y), {}, given)[0]

    return jax.jit(jax.value_and_grad(cost))(jnp.array([0.5, -1.0]))


@program
def variational_inference() -> Any:
    x = numbers(8, 2)
    y = x @ jnp.array([1.0, -2.0])
    guide = infer.autoguide.AutoNormal(regression)
    svi = infer.SVI(regression, guide, numpyro.optim.Adam(0.05), infer.Trace_ELBO())
    found = svi.run(jax.random.PRNGKey(0), 50, x, y, progress_bar=False)
    return found.losses[:10]


@program
def handlers() -> Any:
    x = numbers(4, 2)
    seeded = numpyro.handlers.seed(regression, jax.random.PRNGKey(1))
    trace = numpyro.handlers.trace(seeded).get_trace(x)
    return {name: site["value"] for name, site in trace.items()}


@program
def nuts_first_states() -> Any:
    def log_density(x: Any) -> Any:
        return -0.5 * jnp.sum(x**2 * jnp.array([1.0, 4.0]))

    kernel = blackjax.nuts(log_density, step_size=0.2, inverse_mass_matrix=jnp.ones(2))
    state = kernel.init(jnp.array([1.0, -1.0]))
    state, info = jax.jit(kernel.step)(jax.random.PRNGKey(5), state)
    return state.position, info.acceptance_rate


@program
def hamiltonian_monte_carlo() -> Any:
    kernel = blackjax.hmc(
        lambda x: -0.5 * jnp.sum(x**2),
        step_size=0.1,
        inverse_mass_matrix=jnp.ones(2),
        num_integration_steps=5,
    )

    def one(state: Any, key: Any) -> Any:
        state, _ = kernel.step(key, state)
        return state, state.position

    start = kernel.init(jnp.array([0.5, -0.5]))
    return jax.lax.scan(one, start, jax.random.split(jax.random.PRNGKey(6), 4))[1]

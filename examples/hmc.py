"""Hamiltonian Monte Carlo: the posterior of a Bayesian logistic regression, in many chains at once.

A step of a chain draws a momentum and follows the dynamics of energy = -log density by leapfrog
(`lax.fori_loop`); a proposal is taken with the probability that makes the chain exact (Neal, MCMC
using Hamiltonian dynamics, 2011). `vmap` runs all chains together, `scan` makes them long. Data:
569 breast tumours (Wolberg et al., in scikit-learn), thirty measurements each.

    python examples/hmc.py [--chains 16] [--samples 500]
"""

import argparse
import time
from functools import partial
from typing import Any

import numpy as onp
from sklearn.datasets import load_breast_cancer

import weft.numpy as np
from weft import grad, jit, lax, nn, random, vmap

TEST = 169
LEAPS = 12  # of each trajectory
WIDTH = 1.0  # the prior's deviation of each weight


def load() -> tuple[Any, Any, Any, Any]:
    """Measurements in deviations from their mean, with a column of ones; 1 for a benign tumour."""
    x, y = load_breast_cancer(return_X_y=True)
    order = onp.random.RandomState(0).permutation(len(y))
    x, y = x[order], y[order].astype("float32")
    x = (x - x[TEST:].mean(0)) / x[TEST:].std(0)
    x = onp.column_stack([onp.ones(len(x)), x]).astype("float32")
    return x[TEST:], y[TEST:], x[:TEST], y[:TEST]


def log_density(weights: Any, x: Any, y: Any) -> Any:
    """The log posterior density, but for a constant."""
    logits = x @ weights
    return np.sum(y * logits - nn.softplus(logits)) - np.sum(weights**2) / (2 * WIDTH**2)


def trajectory(force: Any, position: Any, momentum: Any, step_size: Any) -> tuple[Any, Any]:
    """Leapfrog: half a kick, then moves and kicks in turn, the last kick a half again."""

    def leap(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        position, momentum = state
        position = position + step_size * momentum
        return position, momentum + step_size * force(position)

    momentum = momentum + 0.5 * step_size * force(position)
    position, momentum = lax.fori_loop(0, LEAPS, leap, (position, momentum))
    return position, momentum - 0.5 * step_size * force(position)


@partial(jit, static_argnums=(1, 2, 3))
def sampled(key: Any, chains: int, samples: int, tuning: int, x: Any, y: Any) -> tuple[Any, Any]:
    """Weights [chains, samples, d], and how often each chain took its proposal.

    In the first `tuning` steps, which are left out, step sizes are tuned to 80 % of acceptance.
    """
    density = partial(log_density, x=x, y=y)

    def chain(key: Any) -> tuple[Any, Any]:
        def step(state: tuple[Any, Any], at: tuple[Any, Any]) -> tuple[Any, Any]:
            position, log_size = state
            i, key = at
            draw_key, accept_key, size_key = random.split(key, 3)
            momentum = random.normal(draw_key, position.shape)
            size = np.exp(log_size) * random.uniform(size_key, minval=0.8, maxval=1.2)
            new, after = trajectory(grad(density), position, momentum, size)
            gain = density(new) - density(position) + (momentum @ momentum - after @ after) / 2
            chance = np.where(np.isnan(gain), 0.0, np.exp(np.minimum(gain, 0.0)))
            position = np.where(random.uniform(accept_key) < chance, new, position)
            log_size = log_size + np.where(i < tuning, 0.05 * (chance - 0.8), 0.0)
            return (position, log_size), (position, chance)

        start_key, key = random.split(key)
        start = random.normal(start_key, (x.shape[1],)), np.log(0.05)
        along = np.arange(tuning + samples), random.split(key, tuning + samples)
        _, (positions, chances) = lax.scan(step, start, along)
        return positions[tuning:], np.mean(chances[tuning:])

    return vmap(chain)(random.split(key, chains))


def split_r_hat(draws: Any) -> Any:
    """How much chains differ, by weight: 1 if they agree (Gelman, Bayesian Data Analysis)."""
    halves = onp.concatenate(onp.split(draws, 2, axis=1))
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return onp.sqrt((n - 1) / n + between / within)


def main(chains: int = 16, samples: int = 500, quick: bool = False) -> tuple[float, float]:
    """Samples; prints and returns the worst R-hat and the test accuracy."""
    x, y, new, truth = load()
    samples, tuning = (6, 4) if quick else (samples, 300)
    begun = time.perf_counter()
    draws, chances = map(onp.asarray, sampled(random.PRNGKey(0), chains, samples, tuning, x, y))
    seconds = time.perf_counter() - begun
    logits = new @ draws.reshape(-1, x.shape[1]).T
    probabilities = onp.exp(-onp.logaddexp(0, -logits))
    mean = onp.clip(probabilities.mean(axis=1), 1e-6, 1 - 1e-6)
    score = float(onp.mean((mean > 0.5) == (truth > 0.5)))
    density = float(onp.mean(onp.log(onp.where(truth > 0.5, mean, 1 - mean))))
    worst = float(split_r_hat(draws).max())
    print(f"sampling             {chains} chains of {samples} after {tuning}, {seconds:.1f} s")
    print(f"proposals taken      {chances.mean():.2f}")
    print(f"worst R-hat          {worst:.3f}")
    print(f"test accuracy        {score:.4f}, log density {density:.3f} a tumour")
    return worst, score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chains", type=int, default=16)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="ten steps")
    main(**vars(parser.parse_args()))

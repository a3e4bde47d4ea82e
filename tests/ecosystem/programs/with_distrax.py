"""Distributions and reinforcement learning: distrax and rlax.

Their values are those of jax 0.4.30 for both eras: with a newer jax these releases do not import.
"""

from typing import Any

import distrax
import jax
import jax.numpy as jnp
import rlax

from .registry import numbers, program


@program
def distributions_and_bijectors() -> Any:
    law = distrax.MultivariateNormalDiag(jnp.zeros(3), jnp.array([0.5, 1.0, 2.0]))
    flow = distrax.Transformed(
        distrax.Normal(0.0, 1.0), distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.1, 0.5)])
    )
    mixed = distrax.Categorical(logits=numbers(4))
    return (
        law.log_prob(numbers(2, 3)),
        law.entropy(),
        flow.log_prob(jnp.array([0.1, 0.3])),
        mixed.probs,
        mixed.entropy(),
    )


@program
def returns_and_errors() -> Any:
    rewards, values = numbers(6), numbers(7, seed=1)
    discounts = jnp.full(6, 0.9)
    return (
        rlax.lambda_returns(rewards, discounts, values[1:], 0.8),
        rlax.truncated_generalized_advantage_estimation(rewards, discounts, 0.9, values),
        rlax.q_learning(
            numbers(3), jnp.array(1), jnp.array(0.5), jnp.array(0.9), numbers(3, seed=2)
        ),
        rlax.vtrace(values[:-1], values[1:], rewards, discounts, jnp.exp(0.1 * numbers(6, seed=3))),
        jax.grad(lambda x: rlax.huber_loss(x).sum())(numbers(5, scale=3.0)),
    )

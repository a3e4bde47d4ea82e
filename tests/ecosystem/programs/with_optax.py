"""Optimizers, schedules, clipping, masks and losses of optax."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from .registry import numbers, program


def start() -> Any:
    return {"w": numbers(4, 3), "b": numbers(3, seed=1), "deep": [numbers(2, 2, seed=2)]}


def loss(params: Any, x: Any) -> Any:
    out = jnp.tanh(x @ params["w"] + params["b"])
    return jnp.mean((out - 0.5) ** 2) + 0.1 * jnp.sum(params["deep"][0] ** 2)


def steps(optimizer: Any, count: int = 4, jitted: bool = True) -> Any:
    """The parameters after some steps."""
    x = numbers(5, 4, seed=3)

    def step(params: Any, state: Any) -> Any:
        grads = jax.grad(loss)(params, x)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    step = jax.jit(step) if jitted else step
    params = start()
    state = optimizer.init(params)
    for _ in range(count):
        params, state = step(params, state)
    return params


@program
def adam() -> Any:
    return steps(optax.adam(1e-2))


@program
def adam_eager() -> Any:
    return steps(optax.adam(1e-2), jitted=False)


@program
def adamw_with_mask() -> Any:
    mask = {"w": True, "b": False, "deep": [True]}
    return steps(optax.adamw(1e-2, weight_decay=0.1, mask=mask))


@program
def other_optimizers() -> Any:
    made = {
        "adabelief": optax.adabelief(1e-2),
        "adagrad": optax.adagrad(1e-2),
        "adamax": optax.adamax(1e-2),
        "amsgrad": optax.amsgrad(1e-2),
        "fromage": optax.fromage(1e-2),
        "lamb": optax.lamb(1e-2),
        "lars": optax.lars(1e-2),
        "lion": optax.lion(1e-2),
        "novograd": optax.novograd(1e-2),
        "radam": optax.radam(1e-2),
        "rmsprop": optax.rmsprop(1e-2, centered=True, momentum=0.9),
        "sgd": optax.sgd(1e-2, momentum=0.9, nesterov=True),
        "yogi": optax.yogi(1e-2),
    }
    return {name: steps(optimizer, 3) for name, optimizer in made.items()}


@program
def adafactor() -> Any:
    return steps(optax.adafactor(1e-2, min_dim_size_to_factor=2))


@program
def sm3() -> Any:
    return steps(optax.sm3(1e-2))


@program
def noisy_sgd() -> Any:
    return steps(optax.noisy_sgd(1e-2, seed=3))


@program
def schedules() -> Any:
    made = {
        "constant": optax.constant_schedule(0.1),
        "cosine": optax.cosine_decay_schedule(0.1, 10, alpha=0.01),
        "exponential": optax.exponential_decay(0.1, 5, 0.9, transition_begin=2, staircase=True),
        "joined": optax.join_schedules(
            [optax.linear_schedule(0.0, 0.1, 5), optax.constant_schedule(0.3)], [5]
        ),
        "linear_onecycle": optax.linear_onecycle_schedule(12, 0.1),
        "onecycle": optax.cosine_onecycle_schedule(12, 0.1),
        "piecewise": optax.piecewise_constant_schedule(0.1, {3: 0.5, 8: 0.1}),
        "polynomial": optax.polynomial_schedule(0.1, 0.01, 2, 10),
        "warmup": optax.warmup_cosine_decay_schedule(0.0, 0.1, 4, 12, 0.01),
    }
    counts = jnp.arange(14)
    return {
        name: [
            np.asarray([schedule(n) for n in range(0, 14, 5)], "float32"),
            jax.jit(jax.vmap(lambda n, s=schedule: jnp.asarray(s(n), "float32")))(counts),
        ]
        for name, schedule in made.items()
    }


@program
def scheduled_adam() -> Any:
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 8)
    return steps(optax.chain(optax.clip_by_global_norm(0.5), optax.adam(schedule)), 6)


@program
def clipped() -> Any:
    grads = start()
    made = [optax.clip(0.5), optax.clip_by_global_norm(1.0), optax.clip_by_block_rms(0.5)]
    made += [optax.adaptive_grad_clip(0.1)]
    return [m.update(grads, m.init(grads), grads)[0] for m in made], optax.global_norm(grads)


@program
def masked_updates() -> Any:
    def mask(params):
        return jax.tree_util.tree_map(lambda p: p.ndim > 1, params)

    chained = optax.chain(optax.masked(optax.add_decayed_weights(0.1), mask), optax.sgd(0.1))
    return steps(chained)


@program
def transforms_by_label() -> Any:
    labels = {"w": "fast", "b": "still", "deep": "slow"}
    table = {"fast": optax.adam(0.1), "slow": optax.sgd(0.01), "still": optax.set_to_zero()}
    return steps(optax.multi_transform(table, labels))


@program
def injected_hyperparameters() -> Any:
    schedule = optax.linear_schedule(0.1, 0.0, 4)
    return steps(optax.inject_hyperparams(optax.adam)(learning_rate=schedule))


@program
def accumulated_steps() -> Any:
    return steps(optax.MultiSteps(optax.adam(0.1), every_k_schedule=2), 5)


@program
def only_finite_updates() -> Any:
    optimizer = optax.apply_if_finite(optax.sgd(0.1), 3)
    params = start()
    state = optimizer.init(params)
    for factor in (1.0, np.nan, np.inf, 2.0):
        grads = jax.tree_util.tree_map(lambda p, f=factor: p * f, params)
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params, state.total_notfinite


@program
def averages() -> Any:
    ema = optax.ema(0.9)
    state = ema.init(start())
    for n in range(3):
        mean, state = ema.update(jax.tree_util.tree_map(lambda p, n=n: p * n, start()), state)
    polyak = optax.incremental_update(mean, start(), 0.1)
    return mean, polyak, optax.periodic_update(mean, start(), jnp.asarray(4), 2)


@program
def training_in_a_scan() -> Any:
    optimizer = optax.adam(0.05)
    params = start()

    def step(carry: Any, x: Any) -> Any:
        params, state = carry
        value, grads = jax.value_and_grad(loss)(params, x)
        updates, state = optimizer.update(grads, state)
        return (optax.apply_updates(params, updates), state), value

    (params, _), losses = jax.lax.scan(step, (params, optimizer.init(params)), numbers(6, 5, 4))
    return params, losses


@program
def losses() -> Any:
    logits, other = numbers(4, 5), numbers(4, 5, seed=1)
    labels = jnp.array([0, 3, 2, 4])
    hot = jax.nn.one_hot(labels, 5)
    values = {
        "cosine": optax.cosine_similarity(logits, other),
        "cross_entropy": optax.softmax_cross_entropy(logits, hot),
        "hinge": optax.hinge_loss(logits, 2 * hot - 1),
        "huber": optax.huber_loss(logits, other, delta=0.7),
        "integer": optax.softmax_cross_entropy_with_integer_labels(logits, labels),
        "kl": optax.kl_divergence(jax.nn.log_softmax(logits), jax.nn.softmax(other)),
        "l2": optax.l2_loss(logits, other),
        "log_cosh": optax.log_cosh(logits, other),
        "sigmoid": optax.sigmoid_binary_cross_entropy(logits, hot),
        "smooth": optax.smooth_labels(hot, 0.1),
    }
    gradient = jax.grad(lambda z: optax.softmax_cross_entropy_with_integer_labels(z, labels).sum())
    return values, gradient(logits)


@program
def ctc_loss() -> Any:
    logits = numbers(2, 6, 4)
    padding, labels = jnp.zeros((2, 6)), jnp.array([[1, 2, 2], [3, 1, 0]])
    label_padding = jnp.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

    def f(z):
        return optax.ctc_loss(z, padding, labels, label_padding)

    return f(logits), jax.grad(lambda z: f(z).sum())(logits)

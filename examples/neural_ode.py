"""A neural ordinary differential equation learns the laws of motion from noisy observations.

A pendulum with friction is observed now and then. A small network is put in the place of the law,
`odeint` integrates it, and gradients come from the adjoint equation, which is integrated backwards
(Chen et al., Neural Ordinary Differential Equations, 2018). The data are generated, from the true
law and noise; what is tested is the future, and a start that was never seen.

    python examples/neural_ode.py [--steps 1200] [--picture neural_ode.png]
"""

import argparse
from typing import Any

import numpy as onp
import pictures

import weft.numpy as np
from weft import jit, random, value_and_grad, vmap
from weft.experimental import optimizers, stax
from weft.experimental.ode import odeint

NOISE = 0.02
FRICTION = 0.15
INIT, NETWORK = stax.serial(stax.Dense(32), stax.Tanh, stax.Dense(32), stax.Tanh, stax.Dense(1))


def truth(state: Any, t: Any) -> Any:
    """The law: angle and speed of a pendulum with friction."""
    angle, speed = state
    return np.stack([speed, -np.sin(angle) - FRICTION * speed])


def learnt(state: Any, t: Any, params: Any) -> Any:
    """A law whose acceleration is a network of angle and speed."""
    return np.stack([state[1], NETWORK(params, state)[0]])


def observed(key: Any, starts: Any, times: Any) -> Any:
    """Noisy states [n, t, 2] of pendulums from different starts."""
    paths = vmap(lambda s: odeint(truth, s, times))(starts)
    return paths + NOISE * random.normal(key, paths.shape)


def paths_of(params: Any, starts: Any, times: Any) -> Any:
    """The paths [n, t, 2] that a network predicts."""
    return vmap(lambda s: odeint(learnt, s, times, params, rtol=1e-4, atol=1e-5))(starts)


def main(
    steps: int = 1200, picture: str = "neural_ode.png", quick: bool = False
) -> tuple[float, float]:
    """Learns; prints and returns the error in the future, and that of the state standing still."""
    start_key, noise_key, init_key = random.split(random.PRNGKey(0), 3)
    times = np.linspace(0.0, 4.0, 5 if quick else 21)
    starts = random.uniform(start_key, (8, 2), minval=-2.0, maxval=2.0)
    data = observed(noise_key, starts, times)
    opt_init, opt_update, get_params = optimizers.adam(
        optimizers.exponential_decay(1e-2, steps, 0.03)
    )

    def loss(params: Any, count: Any) -> Any:
        """The mean square of errors, of the first `count` observations: short paths come first."""
        errors = np.sum((paths_of(params, data[:, 0], times) - data) ** 2, axis=2)
        weights = np.arange(len(times)) < count
        return np.sum(errors * weights) / (len(starts) * np.sum(weights))

    @jit
    def step(i: Any, opt_state: Any) -> tuple[Any, Any]:
        count = 3 + i * 2 * len(times) // steps
        value, gradient = value_and_grad(loss)(get_params(opt_state), count)
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), value

    opt_state = opt_init(INIT(init_key, (2,))[1])
    for i in range(2 if quick else steps):
        opt_state, value = step(i, opt_state)
    params = get_params(opt_state)

    later = np.linspace(0.0, 12.0, 121)
    new = np.array([[1.8, 0.0], [-0.5, 1.5]])
    found, right = jit(paths_of)(params, new, later), vmap(lambda s: odeint(truth, s, later))(new)
    error = float(np.sqrt(np.mean((found - right) ** 2)))
    scale = float(np.sqrt(np.mean((right - right[:, :1]) ** 2)))
    print(
        f"observations         {data.size // 2} of {len(starts)} pendulums, over {times[-1]:.0f} s"
    )
    print(f"loss                 {value:.5f}; the noise alone: {2 * NOISE**2:.5f}")
    print(f"test error           {error:.3f} over {later[-1]:.0f} s, from starts never seen")
    print(f"if it stood still    {scale:.3f}")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for i, colour in enumerate(("C0", "C1")):
            axes.plot(later, right[i, :, 0], colour, alpha=0.4, linewidth=4)
            axes.plot(later, found[i, :, 0], colour, label=f"learnt, from {onp.asarray(new[i])}")
        axes.axvspan(0, 4, color="gray", alpha=0.15)
        axes.set(xlabel="seconds (grey: as long as was observed)", ylabel="angle")
        axes.legend()

    pictures.save(picture, draw)
    return error, scale


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--picture", default="neural_ode.png", help="'' for none")
    parser.add_argument("--quick", action="store_true", help="two steps")
    main(**vars(parser.parse_args()))

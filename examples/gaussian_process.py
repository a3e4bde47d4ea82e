"""Gaussian-process regression: which of ten inputs matter, and what a noisy function is.

The kernel's lengths, one for each input, are those that make the data likeliest: L-BFGS climbs the
log marginal likelihood, whose gradient goes through a Cholesky factorisation (Rasmussen & Williams,
Gaussian Processes for Machine Learning, 2006, algorithm 2.1). The data are generated: Friedman's
function of ten uniform inputs, of which five count, with normal noise of deviation 1 (Friedman,
Multivariate Adaptive Regression Splines, 1991).

    python examples/gaussian_process.py [--picture gaussian_process.png]
"""

import argparse
from typing import Any

import numpy as onp
import pictures

import weft.numpy as np
from weft import jit, scipy
from weft.experimental import enable_x64

TRAINING, TEST, INPUTS = 200, 500, 10
NOISE = 1.0


def kernel(params: Any, a: Any, b: Any) -> Any:
    """Covariances [n, m] of the values at a [n, d] and b [m, d]: those of smooth functions."""
    a, b = (x / np.exp(params["lengths"]) for x in (a, b))
    squares = np.sum(a**2, 1)[:, None] + np.sum(b**2, 1) - 2 * a @ b.T
    return np.exp(2 * params["amplitude"] - np.maximum(squares, 0) / 2)


def unpacked(vector: Any) -> dict[str, Any]:
    """Logarithms of the parameters by name, from a vector [d + 2]."""
    return {"amplitude": vector[0], "noise": vector[1], "lengths": vector[2:]}


def factor(params: Any, x: Any) -> Any:
    """The Cholesky factor of the covariance of noisy observations at x."""
    noise = np.exp(2 * params["noise"]) + 1e-6
    return scipy.linalg.cho_factor(kernel(params, x, x) + noise * np.eye(len(x)), lower=True)


def surprise(vector: Any, x: Any, y: Any) -> Any:
    """The negative log marginal likelihood of an observation, in nats."""
    c, lower = factor(unpacked(vector), x)
    weights = scipy.linalg.cho_solve((c, lower), y)
    halves = 0.5 * y @ weights + np.sum(np.log(np.diag(c)))
    return halves / len(y) + 0.5 * np.log(2 * np.pi)


@jit
def predict(vector: Any, x: Any, y: Any, new: Any) -> tuple[Any, Any]:
    """Mean and deviation of observations at new places."""
    params = unpacked(vector)
    root = factor(params, x)
    across = kernel(params, new, x)
    mean = across @ scipy.linalg.cho_solve(root, y)
    explained = np.sum(across.T * scipy.linalg.cho_solve(root, across.T), axis=0)
    prior = np.exp(2 * params["amplitude"]) + np.exp(2 * params["noise"])
    return mean, np.sqrt(prior - explained)


def load(count: int, seed: int) -> tuple[Any, Any]:
    """Inputs [n, 10] from 0 to 1, and noisy values less 14.4, their mean."""
    random = onp.random.RandomState(seed)
    x = random.rand(count, INPUTS)
    y = 10 * onp.sin(onp.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y += 10 * x[:, 3] + 5 * x[:, 4] + NOISE * random.randn(count)
    return x, y - 14.4


def main(picture: str = "gaussian_process.png", quick: bool = False) -> tuple[float, float]:
    """Fits and predicts; prints and returns the root mean square error, and least squares'."""
    x, y = load(40 if quick else TRAINING, 0)
    new, truth = load(TEST, 1)
    with enable_x64():
        start = np.concatenate([np.log(np.array([5.0, 2.0])), np.zeros(INPUTS)])
        options = {"maxiter": 3 if quick else 100}
        fit = scipy.optimize.minimize(surprise, start, (x, y), method="L-BFGS", options=options)
        mean, deviation = map(onp.asarray, predict(fit.x, x, y, new))
    error = float(onp.sqrt(onp.mean((truth - mean) ** 2)))
    line = onp.linalg.lstsq(onp.column_stack([onp.ones(len(x)), x]), y, rcond=None)[0]
    of_line = truth - onp.column_stack([onp.ones(TEST), new]) @ line
    of_line = float(onp.sqrt(onp.mean(of_line**2)))
    inside = float(onp.mean(onp.abs(truth - mean) < 1.96 * deviation))
    found = unpacked(onp.exp(onp.asarray(fit.x)))
    counting = sorted(int(i) for i in onp.argsort(found["lengths"])[:5])
    print(
        f"L-BFGS               {int(fit.nit)} steps, log likelihood {-float(fit.fun):.3f} a point"
    )
    print(f"noise                deviation {found['noise']:.2f}; it is {NOISE}")
    print(f"inputs that count    {counting}; they are [0, 1, 2, 3, 4]")
    print(f"test error           {error:.2f}, noise included; least squares: {of_line:.2f}")
    print(f"in the 95 % interval {100 * inside:.0f} % of {TEST} points")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.errorbar(truth, mean, 1.96 * deviation, fmt=".", linewidth=0.5)
        axes.plot([-14, 14], [-14, 14], color="gray", linewidth=0.8)
        axes.set(xlabel="measured", ylabel="predicted, with 95 %", title="Friedman's function")

    pictures.save(picture, draw)
    return error, of_line


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--picture", default="gaussian_process.png", help="'' for none")
    parser.add_argument("--quick", action="store_true", help="40 points, three steps")
    main(**vars(parser.parse_args()))

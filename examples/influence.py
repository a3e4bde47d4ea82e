"""Influence functions: which training examples a test loss hangs on, without training again.

To first order, leaving out example i of n moves the optimum by H⁻¹ gᵢ / n, and a test loss whose
gradient is v by vᵀ H⁻¹ gᵢ / n. (Koh & Liang, Understanding Black-box Predictions via Influence
Functions, 2017; H is the Hessian, gᵢ the gradient of the example's loss.) H is never made:
conjugate gradients need products H s only, which are a `jvp` of the gradient. What is predicted is
compared with what happens when examples are left out and the model is trained again.

    python examples/influence.py [--retrained 30]
"""

import argparse
from functools import partial
from typing import Any

import numpy as onp
import scans

import weft.numpy as np
from weft import grad, jit, jvp, nn, vmap
from weft.scipy.optimize import minimize
from weft.scipy.sparse.linalg import cg

DECAY = 1e-2


def losses(vector: Any, x: Any, labels: Any) -> Any:
    """The cross-entropy of each example under a linear model of ten classes."""
    logits = nn.log_softmax(x @ np.reshape(vector, (-1, 10)))
    return -np.take_along_axis(logits, labels[:, None], axis=1)[:, 0]


def objective(vector: Any, x: Any, labels: Any, weights: Any) -> Any:
    """What training makes small: the mean loss of weighted examples, and weight decay."""
    return np.mean(weights * losses(vector, x, labels)) + DECAY / 2 * np.sum(vector**2)


@jit
def trained(start: Any, x: Any, labels: Any, weights: Any) -> Any:
    """The optimum."""
    options = {"maxiter": 300, "gtol": 1e-5}
    return minimize(objective, start, (x, labels, weights), method="L-BFGS", options=options).x


def hessian_product(f: Any, at: Any, s: Any) -> Any:
    """H s, by forward over reverse mode: the derivative of the gradient along s."""
    return jvp(grad(f), (at,), (s,))[1]


@jit
def influences(vector: Any, x: Any, labels: Any, test: Any, test_labels: Any) -> Any:
    """By how much the test loss is predicted to rise if each example is left out."""
    f = partial(objective, x=x, labels=labels, weights=np.ones(len(x)))
    v = grad(lambda w: np.mean(losses(w, test, test_labels)))(vector)
    s, _ = cg(partial(hessian_product, f, vector), v, tol=1e-6, maxiter=300)

    def of_one(x: Any, label: Any) -> Any:
        one = partial(losses, x=x[None], labels=label[None])
        return jvp(lambda w: one(w)[0], (vector,), (s,))[1]

    return vmap(of_one)(x, labels) / len(x)


def main(retrained: int = 30, quick: bool = False) -> float:
    """Predicts and retrains; prints and returns the correlation of both."""
    data = scans.load()
    count = 100 if quick else 400
    x, labels = data.images[:count].reshape(count, -1), data.labels[:count].copy()
    random_state = onp.random.RandomState(0)
    wrong = random_state.choice(count, count // 20, replace=False)
    labels[wrong] = (labels[wrong] + random_state.randint(1, 10, len(wrong))) % 10  # mislabelled
    test = data.test_images.reshape(len(data.test_images), -1)
    ones = np.ones(count)
    vector = trained(np.zeros(x.shape[1] * 10), x, labels, ones)
    found = onp.asarray(influences(vector, x, labels, test, data.test_labels))

    order = onp.argsort(onp.abs(found))[::-1]
    chosen = order[: 2 if quick else retrained]

    def test_loss(vector: Any) -> float:
        return float(np.mean(losses(vector, test, data.test_labels)))

    happened = [
        test_loss(trained(vector, x, labels, ones.at[i].set(0.0))) - test_loss(vector)
        for i in chosen
    ]
    correlation = float(onp.corrcoef(found[chosen], happened)[0, 1])
    worst = onp.argsort(found)[: len(wrong)]  # the test loss falls most without these
    caught = len(set(worst) & set(wrong))
    print(f"model                {vector.size} weights, learnt from {count} scans")
    print(
        f"correlation          {correlation:.4f} of predicted and true change, {len(chosen)} times"
    )
    print(f"mislabelled          {caught} of {len(wrong)} are among the {len(wrong)} most harmful")
    return correlation


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--retrained", type=int, default=30, help="how many are left out, in turn")
    parser.add_argument("--quick", action="store_true", help="100 scans, two of them left out")
    main(**vars(parser.parse_args()))

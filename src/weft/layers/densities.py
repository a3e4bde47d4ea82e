"""Functions of core layers' outputs: one-hot codes, log-probabilities, densities, samples."""

import math
from typing import Any

import numpy as onp

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..user_lines import noted
from . import options


def one_hot(x: Any, n_categories: int, dtype: Any = onp.float32) -> Any:
    """Codes of categories: 1 at the category's place, 0 elsewhere.

    Args:
      x: integer array [...], categories from 0 to n_categories - 1; others give zeros only.
      n_categories: the number of categories.
      dtype: dtype of the result.
    Returns: array [..., n_categories].
    Example:
      >>> one_hot(np.array([1, 0]), 3)
      Array([[0., 1., 0.],
             [1., 0., 0.]], dtype=float32)
    Source: Trax documentation, `layers.core.one_hot`.
    """
    n = options.whole_number("one_hot", "n_categories", n_categories, least=0)
    is_it = jnp.asarray(x)[..., None] == jnp.arange(n)
    return is_it.astype(dtype)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """Log-probabilities, of activations: x - log Σ exp(x) along an axis.

    Args:
      x: array of activations.
      axis: the axis along which probabilities add up to 1.
    Returns: array of the same shape.
    Example:
      >>> log_softmax(np.zeros(2))
      Array([-0.6931472, -0.6931472], dtype=float32)
    Source: Trax documentation, `layers.core.log_softmax`.
    """
    return x - fastmath.logsumexp(x, axis, keepdims=True)


def log_gaussian_pdf(x: Any, mu: Any, sigma: Any) -> Any:
    """log N(x | mu, sigma), the log-density of a normal distribution.

    Args:
      x: points [..., d].
      mu: means [..., d].
      sigma: covariance matrices [..., d, d], symmetric and positive definite.
    Returns: array [...]: -(d log 2π + log det sigma + (x-mu)ᵀ sigma⁻¹ (x-mu)) / 2.
    Source: Trax documentation, `layers.core.log_gaussian_pdf`.
    """
    constant = mu.shape[-1] * math.log(2 * math.pi)
    _, log_determinant = jnp.linalg.slogdet(sigma)
    d = x - mu
    y = jnp.linalg.solve(sigma, d[..., None])[..., 0]
    return -0.5 * (constant + log_determinant + jnp.sum(d * y, axis=-1))


def log_gaussian_diag_pdf(x: Any, mu: Any, diag_sigma: Any) -> Any:
    """log N(x | mu, diag(diag_sigma)), the log-density of independent normal distributions.

    Args:
      x: points [..., d].
      mu: means [..., d].
      diag_sigma: variances [..., d], positive.
    Returns: array [...]: -(d log 2π + Σ log diag_sigma + Σ (x-mu)² / diag_sigma) / 2.
    Example:
      >>> log_gaussian_diag_pdf(np.zeros(2), np.zeros(2), np.ones(2))
      Array(-1.837877, dtype=float32)
    Source: Trax documentation, `layers.core.log_gaussian_diag_pdf`.
    """
    constant = mu.shape[-1] * math.log(2 * math.pi)
    d = x - mu
    terms = jnp.log(diag_sigma) + d * d / diag_sigma
    return -0.5 * (constant + jnp.sum(terms, axis=-1))


def multigaussian_loss(preds: Any, targets: Any, ngauss: int = 1) -> Any:
    """The log-likelihood of targets under mixtures of normal distributions.

    Args:
      preds: array [batch, ngauss · (2n + 1)]: a logit for each component, then their means, then
        numbers s whose squares are the variances, s² + 10⁻⁶.
      targets: array [batch, n].
      ngauss: the number of components.
    Returns: array [batch]; it isn't negated.
    Raises: ShapeError: `preds` hasn't that many columns.
    Source: Trax documentation, `layers.core.multigaussian_loss`.
    """
    g = options.whole_number("multigaussian_loss", "ngauss", ngauss)
    n = targets.shape[-1]
    if len(preds.shape) != 2 or preds.shape[-1] != g * (2 * n + 1):
        raise noted(
            ShapeError(
                f"multigaussian_loss: expected preds [batch, {g * (2 * n + 1)}], for "
                f"ngauss={g} and targets of {n} numbers; got shape {tuple(preds.shape)}"
            )
        )
    batch = preds.shape[0]
    logits = preds[:, :g]
    mus = jnp.reshape(preds[:, g : g * (n + 1)], (batch, g, n))
    s = jnp.reshape(preds[:, g * (n + 1) :], (batch, g, n))
    densities = log_gaussian_diag_pdf(targets[:, None, :], mus, s * s + 1e-6)
    return fastmath.logsumexp(log_softmax(logits) + densities, axis=-1)


def logsoftmax_sample(log_probs: Any, temperature: float = 1.0) -> Any:
    """Categories drawn by their log-probabilities, with NumPy's global random generator.

    Args:
      log_probs: array [..., n].
      temperature: 1 draws by these probabilities, 0 takes the likeliest, more is more random.
    Returns: integer array [...].
    Example:
      >>> int(logsoftmax_sample(onp.log([0.1, 0.7, 0.2]), temperature=0.0))
      1
    Source: Gumbel's method: argmax of log_probs + temperature · G, with G = -log(-log(u)); Trax
    documentation, `layers.core.logsoftmax_sample`.
    """
    options.number("logsoftmax_sample", "temperature", temperature, least=0.0)
    log_probs = onp.asarray(log_probs)
    u = onp.random.uniform(low=1e-6, high=1.0 - 1e-6, size=log_probs.shape)
    return onp.argmax(log_probs - onp.log(-onp.log(u)) * temperature, axis=-1)

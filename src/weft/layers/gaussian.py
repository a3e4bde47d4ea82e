"""Log-densities of Gaussians: log_gaussian_pdf, log_gaussian_diag_pdf, multigaussian_loss."""

import math
from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..user_lines import noted
from .softmax import log_softmax


def log_gaussian_pdf(x: Any, mu: Any, sigma: Any) -> Any:
    """log N(x | mu, sigma), the log-density of a normal distribution.

    Args:
      x: points [..., d].
      mu: means [..., d].
      sigma: covariance matrices [..., d, d], symmetric and positive definite.
    Returns: array [...]: -(d log 2π + log det sigma + (x-mu)ᵀ sigma⁻¹ (x-mu)) / 2.
    Example:
      >>> from weft import layers as tl
      >>> tl.log_gaussian_pdf(np.zeros(2), np.zeros(2), np.eye(2))
      Array(-1.837877, dtype=float32)
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
    Returns: array [batch]; it is not negated.
    Raises: ShapeError: `preds` has another number of columns.
    Example:
      >>> from weft import layers as tl
      >>> tl.multigaussian_loss(np.array([[0.0, 2.0, 1.0]]), np.array([[2.0]]))
      Array([-0.918939], dtype=float32)
    Source: Trax documentation, `layers.core.multigaussian_loss`.
    """
    g = option_checks.whole_number("multigaussian_loss", "ngauss", ngauss)
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

"""gaussian_kde: a density estimated from samples, a sum of normal densities around them."""

import math
from collections.abc import Callable
from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array, as_value
from ...core.source import located
from ...errors import ShapeError
from ...lax.linalg.cholesky import cholesky
from ...lax.linalg.triangular_solve import triangular_solve
from ...numpy.promotion import promote_values, value
from ...random.choice import choice
from ...random.keys import split
from ...random.normal import normal
from ...transforms.jit.function import jit
from ...tree_util import register_pytree_node_class
from ...typing import ArrayLike, ShapeLike
from ..special.error_functions import ndtr
from ..special.logsumexp import logsumexp

__all__ = ["gaussian_kde"]


@register_pytree_node_class
class gaussian_kde:
    """A density estimated from samples by normal kernels.

    It is a pytree of its attributes, so it can be an argument or a result of a jitted function.

    Args:
      dataset: real samples [n], or [d,n] for d variables.
      bw_method: the factor by which kernels are narrower than the data: "scott" (the default),
        "silverman", a number, or a function of this object that returns one.
      weights: the weights of the samples, [n]; equal by default.
    Attributes:
      dataset: [d,n].
      weights: [n], with sum 1.
      neff: the effective number of samples.
      covariance, inv_cov: the kernels' covariance matrix and its inverse, [d,d].
    Raises: TypeError: the samples are complex, or bw_method is not as above. ValueError: there are
      fewer than two samples, or the weights do not match.
    Example:
      >>> from weft.scipy.stats import gaussian_kde
      >>> density = gaussian_kde(np.array([0.0, 1.0, 3.0]))
      >>> f"{density(1.0).item():.4f}"
      '0.2149'
    Source: SciPy documentation, `scipy.stats.gaussian_kde`.
    """

    dataset: Array
    weights: Array
    neff: Array
    covariance: Array
    inv_cov: Array

    @located
    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: str | ArrayLike | Callable[[Any], Any] | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        data: Any = np.atleast_2d(value("gaussian_kde", dataset, "dataset"))
        if dtypes.is_complex(data.dtype):
            raise ShapeError(f"gaussian_kde: dataset must be real; got {data.aval}")
        (data,) = promote_values("gaussian_kde", data, to_inexact=True)
        if data.ndim != 2 or data.size < 2:
            raise ShapeError(
                f"gaussian_kde: dataset must be [n] or [d,n] with two elements or more; got "
                f"{data.aval}"
            )
        d, n = data.shape
        w: Any
        if weights is None:
            w = np.full(n, 1 / n, data.dtype)
        else:
            w = value("gaussian_kde", weights, "weights")
            if w.shape != (n,):
                raise ShapeError(f"gaussian_kde: weights must be of shape ({n},); got {w.aval}")
            w = w.astype(data.dtype)
            w = w / np.sum(w)
        self.dataset, self.weights, self.neff = data, w, 1 / np.sum(w * w)
        factor = self._factor(bw_method)
        centred = data - np.sum(w * data, 1, keepdims=True)
        # like numpy.cov with aweights: the divisor is 1 - sum of w²
        covariance = np.dot(w * centred, centred.T) / (1 - 1 / self.neff)
        self.covariance = covariance * factor**2
        lower = cholesky(self.covariance)
        half = triangular_solve(lower, np.eye(d, dtype=data.dtype), left_side=True, lower=True)
        self.inv_cov = np.dot(half.T, half)

    def _factor(self, bw_method: Any) -> Any:
        """The bandwidth factor."""
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            return self.neff ** (-1.0 / (self.d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))
        if callable(bw_method):
            return as_value(bw_method(self)).astype(self.dataset.dtype)
        if isinstance(bw_method, str):
            raise ValueError(
                "gaussian_kde: bw_method must be 'scott', 'silverman', a number or a function; got "
                f"{bw_method!r}"
            )
        factor: Any = value("gaussian_kde", bw_method, "bw_method")
        if factor.ndim:
            raise ShapeError(f"gaussian_kde: bw_method must be a scalar; got {factor.aval}")
        return factor.astype(self.dataset.dtype)

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The attributes, as children of a pytree."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Any) -> "gaussian_kde":
        """The object with these attributes."""
        kde = object.__new__(cls)
        kde.neff, kde.dataset, kde.weights, kde.covariance, kde.inv_cov = children
        return kde

    @property
    def d(self) -> int:
        """The number of variables."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    @located
    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points [d,m], [m] for one variable, or [d] for one point: [m]."""
        return np.exp(self.logpdf(points))

    __call__ = evaluate

    @located
    def pdf(self, x: ArrayLike) -> Array:
        """The density at points, as in `evaluate`."""
        return np.exp(self.logpdf(x))

    @located
    def logpdf(self, x: ArrayLike) -> Array:
        """The log of the density at points, as in `evaluate`."""
        points: Any = np.atleast_2d(value("gaussian_kde.logpdf", x, "x"))
        if points.ndim == 2 and points.shape == (1, self.d) and self.d > 1:
            points = points.T
        if points.ndim != 2 or points.shape[0] != self.d:
            raise ShapeError(
                f"gaussian_kde.logpdf: points must be of shape ({self.d}, m); got {points.aval}"
            )
        data, points = promote_values("gaussian_kde.logpdf", self.dataset, points)
        return _log_sums(self.weights, data, points, self.covariance)

    @located
    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times a normal density of mean [d] and cov [d,d]."""
        mean_vector: Any = np.atleast_1d(value("gaussian_kde.integrate_gaussian", mean, "mean"))
        matrix: Any = np.atleast_2d(value("gaussian_kde.integrate_gaussian", cov, "cov"))
        if mean_vector.shape != (self.d,) or matrix.shape != (self.d, self.d):
            raise ShapeError(
                f"gaussian_kde.integrate_gaussian: expected mean[{self.d}] and "
                f"cov[{self.d},{self.d}]; got mean: {mean_vector.aval}, cov: {matrix.aval}"
            )
        total = self.covariance + matrix
        (point,) = _log_sums(
            self.weights, self.dataset, mean_vector[:, None].astype(total.dtype), total
        )
        return np.exp(point)

    @located
    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The probability of an interval, for one variable."""
        if self.d != 1:
            raise ShapeError(f"gaussian_kde.integrate_box_1d: expected one variable; got {self.d}")
        ends = [value("gaussian_kde.integrate_box_1d", e, "an end") for e in (low, high)]
        if any(e.ndim for e in ends):
            raise ShapeError(
                f"gaussian_kde.integrate_box_1d: low and high must be scalars; got {ends[0].aval}, "
                f"{ends[1].aval}"
            )
        scale = np.sqrt(self.covariance[0, 0])
        cdf_low, cdf_high = [ndtr((e - self.dataset[0]) / scale) for e in ends]
        return np.sum(self.weights * (cdf_high - cdf_low))

    @located
    def integrate_kde(self, other: "gaussian_kde") -> Array:
        """The integral of the product with another estimated density."""
        if not isinstance(other, gaussian_kde):
            raise TypeError(
                f"gaussian_kde.integrate_kde: other must be a gaussian_kde; got "
                f"{type(other).__name__}"
            )
        if other.d != self.d:
            raise ShapeError(
                f"gaussian_kde.integrate_kde: expected as many variables, {self.d}; got {other.d}"
            )
        total = self.covariance + other.covariance
        log_sums = _log_sums(self.weights, self.dataset, other.dataset, total)
        return np.sum(other.weights * np.exp(log_sums))

    @located
    def resample(self, key: ArrayLike, shape: ShapeLike = ()) -> Array:
        """Samples of the density [d,*shape], drawn by a random key."""
        index_key, noise_key = split(key)
        indices: Any = choice(index_key, self.n, shape=shape, p=self.weights)
        noise = normal(noise_key, (self.d, indices.size), self.dataset.dtype)
        offsets = np.dot(cholesky(self.covariance), noise).reshape(self.d, *indices.shape)
        return self.dataset[:, indices] + offsets

    def integrate_box(
        self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: int | None = None
    ) -> Array:
        """The probability of an interval of one variable. A box of several variables is not
        implemented.

        Raises: NotImplementedError: there are several variables.
        """
        if self.d != 1:
            raise NotImplementedError(
                f"gaussian_kde.integrate_box: expected one variable; got {self.d}\n"
                "  fix: the mean over samples of resample(key, (m,))"
            )
        return self.integrate_box_1d(np.squeeze(low_bounds), np.squeeze(high_bounds))

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not supported: the object is immutable.

        Raises: NotImplementedError: always.
        """
        raise NotImplementedError(
            "gaussian_kde.set_bandwidth: the object can't be changed\n"
            "  fix: gaussian_kde(dataset, bw_method=…)"
        )


@jit
def _log_sums(weights: Any, data: Any, points: Any, covariance: Any) -> Any:
    """log Σ w_i N(point; data_i, covariance) at each point: [m]."""
    lower = cholesky(covariance)
    white_data = triangular_solve(lower, data, left_side=True, lower=True)
    white_points = triangular_solve(lower, points, left_side=True, lower=True)
    square = np.sum((white_points[:, :, None] - white_data[:, None, :]) ** 2, 0)
    constant = 0.5 * len(data) * math.log(2 * math.pi) + np.sum(np.log(np.diagonal(lower)))
    return logsumexp(-0.5 * square, axis=1, b=weights) - constant

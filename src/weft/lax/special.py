"""Special functions: erf, erfc, erf_inv; lgamma, digamma, polygamma, zeta; igamma, igammac,
igamma_grad_a, random_gamma_grad, betainc; bessel_i0e, bessel_i1e. Nothing is promoted."""

from ..core.array import Array
from ..primitives import bessel_functions, error_functions, gamma_functions, incomplete_gamma_beta
from ..typing import ArrayLike
from .operands import same_type

__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "lgamma",
    "polygamma",
    "random_gamma_grad",
    "zeta",
]


def erf(x: ArrayLike) -> Array:
    """The error function.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.erf(0.0).item()
      0.0
    Source: CHLO `erf`.
    """
    return error_functions.erf(x)


def erfc(x: ArrayLike) -> Array:
    """1 - erf(x), accurate for large x.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.erfc(0.0).item()
      1.0
    Source: CHLO `erfc`.
    """
    return error_functions.erfc(x)


def erf_inv(x: ArrayLike) -> Array:
    """The inverse of the error function, on (-1, 1).

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.erf_inv(0.0).item()
      0.0
    Source: CHLO `erf_inv`.
    """
    return error_functions.erf_inv(x)


def lgamma(x: ArrayLike) -> Array:
    """log |Γ(x)|.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.lgamma(2.0).item()
      0.0
    Source: CHLO `lgamma`.
    """
    return gamma_functions.lgamma(x)


def digamma(x: ArrayLike) -> Array:
    """The derivative of lgamma.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> f'{lax.digamma(1.0).item():.4f}'
      '-0.5772'
    Source: CHLO `digamma`.
    """
    return gamma_functions.digamma(x)


def bessel_i0e(x: ArrayLike) -> Array:
    """exp(-|x|) I0(x), with the modified Bessel function of order 0.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.bessel_i0e(0.0).item()
      1.0
    Source: weft.
    """
    return bessel_functions.bessel_i0e(x)


def bessel_i1e(x: ArrayLike) -> Array:
    """exp(-|x|) I1(x), with the modified Bessel function of order 1.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.bessel_i1e(0.0).item()
      0.0
    Source: weft.
    """
    return bessel_functions.bessel_i1e(x)


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised lower incomplete gamma function P(a, x).

    Args:
      a, x: arrays of one dtype, a float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> f'{lax.igamma(1.0, 1.0).item():.4f}'
      '0.6321'
    Source: weft.
    """
    return incomplete_gamma_beta.igamma(*same_type("igamma", ("a", "x"), a, x))


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    Args:
      a, x: arrays of one dtype, a float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> f'{lax.igammac(1.0, 1.0).item():.4f}'
      '0.3679'
    Source: weft.
    """
    return incomplete_gamma_beta.igammac(*same_type("igammac", ("a", "x"), a, x))


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of igamma with respect to a.

    Args:
      a, x: arrays of one dtype, a float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> f'{lax.igamma_grad_a(1.0, 2.0).item():.4f}'
      '-0.2208'
    Source: weft.
    """
    return incomplete_gamma_beta.igamma_grad_a(*same_type("igamma_grad_a", ("a", "x"), a, x))


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """The derivative, with respect to the shape a, of a sample x of the gamma distribution.

    Args:
      a, x: arrays of one dtype, a float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.random_gamma_grad(1.0, 2.0).item() > 0
      True
    Source: weft.
    """
    return incomplete_gamma_beta.random_gamma_grad(
        *same_type("random_gamma_grad", ("a", "x"), a, x)
    )


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The m-th derivative of digamma; m is an integer, in a float dtype.

    Args:
      m, x: arrays of one dtype, a float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> f'{lax.polygamma(1.0, 1.0).item():.4f}'
      '1.6449'
    Source: CHLO `polygamma`.
    """
    return gamma_functions.polygamma(*same_type("polygamma", ("m", "x"), m, x))


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Hurwitz's zeta function: the sum of (q + n) ** -x for n = 0, 1, …

    Args:
      x, q: arrays of one dtype, a float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> f'{lax.zeta(2.0, 1.0).item():.4f}'
      '1.6449'
    Source: weft.
    """
    return gamma_functions.zeta(*same_type("zeta", ("x", "q"), x, q))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function I(a, b, x).

    Args:
      a, b, x: arrays of one float dtype and of one shape, or scalars; x from 0 to 1.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> f"{lax.betainc(1.0, 1.0, 0.25).item():.4f}"
      '0.2500'
    Source: weft.
    """
    operands = same_type("betainc", ("a", "b", "x"), a, b, x)
    return incomplete_gamma_beta.regularized_incomplete_beta(*operands)

"""Window functions by name, with the names of `scipy.signal.get_window`: constants computed in
float64.

The coefficients of cosine sums are from F. J. Harris, "On the use of windows for harmonic analysis
with the discrete Fourier transform" (1978), A. H. Nuttall, "Some windows with very good sidelobe
behavior" (1981), and G. D'Antona, A. Ferrero, "Digital signal processing for measurement systems"
(2006).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ShapeError
from ...numpy.promotion import noted

Line = np.ndarray[Any, Any]


def cosine_sum(*coefficients: float) -> Callable[[int], Line]:
    """Σ (-1)^k a_k cos(2πkj / (m - 1))."""

    def window(m: int) -> Line:
        angle = np.linspace(0, 2 * np.pi, m)
        return sum(((-1) ** k * a * np.cos(k * angle) for k, a in enumerate(coefficients)),
                   np.zeros(m))  # fmt: skip

    return window


def centred(m: int) -> Line:
    """Positions relative to the centre."""
    return np.arange(m) - (m - 1) / 2


def _triangle(m: int) -> Line:
    return 1 - np.abs(centred(m)) / ((m + m % 2) / 2)


def _parzen(m: int) -> Line:
    u = np.abs(centred(m)) / (m / 2)
    is_inner = np.abs(centred(m)) <= (m - 1) / 4
    return np.where(is_inner, 1 - 6 * u**2 * (1 - u), 2 * (1 - u) ** 3)


def _bohman(m: int) -> Line:
    u = np.abs(np.linspace(-1, 1, m))
    w = (1 - u) * np.cos(np.pi * u) + np.sin(np.pi * u) / np.pi
    w[[0, -1]] = 0
    return w


def _bartlett_hann(m: int) -> Line:
    u = np.abs(np.linspace(-0.5, 0.5, m))
    return 0.62 - 0.48 * u + 0.38 * np.cos(2 * np.pi * u)


def _tukey(m: int, alpha: float = 0.5) -> Line:
    if alpha <= 0:
        return np.ones(m)
    edge = (1 - np.abs(np.linspace(-1, 1, m))) / min(alpha, 1.0)
    return np.where(edge < 1, 0.5 * (1 - np.cos(np.pi * edge)), 1.0)


def _gaussian(m: int, std: float) -> Line:
    return np.exp(-0.5 * (centred(m) / std) ** 2)


def _general_gaussian(m: int, p: float, sig: float) -> Line:
    return np.exp(-0.5 * np.abs(centred(m) / sig) ** (2 * p))


def _exponential(m: int, center: float | None = None, tau: float = 1.0) -> Line:
    return np.exp(-np.abs(np.arange(m) - ((m - 1) / 2 if center is None else center)) / tau)


def _general_hamming(m: int, alpha: float) -> Line:
    return cosine_sum(alpha, 1 - alpha)(m)


def _general_cosine(m: int, coefficients: Any) -> Line:
    return cosine_sum(*coefficients)(m)


def _kaiser(m: int, beta: float) -> Line:
    return np.kaiser(m, beta)


WINDOWS: dict[str, Callable[..., Line]] = {
    "barthann": _bartlett_hann,
    "bartlett": np.bartlett,
    "blackman": cosine_sum(0.42, 0.5, 0.08),
    "blackmanharris": cosine_sum(0.35875, 0.48829, 0.14128, 0.01168),
    "bohman": _bohman,
    "boxcar": np.ones,
    "cosine": lambda m: np.sin(np.pi * (np.arange(m) + 0.5) / m),
    "exponential": _exponential,
    "flattop": cosine_sum(0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "gaussian": _gaussian,
    "general_cosine": _general_cosine,
    "general_gaussian": _general_gaussian,
    "general_hamming": _general_hamming,
    "hamming": cosine_sum(0.54, 0.46),
    "hann": cosine_sum(0.5, 0.5),
    "kaiser": _kaiser,
    "lanczos": lambda m: np.sinc(np.linspace(-1, 1, m)),
    "nuttall": cosine_sum(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "parzen": _parzen,
    "triang": _triangle,
    "tukey": _tukey,
}
ALIASES = {
    "bart": "bartlett", "brt": "bartlett", "brthan": "barthann", "bth": "barthann",
    "bkh": "blackmanharris", "blackharr": "blackmanharris", "bman": "bohman", "bmn": "bohman",
    "black": "blackman", "blk": "blackman", "box": "boxcar", "ones": "boxcar", "rect": "boxcar",
    "rectangular": "boxcar", "halfcosine": "cosine", "poisson": "exponential", "flat": "flattop",
    "flt": "flattop", "gauss": "gaussian", "gss": "gaussian", "general cosine": "general_cosine",
    "general gaussian": "general_gaussian", "general_gauss": "general_gaussian",
    "ggs": "general_gaussian", "general hamming": "general_hamming", "ham": "hamming",
    "hamm": "hamming", "han": "hann", "ksr": "kaiser", "sinc": "lanczos", "nut": "nuttall",
    "nutl": "nuttall", "par": "parzen", "parz": "parzen", "tri": "triang", "triangle": "triang",
}  # fmt: skip


def periodic_window(name: str, window: Any, n: int) -> Line:
    """A periodic window of n elements: element n would equal element 0.

    Args:
      name: the calling function, for errors.
      window: a name, a tuple of a name and parameters, or the number beta of a Kaiser window.
    Raises: ValueError: an unknown name. ShapeError: the number of parameters is wrong.
    """
    if isinstance(window, (int, float)) and not isinstance(window, bool):
        window = ("kaiser", window)
    if not isinstance(window, tuple) or not window:
        window = (window,)
    kind, *parameters = window
    maker = WINDOWS.get(ALIASES.get(kind, kind)) if isinstance(kind, str) else None
    if maker is None:
        raise noted(
            ValueError(
                f"{name}: window must be an array, a number, or one of {', '.join(WINDOWS)}; got "
                f"{window!r:.80}"
            )
        )
    if n == 1:
        return np.ones(1)
    try:
        return maker(n + 1, *parameters)[:n]
    except TypeError:
        raise noted(
            ShapeError(
                f"{name}: window {kind!r} got {len(parameters)} parameters: {window!r}\n"
                f"  fix: window=({kind!r}, parameter)"
            )
        ) from None

"""Numbers by name: pi, e, euler_gamma, inf, nan, newaxis."""

import numpy as np

__all__ = ["e", "euler_gamma", "inf", "nan", "newaxis", "pi"]


pi = np.pi
e = np.e
euler_gamma = np.euler_gamma
inf = np.inf
nan = np.nan
newaxis = None

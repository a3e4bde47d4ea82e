"""optional imports a package that weft does not need itself, or says how to install it.

It is the only place that imports such packages for data, training and logs: `weft` runs without
them, and a feature that needs one loads it when it is used.
"""

import importlib
from typing import Any

from ..user_lines import noted

__all__ = ["optional"]


def optional(package: str, feature: str, extra: str) -> Any:
    """A package that a feature needs.

    Args:
      package: the name that is imported.
      feature: the feature, for the error: `Tokenize: 'sentencepiece'`.
      extra: the name that pip installs.
    Returns: the module.
    Raises: ImportError: the package is not installed.
    Example:
      >>> optional("math", "Example", "math").pi
      3.141592653589793
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:  # it is there, and lacks a package of its own
            raise
        raise noted(
            ImportError(f"{feature} needs the package {package}\n  fix: pip install {extra}")
        ) from None

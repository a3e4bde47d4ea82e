"""Docstrings of the functions of distributions, from the texts that each distribution gives."""

from collections.abc import Mapping

__all__: list[str] = []

HEADS = {
    "pdf": "The density of {about}.",
    "logpdf": "Log of the density of {about}.",
    "pmf": "The probability of a number under {about}.",
    "logpmf": "Log of the probability of a number under {about}.",
    "cdf": "The probability of at most x, the lower tail of {about}.",
    "logcdf": "Log of `cdf`, exact where that is too small for the dtype.",
    "sf": "The probability of more than x, the upper tail of {about}.",
    "logsf": "Log of `sf`, exact where that is too small for the dtype.",
    "ppf": "The quantile of a lower tail: the inverse of `cdf`, of {about}.",
    "isf": "The quantile of an upper tail: the inverse of `sf`, of {about}.",
    "entropy": "The entropy of {about}, in nats.",
}
RETURNS = {
    "pdf": "0 outside the support",
    "logpdf": "-inf outside the support",
    "pmf": "0 for what isn't a whole number of the support",
    "logpmf": "-inf for what isn't a whole number of the support",
    "ppf": "the ends of the support for 0 and 1, NaN outside [0, 1]",
    "isf": "the ends of the support for 1 and 0, NaN outside [0, 1]",
}


def described(name: str, module: str, texts: Mapping[str, str], loops: bool = False) -> str:
    """The docstring of a function.

    Args:
      texts: by key: `about`, the distribution with its article; `parameters`, lines on its
        parameters; `at` and `of`, arguments of an example at a point and a probability; and by
        the functions' names the results of the examples, to four digits.
      loops: whether a call compiles a program with loops.
    """
    distribution = module.rpartition(".")[2]
    moving = [p for p in texts["parameters"].splitlines() if p]
    if name == "entropy":
        first, parameters = [], texts["of"].partition(", ")[2]
    elif name in ("ppf", "isf"):
        first, parameters = ["q: real array of any shape: probabilities."], texts["of"]
    else:
        letter = "k" if "pmf" in texts else "x"
        first, parameters = [f"{letter}: real array of any shape: points."], texts["at"]
    discrete = "pmf" in texts
    ends = ["loc: is added to the distribution's numbers."]
    if not discrete:
        ends = ["loc, scale: the distribution is moved by `loc` and stretched by `scale` > 0."]
    special = f"; {RETURNS[name]}" if name in RETURNS else ""
    head = HEADS[name].format(about=texts["about"])
    if discrete:
        head = head.replace("at most x", "at most k").replace("more than x", "more than k")
        head = head.replace("the inverse of `cdf`", "the first number where `cdf` reaches it")
        head = head.replace("the inverse of `sf`", "the first number where `sf` is no more")
    example = [
        "Example:",
        f"  >>> from weft.scipy.stats import {distribution}",
        f'  >>> f"{{{distribution}.{name}({parameters}).item():.4f}}"',
        f"  {texts.get(name, '')!r}",
    ]
    if loops and name in ("sf", "logcdf", "logsf", "isf"):  # one more program to compile for each
        example = [f"Example: as in `{'ppf' if name == 'isf' else 'cdf'}`."]
    lines = [
        head,
        "",
        "Args:",
        *(f"  {line}" for line in (*first, *moving, *ends)),
        "Returns: array of the arguments' common shape and float dtype" + special + ".",
        "  NaN for parameters that aren't allowed, or NaN.",
        "Raises: TypeError: an argument is complex, or no array. ValueError: shapes don't fit.",
        *example,
        f"Source: SciPy documentation, `scipy.stats.{distribution}`.",
    ]
    return "\n".join(lines)

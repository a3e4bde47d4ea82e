"""Docstrings of the functions of distributions, from the texts that each distribution gives."""

from collections.abc import Mapping

__all__: list[str] = []

HEADS = {
    "pdf": "The density of {about}.",
    "logpdf": "Log of the density of {about}.",
    "pmf": "The probability of a number under {about}.",
    "logpmf": "Log of the probability of a number under {about}.",
    "cdf": "The probability of at most x, the lower tail of {about}.",
    "logcdf": "Log of `cdf`, accurate even where `cdf` underflows.",
    "sf": "The probability of more than x, the upper tail of {about}.",
    "logsf": "Log of `sf`, accurate even where `sf` underflows.",
    "ppf": "The quantile of a lower tail of {about}: the inverse of `cdf`.",
    "isf": "The quantile of an upper tail of {about}: the inverse of `sf`.",
    "entropy": "The entropy of {about}, in nats.",
}
RETURNS = {
    "pdf": "0 outside the support",
    "logpdf": "-inf outside the support",
    "pmf": "0 for any other number than an integer of the support",
    "logpmf": "-inf for any other number than an integer of the support",
    "ppf": "the ends of the support for 0 and 1, NaN outside [0, 1]",
    "isf": "the ends of the support for 1 and 0, NaN outside [0, 1]",
}


def described(name: str, module: str, texts: Mapping[str, str]) -> str:
    """The docstring of a function.

    Args:
      texts: by key: `about`, the distribution with its article; `parameters`, lines about its
        parameters; `at` and `of`, arguments of an example at a point and a probability; and under
        the functions' names, the results of the examples to four digits.
    """
    distribution = module.rpartition(".")[2]
    shape_parameters = [p for p in texts["parameters"].splitlines() if p]
    if name == "entropy":
        first_parameter, parameters = [], texts["of"].partition(", ")[2]
    elif name in ("ppf", "isf"):
        first_parameter, parameters = ["q: real array of any shape: probabilities."], texts["of"]
    else:
        letter = "k" if "pmf" in texts else "x"
        first_parameter, parameters = [f"{letter}: real array of any shape: points."], texts["at"]
    discrete = "pmf" in texts
    ends = ["loc: shifts the distribution."]
    if not discrete:
        ends = ["loc, scale: shift and stretch the distribution; `scale` is positive."]
    special = f"; {RETURNS[name]}" if name in RETURNS else ""
    summary = HEADS[name].format(about=texts["about"])
    if discrete:
        summary = summary.replace("at most x", "at most k").replace("more than x", "more than k")
        summary = summary.replace(
            "the inverse of `cdf`", "the first number where `cdf` is at least q"
        )
        summary = summary.replace("the inverse of `sf`", "the first number where `sf` is at most q")
    example = [
        "Example:",
        f"  >>> from weft.scipy.stats import {distribution}",
        f'  >>> f"{{{distribution}.{name}({parameters}).item():.4f}}"',
        f"  {texts.get(name, '')!r}",
    ]
    lines = [
        summary,
        "",
        "Args:",
        *(f"  {line}" for line in (*first_parameter, *shape_parameters, *ends)),
        "Returns: array of the arguments' common shape and float dtype" + special + ".",
        "  NaN for parameters that are not allowed or are NaN.",
        "Raises: TypeError: an argument is complex or not an array. ValueError: shapes do not fit.",
        *example,
        f"Source: SciPy documentation, `scipy.stats.{distribution}`.",
    ]
    return "\n".join(lines)

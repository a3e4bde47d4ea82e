"""The names that JAX documents and weft does not have, with the reasons: `make names`.

`documented.json` has the 1,055 names that weft was to have from the start, by namespace;
`newest.json` those of the public namespaces of version 0.10.2, which `record` writes:

    python tests/names/compare.py record newest.json

where that library is installed. Nothing here imports it otherwise.
"""

import importlib
import json
import pathlib
import sys
import types

FOLDER = pathlib.Path(__file__).parent
NAMES = {
    name: json.loads((FOLDER / f"{name}.json").read_text()) for name in ("documented", "newest")
}
ABSENT = "not in weft yet"


def namespace(path):
    """The object whose attributes the names of a namespace are; `None` if there is none."""
    import weft

    if path.startswith("weft.numpy.ndarray"):
        array = weft.numpy.ones((2, 2))
        return array.at[0] if path.endswith("at[...]") else array
    found = weft
    for part in path.split(" ")[0].split(".")[1:]:
        found = attribute(found, part)
        if found is None:
            return None
    return found


def attribute(owner, name):
    """An attribute, or a module inside; `None` if there is neither."""
    found = owner
    for part in name.split(" ")[0].split("."):
        if not hasattr(found, part):
            try:
                importlib.import_module(f"{found.__name__}.{part}")
            except (ImportError, AttributeError):
                return None
        if not hasattr(found, part):
            return None
        found = getattr(found, part)
    return True if found is None else found


def missing(table):
    """The names of a table that weft does not have, by namespace."""
    result = {}
    for path, names in table.items():
        owner = namespace(path)
        absent = [n for n in names if owner is None or attribute(owner, n) is None]
        if absent:
            result[path.split(" ")[0]] = result.get(path.split(" ")[0], []) + absent
    return result


def reason(path, name):
    """The reason for a missing name, or its replacement; `None` if neither is written."""
    from weft import jax_names

    full = f"{path}.{name}"
    if full in jax_names.LEFT_OUT:
        return f"left out: {jax_names.LEFT_OUT[full]}"
    if full in jax_names.INSTEAD:
        return f"instead: {jax_names.INSTEAD[full]}"
    if name.endswith("_p") and path.startswith("weft.lax"):
        return f"left out: {jax_names.PRIMITIVE}"
    if name in jax_names.NOT_YET.get(path, "").split():
        return ABSENT
    if path in jax_names.UNSUPPORTED_MODULES:
        return f"left out: {jax_names.UNSUPPORTED_MODULES[path]}"
    return None


def report():
    """Prints what is missing; returns how many names have no written reason."""
    for title, table in NAMES.items():
        total = sum(map(len, table.values()))
        absent = missing(table)
        count = sum(map(len, absent.values()))
        print(f"{title}: {total - count} of {total} names")
        for path, names in sorted(absent.items()):
            print(f"  {path}")
            for name in sorted(names):
                print(f"    {name}: {reason(path, name) or 'no reason is written'}")
    return sum(reason(p, n) is None for p, names in missing(NAMES["newest"]).items() for n in names)


def record(path):
    """Writes the public names of the other library."""
    table = {}
    for own in NAMES["newest"]:
        module = importlib.import_module(own.replace("weft", "jax", 1))
        names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
        table[own] = sorted(
            n for n in names if not isinstance(getattr(module, n, None), types.ModuleType)
            or getattr(module, n).__name__.startswith("jax")
        )  # fmt: skip
    pathlib.Path(path).write_text(json.dumps(table, indent=0))


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(sys.argv[2])
    else:
        print(f"{report()} names without a written reason")

"""Records what the programs give with jax: `python record.py 2024`, or `today`.

With more words it records the programs again whose names have one of them. It needs an environment
with jax 0.4.30, or 0.10.2, and with both files of `requirements/`.
"""

import sys
from pathlib import Path
from time import perf_counter

import jax
from programs import gather
from recorded import digest, read, write


def main(era: str, *words: str) -> None:
    path = Path(__file__).parent / f"recorded_{era}.npz"
    found = read(path) if words else {}
    for name, program in gather().items():
        if words and not any(word in name for word in words):
            continue
        begun = perf_counter()
        found[name] = [digest(leaf) for leaf in jax.tree_util.tree_leaves(program())]
        sys.stdout.write(f"{perf_counter() - begun:6.1f} s  {name}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{write(path, found)} arrays by jax {jax.__version__} in {path.name}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Programs of blocks that are nearly alike: the same operations, wired differently.

Blocks of one structure become calls of one function. Those that only look alike must not, and what
any of them lends to the rest of the program must come out of the function.
"""

import numpy as onp
import pytest

import weft

SIZE, BLOCKS = 40, 12  # operations of a block, and how many blocks


def wirings(seed, kinds):
    """For each block: which two values each operation reads, of those made so far in the block
    and of three that come in; and which value goes out besides the last."""
    r = onp.random.RandomState(seed)
    some = [
        [(r.randint(max(0, n), n + 3), r.randint(0, n + 3)) for n in range(SIZE)]
        for _ in range(max(kinds) + 1)
    ]
    return [(some[kind], 3 + r.randint(0, SIZE - 1)) for kind in kinds]


def weighted_sum(values):
    """A sum that needs all values: without a use, an equation would be no part of its block."""
    total = values[0]
    for value in values[1:]:
        total = total * 0.5 + value
    return total


def program(x, blocks):
    """The same for weft and for NumPy: both have operators."""
    total, state = x * 0.0, [x, x * 0.5, x * 0.25]
    for wires, lent in blocks:
        values = [abs(state[0]), *state[1:]]  # an operation that a block has once tells its length
        for n, (i, j) in enumerate(wires):
            values.append(
                values[i] * 0.5 - values[j] if n % 2 else values[i] * 0.25 + values[j] * 0.5
            )
        state = [weighted_sum(values), values[-2], x]
        total = total + values[lent] * 2.0
    return total + state[0]


@pytest.mark.parametrize(
    "kinds",
    [[0] * BLOCKS, [0, 1] * (BLOCKS // 2), [0] * 6 + [1] * 6, [0, 1, 1, 0, 1, 0] * 2],
    ids=["alike", "in turns", "halves", "mixed"],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_blocks_of_the_same_operations_compute_what_their_wires_say(kinds, seed):
    blocks = wirings(seed, kinds)
    x = onp.linspace(-1, 1, 5)
    jitted = weft.jit(lambda x: program(x, blocks))
    report = jitted.lower(x.astype("float32")).compile_report()
    assert report.blocks or max(kinds) > 0  # several kinds are outlined for some wirings only
    got = jitted(x.astype("float32"))
    onp.testing.assert_allclose(got, program(x, blocks), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("which", [0, 1, BLOCKS - 1])
def test_a_value_that_only_one_block_lends(which):
    (wires, _), *_ = wirings(3, [0])
    x = onp.linspace(-1, 1, 5)

    def lending(x):
        state, out = [x, x * 0.5, x * 0.25], None
        for n in range(BLOCKS):
            values = [abs(state[0]), *state[1:]]
            for k, (i, j) in enumerate(wires):
                values.append(
                    values[i] * 0.5 - values[j] if k % 2 else values[i] * 0.25 + values[j] * 0.5
                )
            state = [weighted_sum(values), values[-2], x]
            if n == which:
                out = values[3 + SIZE // 2]
        return state[0] + out * 3.0

    onp.testing.assert_allclose(
        weft.jit(lending)(x.astype("float32")), lending(x), rtol=1e-4, atol=1e-4
    )

"""Collectives read from HLO text, what they send, and how long that is estimated to take."""

import itertools

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.experimental.communication import (
    Collective,
    Link,
    Network,
    bytes_sent,
    collectives,
    seconds,
    table,
)
from weft.experimental.communication.device_groups import axes_of, groups_along, parse_groups
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

# --- bytes: against algorithms carried out message by message ---


def ring_reduce_scatter(parts):
    """Device i ends with the sum of everyone's part i + 1; gives the bytes that each sends."""
    n = len(parts)
    sent = [0] * n
    for step in range(n - 1):
        messages = [(i, (i - step) % n, parts[i][(i - step) % n].copy()) for i in range(n)]
        for i, place, message in messages:
            parts[(i + 1) % n][place] += message
            sent[i] += message.nbytes
    return sent


def ring_all_gather(parts):
    """Afterwards everyone has the part i + 1 of each device i."""
    n = len(parts)
    sent = [0] * n
    for step in range(n - 1):
        messages = [(i, (i + 1 - step) % n, parts[i][(i + 1 - step) % n].copy()) for i in range(n)]
        for i, place, message in messages:
            parts[(i + 1) % n][place] = message
            sent[i] += message.nbytes
    return sent


@pytest.mark.parametrize("devices", [2, 3, 8])
def test_bytes_are_those_of_a_ring_that_does_its_work(devices):
    rng = np.random.default_rng(0)
    given = rng.integers(9, size=(devices, devices, 5)).astype("float32")
    held = [[part.copy() for part in device] for device in given]
    size = given[0].nbytes
    scattered = ring_reduce_scatter(held)
    gathered = ring_all_gather(held)
    np.testing.assert_array_equal(np.array(held), np.broadcast_to(given.sum(0), given.shape))
    assert set(scattered) == {bytes_sent("reduce-scatter", size, devices)}
    assert set(gathered) == {bytes_sent("all-gather", size, devices)}
    assert scattered[0] + gathered[0] == bytes_sent("all-reduce", size, devices)
    # all-to-all: everything but the own part leaves
    assert bytes_sent("all-to-all", size, devices) == given[0, 1:].nbytes


def test_one_device_sends_nothing_and_unknown_kinds_are_refused():
    assert bytes_sent("all-reduce", 100, 1) == bytes_sent("collective-permute", 100, 1) == 0
    with pytest.raises(ValueError, match="got 'broadcast'"):
        bytes_sent("broadcast", 100, 2)


# --- groups ---


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("{{0,1},{2,3}}, use_global_device_ids=true", [[0, 1], [2, 3]]),
        ("{{0},{3,1}}", [[0], [3, 1]]),
        ("{}", [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ("[2,4]<=[8]", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("[4,2]<=[2,4]T(1,0), dimensions={0}", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("[2,4]<=[2,2,2]T(1,0,2)", [[0, 1, 4, 5], [2, 3, 6, 7]]),
        ("mesh['x'=2,'y'=4] {'y'}, to_apply=%add", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("mesh[x=2,y=4] {x}", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("mesh['x'=2,'y'=2,'z'=2] {'x','z'}", [[0, 1, 4, 5], [2, 3, 6, 7]]),
        ("mesh['x'=8] {'x':(1)2}", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("mesh['x'=8] {'x':(2)2}", [[0, 2], [1, 3], [4, 6], [5, 7]]),
        ("mesh['x'=8] {'x':(1)2,'x':(4)2}", [[0, 1, 4, 5], [2, 3, 6, 7]]),
        ("mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'x'}", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("mesh['x'=2,'y'=2], device_ids=([3,2,1,0]) {'y'}", [[3, 2], [1, 0]]),
    ],
)
def test_notations_of_groups(text, groups):
    assert parse_groups(text, 8) == tuple(map(tuple, groups))


def test_what_is_no_group_is_refused():
    for text in ("nothing", "mesh['x'=2]", "{0,1"):
        with pytest.raises(ValueError, match="collectives: expected"):
            parse_groups(text, 8)


SIZES = {"a": 2, "b": 3, "one": 1, "c": 2}


@pytest.mark.parametrize(
    "axes", [c for n in range(4) for c in itertools.combinations("abc", n)], ids="".join
)
def test_axes_are_found_from_groups(axes):
    places = list(np.ndindex(*SIZES.values()))  # an independent way to the same groups
    fixed = [i for i, name in enumerate(SIZES) if name not in axes]
    along = {}
    for number, place in enumerate(places):
        along.setdefault(tuple(place[i] for i in fixed), []).append(number)
    groups = groups_along(SIZES, axes)
    assert sorted(map(sorted, groups)) == sorted(along.values())
    assert axes_of(SIZES, groups) == axes
    assert axes_of(SIZES, groups[::-1]) == axes


def test_groups_along_no_axes_have_none():
    assert axes_of({"x": 4, "y": 2}, ((0, 1, 2), (3, 4, 5, 6, 7))) is None
    assert axes_of({"x": 4, "y": 2}, ((0, 3), (1, 2), (4, 7), (5, 6))) is None


# --- texts ---


def program(*lines, more=""):
    return "\n".join(
        [
            "HloModule m, is_scheduled=true, num_partitions=8",
            "%add (x: f32[], y: f32[]) -> f32[] {",
            "  ROOT %s = f32[] add(%x, %y)",
            "}",
            more,
            "ENTRY %main (p: f32[4]) -> f32[4] {",
            *[f"  {line}" for line in lines],
            "}",
        ]
    )


GROUPS = "channel_id=1, replica_groups=[2,4]<=[8], use_global_device_ids=true"


@pytest.mark.parametrize(
    ("line", "kind", "arrays", "size", "devices"),
    [
        (f"%r = f32[4,2]{{1,0}} all-reduce(%p), {GROUPS}, to_apply=%add",
         "all-reduce", ["f32[4,2]"], 32, 4),
        (f"%r = (f32[4]{{0}}, bf16[2,3]{{1,0}}, /*index=2*/pred[]) all-reduce(%p, %q), {GROUPS}",
         "all-reduce", ["f32[4]", "bf16[2,3]", "pred[]"], 16 + 12 + 1, 4),
        (f"ROOT r.1 = f32[4]{{0:T(256)}} all-reduce-start(%p), {GROUPS}, to_apply=%add",
         "all-reduce", ["f32[4]"], 16, 4),
        (f"%r = (f32[2]{{0}}, f32[8]{{0}}) all-gather-start(%p), {GROUPS}, dimensions={{0}}",
         "all-gather", ["f32[8]"], 32, 4),
        (f"%r = ((f32[2], s8[1]), (f32[8], s8[4])) all-gather-start(%p, %q), {GROUPS}",
         "all-gather", ["f32[8]", "s8[4]"], 36, 4),
        (f"%r = c64[8]{{0}} all-gather(%p), {GROUPS}, dimensions={{0}}",
         "all-gather", ["c64[8]"], 64, 4),
        (f"%r = f64[2]{{0}} reduce-scatter(%p), {GROUPS}, dimensions={{0}}, to_apply=%add",
         "reduce-scatter", ["f64[2]"], 64, 4),
        (f"%r = ((f32[8]{{0}}), f32[2]{{0}}) reduce-scatter-start(%p), {GROUPS}, to_apply=%add",
         "reduce-scatter", ["f32[2]"], 32, 4),
        (f"%r = (s4[8], s4[8], s4[8], s4[8]) all-to-all(%a, %b, %c, %d), {GROUPS}",
         "all-to-all", ["s4[8]"] * 4, 16, 4),
        ("%r = f8e4m3fn[8] all-to-all(%a), replica_groups={}, dimensions={0}",
         "all-to-all", ["f8e4m3fn[8]"], 8, 8),
        ("%r = f32[8] collective-permute(%p), source_target_pairs={{0,1},{1,0},{2,2}}",
         "collective-permute", ["f32[8]"], 32, 2),
        ("%r = (f32[8], f32[8], u32[], u32[]) collective-permute-start(%p), "
         "source_target_pairs={{0,1},{1,0}}", "collective-permute", ["f32[8]"], 32, 2),
        ("%r = f32[8] collective-permute(%p), source_target_pairs={{0,0},{1,1}}",
         "collective-permute", ["f32[8]"], 32, 1),
    ],
)  # fmt: skip
def test_operations_are_read(line, kind, arrays, size, devices):
    done = "%d = f32[4]{0} all-reduce-done(%r), replica_groups={{0,1}}"  # belongs to the start
    (found,) = collectives(program("%p = f32[4]{0} parameter(0)", line, done))
    assert found.kind == kind
    assert [f"{t}[{','.join(map(str, shape))}]" for t, shape in found.arrays] == arrays
    assert (found.bytes, found.devices, found.times) == (size, devices, 1)
    assert found.sent == bytes_sent(kind, size, devices)
    assert found.name in ("r", "r.1")


LOOPS = f"""
%inner (p: f32[4]) -> f32[4] {{
  %x = f32[4]{{0}} all-reduce(%p), {GROUPS}, to_apply=%add
}}
%outer (p: f32[4]) -> f32[4] {{
  %w = f32[4]{{0}} while(%p), condition=%c, body=%inner, \
backend_config={{"known_trip_count":{{"n":"5"}}}}
  %y = f32[4]{{0}} all-gather(%p), {GROUPS}, dimensions={{0}}
}}
%async (p: f32[4]) -> f32[4] {{
  ROOT %z = f32[4]{{0}} all-to-all(%p), {GROUPS}
}}
%c (p: f32[4]) -> pred[] {{
  ROOT %l = pred[] compare(%a, %b), direction=LT
}}
"""


def counts(text):
    return [(c.kind, c.times, c.counted) for c in collectives(text)]


def test_loops_are_counted():
    trips = 'backend_config={"known_trip_count":{"n":"3"},"other":1}'
    known = program(
        f"%w = (s32[], f32[4]) while(%t), condition=%c, body=%outer, {trips}", more=LOOPS
    )
    assert counts(known) == [("all-reduce", 15, True), ("all-gather", 3, True)]
    unknown = program("%w = f32[4]{0} while(%p), condition=%c, body=%outer", more=LOOPS)
    assert counts(unknown) == [("all-reduce", 5, False), ("all-gather", 1, False)]
    assert "6+" in table(collectives(unknown))
    assert "in a loop of unknown length" in str(collectives(unknown)[0])


def test_branches_calls_and_asynchronous_computations_are_gone_into():
    text = program(
        "%a = f32[4] conditional(%i, %p, %p), branch_computations={%inner, %async}",
        "%b = f32[4] conditional(%i, %p), true_computation=%inner, false_computation=%c",
        "%s = ((f32[4]), f32[4]) async-start(%p), calls=%async",
        "%d = f32[4] async-done(%s)",
        "%e = f32[4] call(%p), to_apply=%inner",
        more=LOOPS,
    )
    kinds = ["all-reduce", "all-to-all", "all-reduce", "all-to-all", "all-reduce"]
    assert [c.kind for c in collectives(text)] == kinds


def test_what_is_no_compiled_program_is_refused():
    with pytest.raises(TypeError, match="got int"):
        collectives(3)
    with pytest.raises(ValueError, match="ENTRY"):
        collectives(weft.jit(wnp.sin).lower(1.0).as_text())
    assert collectives(weft.jit(wnp.sin).lower(1.0).compile()) == []


# --- what weft's own programs come to ---

needs_eight = pytest.mark.devices(8)


def grid():
    return Mesh(np.array(weft.devices()[:8]).reshape(2, 4), ("x", "y"))


MAPPED = {  # a function of one device's float32[8,6], and (kind, bytes, axes, devices)
    "psum": (lambda v: lax.psum(v, "y"), ("all-reduce", 192, ("y",), 4)),
    "both": (lambda v: lax.pmax(v, ("x", "y")), ("all-reduce", 192, ("x", "y"), 8)),
    "gather": (lambda v: lax.all_gather(v, "x"), ("all-gather", 384, ("x",), 2)),
    "scatter": (
        lambda v: lax.psum_scatter(v, "y", tiled=True),
        ("reduce-scatter", 192, ("y",), 4),
    ),
    "exchange": (
        lambda v: lax.all_to_all(v, "y", 0, 1, tiled=True),
        ("all-to-all", 192, ("y",), 4),
    ),
    "shift": (
        lambda v: lax.ppermute(v, "y", [(i, (i + 1) % 4) for i in range(4)]),
        ("collective-permute", 192, ("y",), 2),
    ),
    "loop": (
        lambda v: lax.fori_loop(0, 7, lambda i, v: lax.psum(v, "x") * 0.5, v),
        ("all-reduce", 192, ("x",), 2),
    ),
}


@needs_eight
@pytest.mark.parametrize("name", MAPPED)
def test_collectives_of_a_mapped_function(name):
    mesh = grid()
    f, expected = MAPPED[name]
    spec = P(("x", "y"))
    mapped = weft.jit(weft.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))
    (found,) = collectives(mapped.lower(wnp.ones((64, 6))).compile(), mesh)
    assert (found.kind, found.bytes, found.axes, found.devices) == expected
    assert found.times == (7 if name == "loop" else 1)


@needs_eight
def test_collectives_of_divided_arrays():
    mesh = grid()
    x = weft.device_put(wnp.ones((8, 16)), NamedSharding(mesh, P("x", "y")))
    w = weft.device_put(wnp.ones((16, 4)), NamedSharding(mesh, P("y", None)))
    found = collectives(weft.jit(wnp.dot).lower(x, w).compile(), mesh)
    assert {(c.kind, c.axes, c.bytes) for c in found} == {("all-reduce", ("y",), 64)}


# --- time ---


def test_time_is_that_of_the_slowest_link():
    network = Network(4, within=Link(100.0, 1.0), between=Link(10.0, 5.0))
    inside = Collective("all-reduce", (("f32", (50,)),), ((0, 1, 2, 3), (4, 5, 6, 7)), times=2)
    assert seconds(inside, network) == 2 * (4 * 1.0 + 300 / 100)
    across = Collective("all-reduce", (("f32", (50,)),), ((0, 4), (1, 5), (2, 6), (3, 7)))
    assert seconds(across, network) == 2 * 5.0 + 200 / 10
    shift = Collective("collective-permute", (("f32", (50,)),), pairs=((3, 4), (4, 3)))
    assert seconds(shift, network) == 5.0 + 200 / 10
    alone = Collective("all-reduce", (("f32", (50,)),), ((0,),))
    assert seconds(alone, network) == 0.0


def test_table_has_a_line_for_each_kind_and_axes():
    rows = [
        Collective("all-reduce", (("f32", (25,)),), ((0, 1),), axes=("x",), times=3),
        Collective("all-gather", (("bf16", (500_000,)),), ((0, 1),), axes=None),
    ]
    lines = table(rows, Network()).splitlines()
    assert " ".join(lines[0].split()) == "collective along devices times sent by each time"
    assert [line.split()[:4] for line in lines[1:]] == [
        ["all-gather", "?", "2", "1"],
        ["all-reduce", "x", "2", "3"],
        ["all", "4", "500", "kB"],
    ]

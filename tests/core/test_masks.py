"""Lists taken apart by masks, against positions counted by hand."""

import itertools

import pytest

from weft.core import masks

ITEMS = ["a", "b", "c", "d"]
MASKS = list(itertools.product([False, True], repeat=4))


@pytest.mark.parametrize("mask", MASKS)
def test_partitioning_keeps_order_and_merging_undoes_it(mask):
    chosen, others = masks.partition_list(ITEMS, mask)
    assert chosen == [ITEMS[i] for i in range(4) if mask[i]]
    assert others == [ITEMS[i] for i in range(4) if not mask[i]]
    assert masks.merge_lists(chosen, others, mask) == ITEMS


@pytest.mark.parametrize("mask", MASKS)
def test_scattered_items_are_where_the_mask_is_true(mask):
    scattered = masks.scatter_list([ITEMS[i] for i in range(4) if mask[i]], mask)
    assert scattered == [ITEMS[i] if mask[i] else None for i in range(4)]
    assert masks.fill_list(scattered, masks.inactive(ITEMS, mask)) == ITEMS


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(ValueError, match="argument 2"):
        masks.active(ITEMS, [True])


def test_groups_are_cut_by_counts_and_the_rest_is_one_more():
    assert masks.groups_of(ITEMS, 1, 2) == [["a"], ["b", "c"], ["d"]]
    assert masks.groups_of(ITEMS, 4) == [ITEMS, []]

"""Documents are written flat where they fit the line."""

from weft.compat.pretty_printer import brk, concat, group, join, nest, nil, text


def test_a_group_is_flat_if_it_fits_and_in_lines_if_not():
    items = join(concat([text(","), brk()]), [text(f"item{i}") for i in range(3)])
    doc = group(text("[") + nest(2, brk("") + items) + brk("") + text("]") + nil())
    assert doc.format(40) == "[item0, item1, item2]" == str(doc)
    assert doc.format(12) == "[\n  item0,\n  item1,\n  item2\n]"

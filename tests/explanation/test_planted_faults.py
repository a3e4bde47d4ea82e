"""Programs with one fault each, which has to be named with its line; and sound ones."""

import faulty_programs
import pytest
import sound_programs

from weft.explanation.explain import explain_program

FAULTY = faulty_programs.FAULTY | faulty_programs.IN_OTHER_WORDS
SOUND = sound_programs.SOUND | sound_programs.IN_OTHER_WORDS


def explained(folder, text):
    """The explanation of a program, and its status."""
    path = folder / "program.py"
    path.write_text(faulty_programs.HEAD + text)
    return explain_program(str(path))


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_named_with_its_line_on_the_first_screen(tmp_path, capfd, name):
    kind, text = FAULTY[name]
    explanation, status = explained(tmp_path, text)
    assert status == 0, capfd.readouterr().err
    lines = (faulty_programs.HEAD + text).splitlines()
    (line,) = [n for n, row in enumerate(lines, 1) if row.endswith("# fault")]
    found = [(f.kind, f.line.file, f.line.number) for f in explanation.findings]
    assert found == [(kind, "program.py", line)]
    first_screen = "\n".join(str(explanation).splitlines()[:24])
    assert f"program.py:{line}: {kind}" in first_screen


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_found_in_a_sound_program(tmp_path, capfd, name):
    explanation, status = explained(tmp_path, SOUND[name])
    assert status == 0, capfd.readouterr().err
    assert explanation.findings == []
    assert explanation.programs  # it was watched

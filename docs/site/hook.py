"""Gives mkdocs the pages of the API reference, which lie in no folder (mkdocs.yml: hooks)."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from reference import pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made of docstrings."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Marks of the tests on blocks of code are none of Markdown's."""
    return markdown.replace("```python no-run", "```python")

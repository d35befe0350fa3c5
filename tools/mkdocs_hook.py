"""The repository's pages as a site: the README in front, and whatever pages link to beside them.

Pages are written to be read where they lie in the repository. On the site those of docs/ are at
the top, so that every link is turned to where its target is there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCS, FRONT = "docs/", "README.md"
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)")


def on_files(files: Files, config: Any) -> Files:
    """Add the README and all that it and other pages link to, however far."""
    missing = [FRONT]
    known = {_in_repository(file.src_uri) for file in files}
    missing += [path for page in known for path in _targets(page)]
    while missing:
        path = missing.pop()
        if path not in known and (ROOT / path).is_file():
            known.add(path)
            source = str(ROOT / path)
            files.append(File.generated(config, _on_site(path), abs_src_path=source))
            missing += _targets(path)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to where their targets are on the site."""
    here = page.file.src_uri
    source = _in_repository(here)

    def turned(link: re.Match[str]) -> str:
        target = _on_site(_resolved(source, link[1]))
        return posixpath.relpath(target, posixpath.dirname(here) or ".")

    return LINK.sub(turned, markdown)


def _targets(page: str) -> Iterator[str]:
    """Paths in the repository that a page links to."""
    if page.endswith(".md"):
        for link in LINK.finditer((ROOT / page).read_text()):
            yield _resolved(page, link[1])


def _resolved(page: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _on_site(path: str) -> str:
    return "index.md" if path == FRONT else path.removeprefix(DOCS)


def _in_repository(uri: str) -> str:
    if uri == "index.md":
        return FRONT
    return DOCS + uri if (ROOT / DOCS / uri).exists() else uri

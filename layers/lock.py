"""Writes each layer's requirements.txt from uv.lock: exactly what the tests ran on.

    python -m layers.lock

A package is in one layer only: a layer leaves out what the ones before it have.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LAYERS: Mapping[str, tuple[str, ...]] = {
    # Apart from the others: it is the largest, and Lambda brings one of its own to fall back on.
    "aws": ("boto3",),
    # What every function imports; idna, as the layers web and search both need it; and what tells
    # a file's encoding and front matter, where documents are taken in.
    "base": (
        "aws-lambda-powertools",
        "charset-normalizer",
        "idna",
        "numpy",
        "pg8000",
        "pydantic",
        "pydantic-settings",
        "pyroaring",
        "pyyaml",
        "sqlalchemy",
        "urllib3",
    ),
    "web": ("fastapi", "mangum", "python-multipart"),
    "search": ("jieba", "opensearch-py", "orjson", "pystemmer", "rjieba"),
    # pycryptodome is pypdf's, for files that are encrypted though nobody needs a password.
    "files": (
        "markdown-it-py",
        "openpyxl",
        "pycryptodome",
        "pypdf",
        "python-docx",
        "python-pptx",
        "selectolax",
    ),
    "schema": ("alembic",),
}
"""Every layer's direct dependencies. The template says which function has which layers."""

_HEADER = "# Written by `make lock` from uv.lock; the layer's packages stand in layers/lock.py.\n"

Package = Mapping[str, Any]


def write_requirements() -> None:
    """Writes layers/<name>/requirements.txt for every layer."""
    for layer, text in make_requirements(read_packages()).items():
        target = HERE / layer / "requirements.txt"
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")


def read_packages() -> dict[str, Package]:
    """Returns uv.lock's packages by name."""
    lock = tomllib.loads((HERE.parent / "uv.lock").read_text(encoding="utf-8"))
    return {package["name"]: package for package in lock["package"]}


def make_requirements(packages: Mapping[str, Package]) -> dict[str, str]:
    """Returns the text of each layer's requirements.txt, with the hashes of the lock."""
    taken: set[str] = set()
    texts = {}
    for layer, direct in LAYERS.items():
        names = {name for each in direct for name in close(each, packages)} - taken
        texts[layer] = _HEADER + "".join(_pin(packages[name]) for name in sorted(names))
        taken |= names
    return texts


def close(name: str, packages: Mapping[str, Package]) -> Iterator[str]:
    """Yields a package and all that it depends on."""
    yield name
    for needed in packages[name].get("dependencies", []):
        if "marker" in needed or "extra" in needed:
            raise NotImplementedError(f"{name} depends on {needed['name']} conditionally")
        yield from close(needed["name"], packages)


def _pin(package: Package) -> str:
    files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
    hashes = sorted({file["hash"] for file in files})
    return (
        " \\\n".join(
            [f"{package['name']}=={package['version']}", *(f"    --hash={each}" for each in hashes)]
        )
        + "\n"
    )


if __name__ == "__main__":
    write_requirements()

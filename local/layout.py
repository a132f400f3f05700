"""How OpenSearch's program folder is made from jars, without the distribution that they came in."""

import hashlib
import shutil
import zipfile
from importlib import resources
from pathlib import Path

from local.account import link, open_to_all
from local.artifacts import Cache
from local.pins import Artifact, engine_pins
from local.progress import Progress

MODULES = {
    "transport-netty4": "org.opensearch.transport.Netty4Plugin",
    "lang-painless": "org.opensearch.painless.PainlessPlugin",
}
STAMP = "layout.sha256"
"""The file that says what a finished folder was made from."""


def lay_out(folder: Path, cache: Cache, progress: Progress) -> None:
    """Makes the program folder anew, unless it is there and made from the same.

    Raises:
        EngineError: an artifact can't be had.
    """
    pins = engine_pins()
    modules = {f"modules/{module}": describe_module(module) for module in MODULES}
    made_from = hashlib.sha256(repr((pins, modules)).encode()).hexdigest()
    stamp = folder / STAMP
    if stamp.exists() and stamp.read_text(encoding="ascii") == made_from:
        return
    files = cache.fetch(pins, progress)
    unfinished = folder.with_name(folder.name + ".new")
    for old in (unfinished, folder):
        shutil.rmtree(old, ignore_errors=True)
    for empty in ("bin", "extensions"):  # the server insists on them
        (unfinished / empty).mkdir(parents=True)
    for pin, file in files.items():
        place(pin, file, unfinished / pin.place)
    for module, described in modules.items():
        for name, text in described.items():
            (unfinished / module / name).write_text(text, encoding="utf-8")
    (unfinished / STAMP).write_text(made_from, encoding="ascii")
    open_to_all(unfinished)
    unfinished.rename(folder)


def place(pin: Artifact, file: Path, folder: Path) -> None:
    """Puts a jar into its folder, or unpacks a plugin there."""
    folder.mkdir(parents=True, exist_ok=True)
    if pin.packaging == "zip":
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
    else:
        link(file, folder / pin.filename)


def describe_module(module: str) -> dict[str, str]:
    """Returns the files, by name, that make a folder of jars a module of OpenSearch."""
    properties = read_template("plugin-descriptor.properties")
    return {
        "plugin-descriptor.properties": properties.format(
            name=module, plugin_class=MODULES[module]
        ),
        "plugin-security.policy": read_template(f"{module}.policy"),
    }


def write_anew(path: Path, text: str) -> None:
    """Writes a file that replaces whatever was there, never through a link that somebody left."""
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    path.chmod(0o644)


def read_template(name: str) -> str:
    """Returns one of the configuration files that Winnow carries."""
    return resources.files("local").joinpath("config", name).read_text(encoding="utf-8")

#!/bin/sh
# Puts uv into a folder of its own, with nothing but the machine's Python 3.
set -eu
target=$1
python=$(command -v python3) || {
    echo "Python 3 is needed: install it first (on Debian: apt-get install python3)." >&2
    exit 1
}
echo "Installing uv into $target ..." >&2
rm -rf "$target"
if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    "$python" -m venv "$target"
    "$target/bin/pip" install --quiet --disable-pip-version-check uv
elif "$python" -m pip --version >/dev/null 2>&1; then
    "$python" -m pip install --quiet --disable-pip-version-check --target "$target" uv
else
    echo "This Python has neither venv nor pip, so uv can't be installed from here." >&2
    echo "Install one of them (on Debian: apt-get install python3-venv), or uv itself." >&2
    exit 1
fi

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.content.keys import is_key, require_key

pieces = st.sampled_from(["a", "..", ".", "", "/", "\\", "\0", "~", "b.txt", "退", " "])


@given(st.lists(pieces, max_size=6).map("/".join) | st.text(max_size=40))
def test_a_key_is_a_file_strictly_below_the_folder(key: str) -> None:
    if is_key(key):
        folder = Path("/srv/content")
        path = Path(str((folder / key).absolute()).replace("/./", "/"))
        assert path.relative_to(folder).parts == tuple(key.split("/"))
        assert ".." not in path.parts
        assert require_key(key) == key
    else:
        with pytest.raises(ValueError, match="no key"):
            require_key(key)


@pytest.mark.parametrize("key", ["t/d/x/1", "a", "退款 政策/a+b%2F c", "...", "a/.hidden"])
def test_usual_names_are_keys(key: str) -> None:
    assert is_key(key)

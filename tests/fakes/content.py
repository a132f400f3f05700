"""A content store in memory."""

from shared.content.keys import is_key, require_key
from shared.errors import ContentMissing


class FakeContentStore:
    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, str]] = {}

    def put(self, key: str, data: bytes, media_type: str) -> None:
        self.kept[require_key(key)] = (data, media_type)

    def get(self, key: str) -> bytes:
        if not is_key(key) or key not in self.kept:
            raise ContentMissing(f"nothing is kept under {key}")
        return self.kept[key][0]

    def delete(self, key: str) -> None:
        self.kept.pop(key, None)

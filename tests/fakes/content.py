"""A content store in memory."""

from datetime import timedelta

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

    def measure(self, key: str) -> int | None:
        return len(self.kept[key][0]) if key in self.kept else None

    def offer(self, key: str, size: int, valid: timedelta) -> str:
        return f"https://content.example.com/{require_key(key)}?size={size}&valid={valid}"

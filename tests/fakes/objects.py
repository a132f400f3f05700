"""Buckets in memory, as events tell of them."""

from shared.model import SourceObject


class FakeObjects:
    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], SourceObject] = {}
        self.reads: list[str] = []  # keys whose bytes were asked for

    def put(self, key: str, data: bytes, bucket: str = "b", *, media_type: str = "") -> None:
        self.objects[bucket, key] = SourceObject(data, media_type)

    def remove(self, key: str, bucket: str = "b") -> None:
        self.objects.pop((bucket, key), None)

    def size(self, bucket: str, key: str) -> int | None:
        found = self.objects.get((bucket, key))
        return None if found is None else len(found.data)

    def read(self, bucket: str, key: str, most: int) -> SourceObject | None:
        self.reads.append(key)
        found = self.objects.get((bucket, key))
        return None if found is None else found._replace(data=found.data[: most + 1])

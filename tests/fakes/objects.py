"""Buckets in memory, as events tell of them."""


class FakeObjects:
    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.reads: list[str] = []  # keys whose bytes were asked for

    def put(self, key: str, data: bytes, bucket: str = "b") -> None:
        self.objects[bucket, key] = data

    def remove(self, key: str, bucket: str = "b") -> None:
        self.objects.pop((bucket, key), None)

    def size(self, bucket: str, key: str) -> int | None:
        data = self.objects.get((bucket, key))
        return None if data is None else len(data)

    def read(self, bucket: str, key: str, most: int) -> bytes | None:
        self.reads.append(key)
        data = self.objects.get((bucket, key))
        return None if data is None else data[: most + 1]

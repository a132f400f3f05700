"""Keys of the content store: tenant/dataset/document/version, uploads/tenant/dataset/id. Pure."""

MAX_BYTES = 1024
MAX_SEGMENT_BYTES = 255

UPLOADS = "uploads"
"""What the keys of uploads begin with; what is kept under them goes by itself after a day."""


def is_key(key: str) -> bool:
    """Tells whether every store can keep something under this key, a folder included."""
    try:
        size = len(key.encode())
        segments = [len(segment.encode()) for segment in key.split("/")]
    except UnicodeEncodeError:
        return False
    return (
        size <= MAX_BYTES
        and all(0 < length <= MAX_SEGMENT_BYTES for length in segments)
        and not {".", ".."} & set(key.split("/"))
        and key.isprintable()
        and "\\" not in key
    )


def require_key(key: str) -> str:
    """Returns the key.

    Raises:
        ValueError: it could leave the store, or some store can't keep it.
    """
    if not is_key(key):
        raise ValueError(f"{key!r} is no key of the content store")
    return key

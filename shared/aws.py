"""What AWS's own client says of trouble, in our words."""

from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import Unavailable


@contextmanager
def explaining_trouble(part: str, service: str) -> Iterator[None]:
    """Turns AWS's errors into `Unavailable`, in words that name nothing of ours.

    Args:
        part: of ours that the service keeps, as "the queue".
        service: as AWS calls it.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415, long to load

    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        raise Unavailable(f"{part} can't be used: {service} answered {code}") from error
    except BotoCoreError as error:
        raise Unavailable(f"{part} can't be reached: {type(error).__name__}") from error

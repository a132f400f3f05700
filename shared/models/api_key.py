"""The key of the OpenAI-compatible server: the setting's own, or the one Secrets Manager keeps."""

from typing import Protocol

from pydantic import SecretStr

from shared.errors import Unavailable
from shared.secrets import read_secret


class KeySettings(Protocol):
    """What finding the key needs of the settings."""

    @property
    def openai_api_key(self) -> SecretStr | None:
        """The key, if the server asks for one."""
        ...

    @property
    def openai_api_key_secret(self) -> str | None:
        """ARN of the secret that holds the key."""
        ...


def find_api_key(settings: KeySettings, failure: type[Unavailable]) -> SecretStr | None:
    """Returns the key; raises `failure` where it can't be read now."""
    if settings.openai_api_key is not None or settings.openai_api_key_secret is None:
        return settings.openai_api_key
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415, long to load

    try:
        return SecretStr(read_secret(settings.openai_api_key_secret))
    except (BotoCoreError, ClientError) as error:
        raise failure("the key of the model server can't be read") from error

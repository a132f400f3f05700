"""What Secrets Manager keeps: read when it is needed, never written into an environment."""


def read_secret(arn: str) -> str:
    """Returns the text of a secret; raises botocore's errors."""
    import boto3  # noqa: PLC0415  it takes long to load, and not every process has secrets

    return str(boto3.client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"])

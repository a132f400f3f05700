"""Logs and metrics, as AWS Lambda Powertools writes them. Logs carry no query text."""

from aws_lambda_powertools import Logger, Metrics

logger = Logger(service="winnow", use_rfc3339=True)
metrics = Metrics(namespace="Winnow", service="winnow")

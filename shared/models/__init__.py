"""Embedding models: Bedrock, OpenAI-compatible servers, and local ones."""

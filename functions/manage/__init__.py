"""Datasets, documents and metadata fields over HTTP."""

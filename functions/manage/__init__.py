"""Datasets and documents over HTTP."""

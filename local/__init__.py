"""One machine instead of AWS: the embedded engines and the `winnow` command line."""

"""Schema migrations, run at deploy."""

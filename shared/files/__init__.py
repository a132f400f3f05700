"""What can be told of a file before its format is read: its type, its encoding, its metadata."""

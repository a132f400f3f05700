"""One module a format: a file's bytes → `ParsedDocument`, in bounded memory and time."""

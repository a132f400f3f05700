"""Where raw bytes are: folders and S3."""

"""SQS → documents: parse, cut, embed, persist, index, flip."""

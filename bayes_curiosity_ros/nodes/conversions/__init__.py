"""Between messages and arrays; the only place that does it. One module per kind of message."""

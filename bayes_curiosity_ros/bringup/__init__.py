"""Which processes there are, and how they are started where launch is not installed."""

"""Learning that a real arm can afford: a learner that remembers, and a few demonstrations."""

"""Sparse classic control: the four tasks of the paper's Table I."""

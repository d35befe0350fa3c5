"""Table I of the paper: sparse classic control."""

"""Exploration on an arm that is parked aside: who finds the goal at all, and how surely."""

"""Curiosity in space: what a hand would earn all over the arm's workspace, and pictures of it."""

"""Measurements against peers; `python -m benchmarks.NAME` prints one JSON line per figure."""

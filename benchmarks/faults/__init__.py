"""The fault campaign: `python -m benchmarks.faults`, before every release."""

"""Settings: YAML into frozen dataclasses, checks, ranges of numbers, registries of names."""

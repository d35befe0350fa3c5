"""Drivers of real arms, emulated as nodes of their own: names, units, rates and habits are theirs."""

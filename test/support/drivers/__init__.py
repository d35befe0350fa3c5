"""Drivers of real arms, emulated: names, units, rates and habits are theirs."""

"""Formats that recorded episodes are exported in: one module and one entry of EXPORTS each."""

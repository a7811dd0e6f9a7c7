"""Flat read-only arrays of decision, chance and end nodes: the class, its checks, names and files."""

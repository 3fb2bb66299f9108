"""Motions as data: waves about a pose, probes of a thing, and files that hold them."""

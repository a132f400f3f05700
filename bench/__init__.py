"""Benchmarks, run by hand: figures as ratios within one run, for machines differ and are noisy."""

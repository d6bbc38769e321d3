"""Answers from traffic: usage of rules, proposals, gaps, receivers at a time, and flows.

Spark sums the events (``uses``), describes distinct subjects with native columns (``described``),
and groups them (``summaries``, ``flows``). What follows from these small tables is decided by plain
functions without Spark: ``rule_table``, ``synthesis``, ``gaps``, ``receivers`` and ``folding``.
"""

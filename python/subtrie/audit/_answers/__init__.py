"""Answers from traffic: usage of rules, proposals, gaps, receivers at a time, and flows.

What follows from the sums of traffic is decided here by plain rules, a module an answer. The sums
themselves are made in ``_partial`` and ``_tables``, here or by tasks of Spark.
"""

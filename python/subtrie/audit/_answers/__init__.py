"""Answers from traffic: usage of rules, proposals, gaps, receivers at a time, and flows.

Messages are summed to uses (``uses``), the uses of a bucket of subjects are classified
(``described``) and summed again (``bucket``, ``sums``), in this process or by tasks of Spark
(``executors``). What follows from these sums is decided by plain rules (``tables`` and the others).
"""

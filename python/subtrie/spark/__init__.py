"""The audit of traffic on Spark: functions from DataFrame to DataFrame."""

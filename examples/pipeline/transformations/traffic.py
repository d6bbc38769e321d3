"""Tables about the traffic of a broker, from its events."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from subtrie.spark import decode

spark = SparkSession.active()


events = spark.read.parquet(spark.conf.get("subtrie.events"))
accepted = events.where("op in ('PUB', 'HPUB') and direction = 'in' and refused is null")
# `decode` looks at the schema of its input, which query functions may not do.
decoded = decode(accepted.select("time", "identity", "subject", "size", "deliveries", "forwarded"))


@dp.materialized_view(comment="Accepted publishes with the parts of their subject.")
def publishes() -> DataFrame:
    """Return accepted publishes with the parts of their subject."""
    return decoded


@dp.materialized_view(comment="Requests by caller, destination, port and method.")
def calls() -> DataFrame:
    """Return the requests by caller, destination, port and method."""
    address = F.col("address")
    return (
        spark.read.table("publishes")
        .where("address.kind = 'request'")
        .groupBy(
            address.plane.alias("plane"),
            address.source.alias("source"),
            address.host.alias("destination"),
            address.port.alias("port"),
            address.method.alias("method"),
        )
        .agg(
            F.count("*").alias("published"),
            F.expr("count_if(deliveries = 0 and forwarded = 0)").alias("undelivered"),
            F.sum("size").alias("bytes"),
            F.min("time").alias("first"),
            F.max("time").alias("last"),
        )
    )


@dp.materialized_view(comment="Requests whose source is not the identity of the connection.")
def spoofed() -> DataFrame:
    """Return the requests whose source is not the identity of the connection."""
    return (
        spark.read.table("publishes")
        .where("address.kind is not null and identity is not null and address.source != identity")
        .groupBy("identity", F.col("address.source").alias("claimed"))
        .agg(F.count("*").alias("accepted"))
    )


@dp.materialized_view(comment="What the broker refused.")
def refused() -> DataFrame:
    """Return what the broker refused."""
    return (
        events.where("op = 'VIOLATION'")
        .groupBy("identity", "subject", F.col("refused").alias("kind"))
        .agg(F.count("*").alias("count"))
    )

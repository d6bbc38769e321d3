"""A NATS client over ``DeliveryReader``, without a queue or task for each subscription.

| module | what |
|---|---|
| ``connection`` | one connection that is kept: subscriptions, messages that wait, reconnecting |
| ``session`` | one TCP or TLS connection to one server, from ``INFO`` to its end |
| ``handshake`` | ``CONNECT`` and the ways to authenticate |
| ``servers`` | the servers of a cluster, and the time between attempts |
"""

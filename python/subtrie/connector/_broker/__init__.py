"""A NATS client over ``DeliveryReader``, without a queue or task for each subscription.

| module | what |
|---|---|
| ``shared`` | the connections of this process, counted by their users |
| ``connection`` | one connection that is kept: subscriptions, messages that wait, reconnecting |
| ``session`` | one TCP or TLS connection to one server, from ``INFO`` to its end |
| ``handshake`` | ``CONNECT`` and the ways to authenticate |
| ``server_info`` | the fields of ``INFO``, checked |
| ``servers`` | the servers of a cluster, and the time between attempts |
| ``acknowledging`` | acknowledgements composed as requests are read, and the time to wait for one |
| ``errors`` | refused connections, publishes and subscriptions, and why |
"""

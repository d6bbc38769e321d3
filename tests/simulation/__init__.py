"""Connectors in simulated worlds: virtual time, and every order of events drawn from a seed.

| module | what |
|---|---|
| ``scheduler`` | actors of which one runs at a time, the clock, and the tape |
| ``simulated_system`` | locks, threads and event loops of the connector, as actors |
| ``network`` | sockets whose bytes are cut, delayed, lost |
| ``broker``, ``cluster`` | nats-server, one or three of them |
| ``services`` | the services, the callers, and what each outcome may be |
| ``plan``, ``faults`` | the size of a world and its faults, drawn from the seed |
| ``world`` | services, callers, faults, and what must hold |
| ``planted`` | faults of the connector that a world must find |
| ``broker_tapes`` | the simulated broker against a real one |
"""

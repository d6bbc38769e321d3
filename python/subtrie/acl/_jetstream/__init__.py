"""JetStream: streams and consumers of a broker, and who may read, write, delete and manage them."""

"""From events to the tables of an audit: sums in the workers, then tables on the driver."""

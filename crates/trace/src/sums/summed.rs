//! Sums of other workers, added to these.

use arrow_data::ArrayData;
use arrow_schema::ArrowError;

use super::entries::{Delivered, DeliveryKey, Sender};
use super::input::{numbers, texts};
use super::placed::{by_bucket, placed};
use super::rates::Rate;
use super::{CHANGES, COUNTS, DAYS, RATES, SPANS, TrafficSums};
use subtrie_columns::Last;

impl TrafficSums {
    /// Add the messages of other sums, as `take` returned them.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has another type.
    pub fn add_publishes(&mut self, batch: ArrayData) -> Result<(), ArrowError> {
        let input = self.input(batch, Vec::new())?;
        let [server, conn, account, identity, subject] =
            texts(&input, ["server", "conn", "account", "identity", "subject"])?;
        let [source, user, client] = texts(&input, ["identity_source", "user", "client"])?;
        let window = input.numbers("window")?;
        let counts = numbers(&input, COUNTS)?;
        let firsts = numbers(&input, SPANS.map(|[first, _]| first))?;
        let lasts = numbers(&input, SPANS.map(|[_, last]| last))?;
        let days = input.lists(DAYS)?;
        let changes = input.lists(CHANGES)?;
        let rates = [input.lists(RATES[0])?, input.lists(RATES[1])?];
        let mut last: [Last; 7] = Default::default();
        let placed = placed(&subject, input.len(), self.buckets.len());
        for row in by_bucket(&placed, self.buckets.len()) {
            let sender = Sender {
                server: last[0].number(&mut self.names, server.get(row))?,
                conn: last[1].number(&mut self.names, conn.get(row))?,
                identity: last[2].number(&mut self.names, identity.get(row))?,
                source: last[3].number(&mut self.names, source.get(row))?,
                user: last[4].number(&mut self.names, user.get(row))?,
                client: last[5].number(&mut self.names, client.get(row))?,
                account: last[6].number(&mut self.names, account.get(row))?,
                window: window.get(row),
            };
            let sender = self.sender(sender);
            let bucket = &mut self.buckets[placed[row].bucket];
            let subject = bucket.subjects.number_of(placed[row].text.as_deref())?;
            let at = bucket.row(subject, sender);
            for (which, column) in counts.iter().enumerate() {
                bucket
                    .messages
                    .count(which, at, column.get(row).unwrap_or(0));
            }
            for (which, (first, last)) in firsts.iter().zip(&lasts).enumerate() {
                bucket.messages.extend_span(which, at, first.get(row));
                bucket.messages.extend_span(which, at, last.get(row));
            }
            for &day in days.get(row) {
                bucket.messages.add_day(at, day);
            }
            for &[changed, count] in changes.get(row).as_chunks().0 {
                bucket.messages.add_change(at, (changed, count));
            }
            for (which, column) in rates.iter().enumerate() {
                if let Some(rate) = Rate::of(column.get(row))? {
                    bucket.messages.add_rate(which, at, &rate);
                }
            }
        }
        Ok(())
    }

    /// Add the deliveries of other sums, as `take` returned them.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has another type.
    pub fn add_deliveries(&mut self, batch: ArrayData) -> Result<(), ArrowError> {
        let input = self.input(batch, Vec::new())?;
        let [server, conn, account, sid, queue, consumer, subject] = texts(
            &input,
            [
                "server", "conn", "account", "sid", "queue", "consumer", "subject",
            ],
        )?;
        let [window, subscription, count, first, ended] =
            numbers(&input, ["window", "subscription", "count", "first", "last"])?;
        let mut last: [Last; 6] = Default::default();
        let placed = placed(&subject, input.len(), self.buckets.len());
        for row in by_bucket(&placed, self.buckets.len()) {
            let bucket = placed[row].bucket;
            let subjects = &mut self.buckets[bucket].subjects;
            let subject = subjects.number_of(placed[row].text.as_deref())?;
            let key = DeliveryKey {
                server: last[0].number(&mut self.names, server.get(row))?,
                conn: last[1].number(&mut self.names, conn.get(row))?,
                sid: last[2].number(&mut self.names, sid.get(row))?,
                queue: last[3].number(&mut self.names, queue.get(row))?,
                consumer: last[4].number(&mut self.names, consumer.get(row))?,
                account: last[5].number(&mut self.names, account.get(row))?,
                subject,
                subscription: subscription.get(row),
                window: window.get(row),
            };
            let (sum, _) = self.buckets[bucket].deliveries.value(key);
            let (count, first) = (count.get(row).unwrap_or(0), first.get(row));
            let last = ended.get(row);
            sum.add(Delivered { count, first, last });
        }
        Ok(())
    }
}

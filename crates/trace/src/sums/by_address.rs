//! The sums of messages alone by their address: no table needs the subjects of most of them.
//!
//! A subject stays if it is not an address of a plane that is audited, or if a client sent it in the
//! name of another one. Of the others the subjects with the most messages are named.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray, StructArray};
use arrow_schema::{ArrowError, Field};
use foldhash::fast::RandomState;

use super::addresses::Addresses;
use super::bucket::{Bucket, Messages, NO_SPAN};
use super::output::Numbered;
use super::placed::bucket_of;
use super::{COUNTS, RATES, SPANS, TrafficSums};
use subtrie::microbus::{Address, decode};
use subtrie_columns::{NULL, Text};

/// Sums by address, and the subjects with the most messages.
pub struct ByAddress {
    /// The sums; the subject of an address is one of its subjects.
    pub sums: Numbered,
    /// `subject`, `published` and `bytes` of the subjects with the most messages.
    pub most: StructArray,
    /// The most messages that a subject has which is not among them.
    pub unnamed: i64,
}

/// The row to which the messages of an address are added.
struct Merged {
    /// The subject that stands for the address, in the bucket of the merged sums.
    subject: u32,
    /// The host in whose name they are sent.
    source: String,
}

/// The messages of a subject.
#[derive(Clone)]
struct Counted {
    published: i64,
    bytes: i64,
    bucket: usize,
    subject: u32,
}

impl TrafficSums {
    /// Return all sums by address, and begin again.
    ///
    /// Cost: one decode of each distinct subject.
    ///
    /// `planes` are those that are audited, none for all; `most` is the number of subjects that are
    /// named, beside those in `also`.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has more than 2 GiB of text.
    pub fn take_by_address(
        &mut self,
        planes: &[String],
        most: usize,
        also: &[String],
    ) -> Result<ByAddress, ArrowError> {
        let mut old = self.begin_again();
        let (most, unnamed) = most_published(&mut old.buckets, most, also)?;
        let buckets = std::mem::replace(&mut old.buckets, vec![Bucket::default()]);
        let into = &mut old.buckets[0];
        let mut addresses = Addresses::default();
        let mut merged: Vec<Option<Merged>> = Vec::new();
        for bucket in &buckets {
            let mut address_of = vec![NULL; bucket.subjects.count()];
            for (row, (&subject, &sender)) in bucket.messages.rows().enumerate() {
                let Some(address) = address_of.get_mut(subject as usize) else {
                    let to = into.row(NULL, sender);
                    into.messages.add_row(to, &bucket.messages, row);
                    continue;
                };
                let text = bucket.subjects.get(subject);
                if *address == NULL {
                    let number = addresses.number(text.map_or(Text::Null, Text::Valid))?;
                    *address = u32::try_from(number).unwrap_or(NULL);
                }
                if *address as usize >= merged.len() {
                    merged.push(match audited_source(text.unwrap_or_default(), planes) {
                        Some(source) => Some(Merged {
                            subject: into.subjects.number_of(text)?,
                            source,
                        }),
                        None => None,
                    });
                }
                let identity = old.senders.rows[sender as usize].0.identity;
                let own = |known: &&Merged| {
                    let name = old.names.get(identity);
                    name.is_none_or(|name| name == known.source)
                };
                let target = match merged[*address as usize].as_ref().filter(own) {
                    Some(known) => known.subject,
                    None => into.subjects.number_of(text)?,
                };
                let to = into.row(target, sender);
                into.messages.add_row(to, &bucket.messages, row);
            }
        }
        Ok(ByAddress {
            sums: old.into_numbered()?,
            most,
            unnamed,
        })
    }
}

impl Messages {
    /// Return the subject and the sender of each row.
    fn rows(&self) -> impl Iterator<Item = (&u32, &u32)> {
        self.subjects.iter().zip(&self.senders)
    }

    /// Add a row of others.
    fn add_row(&mut self, to: usize, others: &Self, row: usize) {
        for which in 0..COUNTS.len() {
            let added = others.counts[which].get(row).copied().unwrap_or(0);
            self.count(which, to, added);
        }
        for which in 0..SPANS.len() {
            let span = others.spans[which].get(row).copied().unwrap_or(NO_SPAN);
            if span != NO_SPAN {
                self.extend_span(which, to, Some(span.0));
                self.extend_span(which, to, Some(span.1));
            }
        }
        for which in 0..RATES.len() {
            if let Some(rate) = others.rate(which, row) {
                self.add_rate(which, to, rate);
            }
        }
    }
}

/// Return the source of an address of one of the planes.
fn audited_source(subject: &str, planes: &[String]) -> Option<String> {
    let (plane, source) = match decode(subject).ok()? {
        Address::Request(request) => (request.plane, request.source),
        Address::Reply(reply) => (reply.plane, reply.source),
    };
    let audited = planes.is_empty() || planes.iter().any(|known| known == plane);
    audited.then(|| source.text().into_owned())
}

impl Counted {
    const fn place(&self) -> (usize, u32) {
        (self.bucket, self.subject)
    }
}

/// Return the subjects with the most messages and the given ones, and how many the next one has.
fn most_published(
    buckets: &mut [Bucket],
    most: usize,
    also: &[String],
) -> Result<(StructArray, i64), ArrowError> {
    let mut counted = Vec::new();
    let mut begins = Vec::new();
    for (number, bucket) in buckets.iter().enumerate() {
        let begin = counted.len();
        begins.push(begin);
        for subject in 0..bucket.subjects.count() {
            counted.push(Counted {
                published: 0,
                bytes: 0,
                bucket: number,
                subject: u32::try_from(subject).unwrap_or(NULL),
            });
        }
        let [published, _, _, _, _, _, bytes, ..] = &bucket.messages.counts;
        for (row, (&subject, _)) in bucket.messages.rows().enumerate() {
            if let Some(each) = counted.get_mut(begin + subject as usize) {
                each.published += published.get(row).copied().unwrap_or(0);
                each.bytes += bytes.get(row).copied().unwrap_or(0);
            }
        }
    }
    let mut named: Vec<Counted> = Vec::new();
    let mut unnamed = 0;
    if counted.len() > most {
        for text in also {
            let place = bucket_of(text, buckets.len());
            let known = buckets[place].subjects.count();
            let number = buckets[place].subjects.number_of(Some(text))? as usize;
            if number < known {
                named.push(counted[begins[place] + number].clone());
            }
        }
        counted.select_nth_unstable_by_key(most, |each| Reverse(each.published));
        unnamed = counted[most].published;
        counted.truncate(most);
        let known: HashSet<_, RandomState> = counted.iter().map(Counted::place).collect();
        named.retain(|each| !known.contains(&each.place()));
    }
    counted.append(&mut named);
    let texts = counted
        .iter()
        .map(|each| buckets[each.bucket].subjects.get(each.subject));
    let numbers = |value: fn(&Counted) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(counted.iter().map(value)))
    };
    let columns: [(&str, ArrayRef); 3] = [
        ("subject", Arc::new(texts.collect::<StringArray>())),
        ("published", numbers(|each| each.published)),
        ("bytes", numbers(|each| each.bytes)),
    ];
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|(name, values)| (Field::new(name, values.data_type().clone(), true), values))
        .unzip();
    Ok((StructArray::try_new(fields.into(), arrays, None)?, unnamed))
}

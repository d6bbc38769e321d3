//! `JetStream` in a log: the consumer of a delivery, the subjects of a stream, the ack policy of a
//! consumer and where it delivers, the stream that stored a message, and errors.

use memchr::{memchr, memchr_iter, memmem};
use smallvec::SmallVec;

use super::event::{Event, Prefix, Sink};
use super::text::{number, unquote};
use super::windows::Windows;

/// The bytes of a payload that are read.
const READ: usize = 65_536;
/// Those of an error.
const SHORT: usize = 1_024;
/// The bytes of a message that only says that no client subscribes its subject.
const NO_RESPONDERS: i64 = 16;
const FAILED: &[u8] = br#"_response\",\"error\":{"#;
const FAILED_AT: usize = 9;
const STORED: &[u8] = br#"["{\"stream\":\""#;
const REFUSED: &[u8] = br#"["{\"error\":{\"code\":"#;
const ACK: &[u8] = b"$JS.ACK.";
/// The words of an acknowledgement if a message was not processed, or not yet.
const NOT_PROCESSED: [&[u8]; 3] = [b"-NAK", b"+TERM", b"+WPI"];
const TOLD: &[u8] = br#"["{\"type\":\"io.nats.jetstream.api.v1."#;

/// The content of the payload of a message that the server sent.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// A stream stored a message.
    Stored(Vec<u8>),
    /// The names of streams, each with a pattern of subjects that it stores.
    Streams(Vec<(Vec<u8>, Vec<u8>)>),
    /// Consumers, as `ORDERS.shipper`, each with its ack policy, the subject that it delivers to, and
    /// the patterns of what it delivers.
    Consumers(Vec<[Vec<u8>; 4]>),
    /// An error: the request, the stream (of a message that it did not store), and why.
    Failed(Vec<u8>, Vec<u8>, Vec<u8>),
}

/// Add the rows of an answer of `JetStream`: the stream that stored a message, the subjects of streams,
/// the ack policies of consumers, an error.
pub fn answered(
    position: u64,
    prefix: &Prefix,
    time: Option<i64>,
    body: &[u8],
    sink: &mut impl Sink,
) {
    let base = Event {
        position,
        time,
        prefix: Some(prefix),
        ..Event::default()
    };
    match answer(body) {
        Some(Answer::Stored(queue)) => sink.add(&Event {
            op: b"STORED",
            queue: &queue,
            ..base
        }),
        Some(Answer::Streams(found)) => {
            for (queue, subject) in &found {
                sink.add(&Event {
                    op: b"STREAM",
                    subject,
                    queue,
                    ..base
                });
            }
        }
        Some(Answer::Consumers(found)) => {
            for [queue, subject, reply, sid] in &found {
                sink.add(&Event {
                    op: b"CONSUMER",
                    subject,
                    reply,
                    queue,
                    sid,
                    ..base
                });
            }
        }
        Some(Answer::Failed(sid, subject, queue)) => sink.add(&Event {
            op: b"ERROR",
            subject: &subject,
            queue: &queue,
            sid: &sid,
            ..base
        }),
        None => {}
    }
}

/// Add the row of an acknowledgement, sent in a window, that does not say that a message was
/// processed.
pub fn acknowledged(
    position: u64,
    prefix: &Prefix,
    time: Option<i64>,
    body: &[u8],
    windows: &Windows,
    sink: &mut impl Sink,
) {
    let said = body.get(2..).unwrap_or_default();
    let Some(word) = NOT_PROCESSED.iter().find(|word| said.starts_with(word)) else {
        return;
    };
    let subject = windows.subject_of(prefix.conn_id).unwrap_or_default();
    if let (true, Some(consumer)) = (subject.starts_with(ACK), consumer_of(subject)) {
        let end = memchr_iter(b'.', consumer).nth(1);
        let queue = &consumer[..end.unwrap_or(consumer.len())];
        sink.add(&Event {
            position,
            time,
            prefix: Some(prefix),
            op: b"ACK",
            subject: word,
            queue,
            ..Event::default()
        });
    }
}

/// Return stream and consumer, as `ORDERS.shipper`, of the reply subject of a consumer's delivery;
/// `_R_` of a request that another account imports.
///
/// A message that is delivered again has the first digit of its number of deliveries behind it, as
/// `ORDERS.shipper.3`, so there are at most ten texts for a consumer.
#[must_use]
pub fn consumer_of(reply: &[u8]) -> Option<&[u8]> {
    if reply.starts_with(b"_R_.") {
        return reply.get(..3);
    }
    let rest = reply.strip_prefix(ACK)?;
    let dots: SmallVec<[usize; 12]> = memchr_iter(b'.', rest).collect();
    let (start, end, next) = match dots.len() {
        5 | 6 => (0, dots[1], dots[2]),
        // The domain and a hash of the account come before the stream.
        8.. => (dots[1] + 1, dots[3], dots[4]),
        _ => return None,
    };
    let once = rest.get(end + 1..next)? == b"1";
    rest.get(start..if once { end } else { (end + 2).min(next) })
}

/// Whether a message says nothing but that no client subscribes its subject.
#[must_use]
pub fn lacks_responders(op: &[u8], size: Option<i64>) -> bool {
    op == b"HMSG" && size == Some(NO_RESPONDERS)
}

/// Read the payload of a message that the server sent, from its bracket on, as the log quotes it.
///
/// A payload that was cut tells what is whole in it.
fn answer(body: &[u8]) -> Option<Answer> {
    if let Some(rest) = body.strip_prefix(STORED) {
        let end = memmem::find(rest, br#"\""#)?;
        let plain = end > 0 && !rest[..end].contains(&b'\\');
        return plain.then(|| Answer::Stored(rest[..end].to_vec()));
    }
    if body.starts_with(REFUSED) {
        return failure(b"publish", &unquote(&body[2..body.len().min(SHORT)]));
    }
    if !body.starts_with(TOLD) {
        return None;
    }
    let kind = &body[TOLD.len()..];
    let end = kind
        .iter()
        .position(|byte| !byte.is_ascii_lowercase() && *byte != b'_')?;
    if kind[end - FAILED_AT.min(end)..].starts_with(FAILED) {
        let end = end - FAILED_AT;
        return failure(&kind[..end], &unquote(&kind[end..kind.len().min(SHORT)]));
    }
    let about_consumers = kind.starts_with(b"consumer_");
    if !about_consumers && !kind.starts_with(b"stream_") {
        return None;
    }
    let text = unquote(&body[2..body.len().min(READ)]);
    let mut rest: &[u8] = &text;
    if about_consumers {
        let mut found = Vec::new();
        while let Some(at) = memmem::find(rest, br#""stream_name":"#) {
            rest = &rest[at + 14..];
            let end = memmem::find(rest, br#""stream_name":"#).unwrap_or(rest.len());
            let (one, after) = rest.split_at(end);
            found.extend(policy_of(one));
            rest = after;
        }
        return (!found.is_empty()).then_some(Answer::Consumers(found));
    }
    let mut found = Vec::new();
    while let Some(at) = memmem::find(rest, br#""config":{"name":"#) {
        rest = &rest[at + 17..];
        let end = memmem::find(rest, br#""config":{"#).unwrap_or(rest.len());
        let (config, after) = rest.split_at(end);
        streams_in(config, &mut found);
        rest = after;
    }
    (!found.is_empty()).then_some(Answer::Streams(found))
}

/// Read an error: why, up to what varies, and the stream, which an answer to a publisher names.
fn failure(asked: &[u8], text: &[u8]) -> Option<Answer> {
    let end = memchr(b'}', text).unwrap_or(text.len());
    let at = memmem::find(&text[..end], br#""description":"#)?;
    let (mut why, rest) = string(&text[at + 14..])?;
    why.truncate(memmem::find(&why, b": ").unwrap_or(why.len()));
    let stream = match rest.strip_prefix(br#"},"stream":"#) {
        Some(rest) => string(rest)?.0,
        None if asked == b"publish" => return None,
        None => Vec::new(),
    };
    Some(Answer::Failed(asked.to_vec(), stream, why))
}

/// Add the subjects of the stream whose configuration begins with its name.
fn streams_in(config: &[u8], found: &mut Vec<(Vec<u8>, Vec<u8>)>) -> Option<()> {
    let (name, mut rest) = string(config)?;
    let at = memmem::find(rest, br#""subjects":["#)?;
    rest = &rest[at + 12..];
    while rest.first() != Some(&b']') {
        let (subject, after) = string(rest)?;
        found.push((name.clone(), subject));
        rest = after.strip_prefix(b",").unwrap_or(after);
    }
    Some(())
}

/// Return stream and consumer, the ack policy, the subject that it delivers to, and the patterns of
/// what it delivers, of a consumer that begins with the stream's name.
///
/// A name that a client or the server makes up is `*`: there may be one for each connection.
fn policy_of(one: &[u8]) -> Option<[Vec<u8>; 4]> {
    let (mut stream, rest) = string(one)?;
    let (name, rest) = string(rest.strip_prefix(br#","name":"#)?)?;
    let at = memmem::find(rest, br#""ack_policy":"#)?;
    let (policy, rest) = string(&rest[at + 13..])?;
    stream.push(b'.');
    if is_made_up(&name) {
        stream.push(b'*');
        return Some([stream, policy, Vec::new(), Vec::new()]);
    }
    stream.extend_from_slice(&name);
    let subject = memmem::find(rest, br#""deliver_subject":"#)
        .and_then(|at| string(&rest[at + 18..]))
        .unwrap_or_default();
    Some([stream, policy, subject.0, filters(rest)])
}

/// Return the patterns of what a consumer delivers, with blanks between them; none if it is all.
fn filters(config: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    if let Some(at) = memmem::find(config, br#""filter_subject":"#) {
        found.extend(string(&config[at + 17..]).map(|(text, _)| text));
    }
    if let Some(at) = memmem::find(config, br#""filter_subjects":["#) {
        let mut rest = &config[at + 19..];
        while let Some((text, after)) = string(rest) {
            found.push(text);
            rest = after.strip_prefix(b",").unwrap_or(after);
        }
    }
    found.join(&b' ')
}

/// Whether a consumer has a name that looks made up: a NUID, or a hash of 8 characters.
fn is_made_up(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_alphanumeric)
        && (name.len() == 22 || name.len() == 8 && !name.iter().all(u8::is_ascii_lowercase))
}

/// Read a JSON string of a name or a pattern: of escapes, only those that the server writes.
fn string(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut found = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((found, rest)),
            b'\\' => {
                let code = rest.strip_prefix(b"u00")?.first_chunk::<2>()?;
                found.push(u8::try_from(number(code, 16)?).ok()?);
                rest = &rest[5..];
            }
            _ => found.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumers_of_reply_subjects() {
        let short: &[u8] = b"$JS.ACK.ORDERS.shipper.1.61.1.1795632392910407345.0";
        let long: &[u8] = b"$JS.ACK.hub.ACCHASH.ORDERS.shipper.1.61.1.1795632392910407345.0";
        let token: &[u8] = b"$JS.ACK._.ACCHASH.ORDERS.shipper.1.61.1.1795632392910407345.0.abcd";
        for reply in [short, long, token] {
            assert_eq!(consumer_of(reply), Some(&b"ORDERS.shipper"[..]));
        }
        for reply in [&b"$JS.ACK.ORDERS"[..], b"$JS.ACK.a.b.c.d", b"_INBOX.a", b""] {
            assert_eq!(consumer_of(reply), None);
        }
        for (reply, text) in [
            ("$JS.ACK.ORDERS.shipper.2.61.1.17.0", "ORDERS.shipper.2"),
            (
                "$JS.ACK.hub.ACC.ORDERS.shipper.17.6.1.1.0",
                "ORDERS.shipper.1",
            ),
            ("$JS.ACK.ORDERS.shipper..61.1.17.0", "ORDERS.shipper."),
        ] {
            assert_eq!(consumer_of(reply.as_bytes()), Some(text.as_bytes()));
        }
    }

    #[test]
    fn answers_of_the_server() {
        let stored = br#"["{\"stream\":\"ORDERS\", \"seq\":1}"]"#;
        assert_eq!(answer(stored), Some(Answer::Stored(b"ORDERS".to_vec())));
        let body = br#"["{\"type\":\"io.nats.jetstream.api.v1.stream_create_response\",\"config\":{\"name\":\"A\",\"subjects\":[\"$KV.c.\\u003e\",\"b.*\"],\"retention\":\"limits\""]"#;
        let pairs = [("A", "$KV.c.>"), ("A", "b.*")].map(|(name, text)| (name.into(), text.into()));
        assert_eq!(answer(body), Some(Answer::Streams(pairs.to_vec())));
        for end in 0..body.len() {
            answer(&body[..end]);
        }
        let body = br#"["{\"type\":\"io.nats.jetstream.api.v1.consumer_list_response\",\"consumers\":[{\"stream_name\":\"A\",\"name\":\"b\",\"config\":{\"ack_policy\":\"none\",\"filter_subject\":\"x\",\"deliver_subject\":\"d.b\"}},{\"stream_name\":\"A\",\"name\":\"rzj7wEWp\",\"config\":{\"ack_policy\":\"all\",\"filter_subject\":\"y\"}},{\"stream_name\":\"A\",\"name\":\"c\",\"config\":{\"ack_policy\":\"all\",\"filter_subjects\":[\"y.\\u003e\",\"z\"]}}]"#;
        let rows = [
            ["A.b", "none", "d.b", "x"],
            ["A.*", "all", "", ""],
            ["A.c", "all", "", "y.> z"],
        ];
        let rows = rows.map(|row| row.map(Into::into));
        assert_eq!(answer(body), Some(Answer::Consumers(rows.to_vec())));
        for end in 0..body.len() {
            answer(&body[..end]);
        }
        let refused = br#"["{\"error\":{\"code\":400,\"err_code\":10071,\"description\":\"wrong last sequence: 5\"},\"stream\":\"A\",\"seq\":0}"]"#;
        let unknown = br#"["{\"type\":\"io.nats.jetstream.api.v1.consumer_info_response\",\"error\":{\"code\":404,\"err_code\":10014,\"description\":\"consumer not found\"}}"]"#;
        for (body, asked, stream, why) in [
            (&refused[..], "publish", "A", "wrong last sequence"),
            (unknown, "consumer_info", "", "consumer not found"),
        ] {
            let failed = Answer::Failed(asked.into(), stream.into(), why.into());
            assert_eq!(answer(body), Some(failed));
            for end in 0..body.len() {
                answer(&body[..end]);
            }
        }
        for body in [
            &b"[\"\"]"[..],
            br#"["{\"stream\":\"\"}"]"#,
            br#"["{\"error\":{}"]"#,
        ] {
            assert_eq!(answer(body), None);
        }
    }

    #[test]
    fn a_reply_subject_of_a_consumer_has_its_number_of_words() {
        let words = ["a", "b", "1", "61", "1", "17", "0", "1", "2", "3"];
        for count in 0..=words.len() {
            let reply = format!("$JS.ACK.{}", words[..count].join("."));
            let expected = match count {
                6 | 7 => Some("a.b"),
                9.. => Some("1.61"),
                _ => None,
            };
            let expected = expected.map(str::as_bytes);
            assert_eq!(consumer_of(reply.as_bytes()), expected, "{reply}");
        }
        for (reply, found) in [
            ("_R_.a", Some("_R_")),
            ("_R_a", None),
            ("$JS.ACKa.b.1.1.1.1", None),
        ] {
            assert_eq!(consumer_of(reply.as_bytes()), found.map(str::as_bytes));
        }
    }

    #[test]
    fn only_headers_of_sixteen_bytes_lack_responders() {
        for (op, size, lacks) in [
            (&b"HMSG"[..], Some(16), true),
            (b"HMSG", Some(15), false),
            (b"HMSG", Some(17), false),
            (b"HMSG", None, false),
            (b"MSG", Some(16), false),
        ] {
            assert_eq!(lacks_responders(op, size), lacks, "{size:?}");
        }
    }
}

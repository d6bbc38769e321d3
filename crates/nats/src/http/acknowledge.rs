//! Acknowledgements of requests, composed from the message alone.

use super::read::{RequestMessage, read_request};
use subtrie::microbus::{Address, ReplyParts, absolute_url, decode, encode_reply};

/// Maximum number of characters of an instance id.
const MAX_INSTANCE: usize = 128;

/// A written acknowledgement without its message id: what stands before the id and after it.
///
/// # Examples
///
/// ```
/// let written = subtrie_nats::http::WrittenAck { before: b"Id: ".to_vec(), after: b"\r\n".to_vec() };
/// assert_eq!(written.before, b"Id: ");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenAck {
    /// The bytes before the message id.
    pub before: Vec<u8>,
    /// The bytes after it.
    pub after: Vec<u8>,
}

/// The acknowledgements of one subscription to requests.
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::{Acknowledgements, WrittenAck};
///
/// let written = WrittenAck { before: b"Id: ".to_vec(), after: b"\r\n".to_vec() };
/// let acknowledgements = Acknowledgements {
///     plane: "prod".into(),
///     host: "orders.shop".into(),
///     whole: written.clone(),
///     fragment: written,
/// };
/// let request = b"GET https://orders.shop/order HTTP/1.1\r\nHost: orders.shop\r\n\
///     Microbus-From-Id: id-7f\r\nMicrobus-Msg-Id: m1\r\n\r\n";
/// let mut out = Vec::new();
/// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order";
/// assert!(acknowledgements.write(subject, request, |_| false, &mut out));
/// assert_eq!(out, b"PUB prod.reply._.orders_shop.web_shop.id-7f 8\r\nId: m1\r\n\r\n");
/// ```
#[derive(Debug, Clone)]
pub struct Acknowledgements {
    /// The plane of the service.
    pub plane: String,
    /// The host of the service.
    pub host: String,
    /// The acknowledgement of a whole message.
    pub whole: WrittenAck,
    /// The acknowledgement of a fragment.
    pub fragment: WrittenAck,
}

impl Acknowledgements {
    /// Append the `PUB` that acknowledges a request, and return whether it was done.
    ///
    /// It is not done for a request that is not plain, has no verified source or no return address,
    /// or comes from a source that `excluded` names; the caller then decides. The body is not read.
    ///
    /// Cost: one pass over the head and the subject, a few allocations.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::http::{Acknowledgements, WrittenAck};
    ///
    /// let written = WrittenAck { before: Vec::new(), after: Vec::new() };
    /// let acknowledgements = Acknowledgements {
    ///     plane: "prod".into(),
    ///     host: "orders.shop".into(),
    ///     whole: written.clone(),
    ///     fragment: written,
    /// };
    /// let mut out = Vec::new();
    /// assert!(!acknowledgements.write("orders", b"no request", |_| false, &mut out));
    /// assert!(out.is_empty());
    /// ```
    pub fn write(
        &self,
        subject: &str,
        payload: &[u8],
        excluded: impl FnOnce(&str) -> bool,
        out: &mut Vec<u8>,
    ) -> bool {
        self.compose(subject, payload, excluded, out).is_some()
    }

    fn compose(
        &self,
        subject: &str,
        payload: &[u8],
        excluded: impl FnOnce(&str) -> bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let Ok(Address::Request(address)) = decode(subject) else {
            return None;
        };
        let source = address.source.text();
        if address.plane != self.plane || excluded(&source) {
            return None;
        }
        let request = read_request(payload)?;
        absolute_url(request.target).ok()?;
        let instance = header(&request, "Microbus-From-Id")?;
        let message_id = header(&request, "Microbus-Msg-Id")?;
        if message_id.is_empty() || instance.chars().count() > MAX_INSTANCE {
            return None;
        }
        let reply = encode_reply(&ReplyParts {
            plane: &self.plane,
            source: &self.host,
            host: &source,
            id: instance,
        })
        .ok()?;
        let is_fragment = match header(&request, "Microbus-Fragment") {
            Some(text) => count_of(text).is_some_and(|count| count > 1),
            None => false,
        };
        let written = if is_fragment {
            &self.fragment
        } else {
            &self.whole
        };
        let size = written.before.len() + message_id.len() + written.after.len();
        out.extend_from_slice(format!("PUB {reply} {size}\r\n").as_bytes());
        out.extend_from_slice(&written.before);
        out.extend_from_slice(message_id.as_bytes());
        out.extend_from_slice(&written.after);
        out.extend_from_slice(b"\r\n");
        Some(())
    }
}

/// The first value of a header; `None` if it is absent or not UTF-8.
fn header<'a>(request: &RequestMessage<'a>, name: &str) -> Option<&'a str> {
    let found = request
        .headers
        .iter()
        .find(|header| header.name.len() == name.len() && header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok()
}

/// The number of fragments in a text like `2/3`; `None` if it cannot be read.
fn count_of(text: &str) -> Option<i64> {
    let (index, count) = text.split_once('/')?;
    number(index)?;
    number(count)
}

/// A whole number of at most 18 digits, with or without a sign.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain =
        (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

//! URLs as connectors write them: with the port, and valid in the line of a request.
//!
//! The caller's spelling is kept where it is valid, as in Go. [`request_target`] adds what the URL
//! means: the decoded path and the subject.

use super::route::target_and_subject;
use crate::error::{Error, ErrorKind};

/// A URL with its port: `https://orders.shop:443/order?x=1`.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::absolute_url;
///
/// let url = absolute_url("//orders.shop/order?x=1")?;
/// assert_eq!(url.text, "https://orders.shop:443/order?x=1");
/// assert_eq!((url.host(), url.port(), url.path(), url.query()), ("orders.shop", "443", "/order", "x=1"));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AbsoluteUrl {
    /// The URL.
    pub text: String,
    /// Offsets in the text: ends of scheme, host and port, and of the path.
    scheme: usize,
    host: usize,
    port: usize,
    path: usize,
}

impl AbsoluteUrl {
    /// Return the scheme, in lower case.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::absolute_url;
    ///
    /// assert_eq!(absolute_url("HTTP://a.b")?.scheme(), "http");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.part(0, self.scheme)
    }

    /// Return the host as it was written.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::absolute_url;
    ///
    /// assert_eq!(absolute_url("//a.b/c")?.host(), "a.b");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub fn host(&self) -> &str {
        self.part(self.scheme + "://".len(), self.host)
    }

    /// Return the digits of the port.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::absolute_url;
    ///
    /// assert_eq!(absolute_url("//a.b/c")?.port(), "443");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub fn port(&self) -> &str {
        self.part(self.host + 1, self.port)
    }

    /// Return the path, percent-encoded.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::absolute_url;
    ///
    /// assert_eq!(absolute_url("//a.b/c d")?.path(), "/c%20d");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &str {
        self.part(self.port, self.path)
    }

    /// Return the query without its question mark.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::absolute_url;
    ///
    /// assert_eq!(absolute_url("//a.b?c")?.query(), "c");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub fn query(&self) -> &str {
        self.part(self.path + 1, self.text.len())
    }

    fn part(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// A URL with what it means for a sender.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::request_target;
///
/// let target = request_target("prod", "web.shop", "GET", "https://orders.shop/order%20by/1?x=1")?;
/// assert_eq!(target.url.text, "https://orders.shop:443/order%20by/1?x=1");
/// assert_eq!(target.path, "/order by/1");
/// assert_eq!(target.subject, "prod.safe.443.web_shop.orders_shop._.GET.order%20by.1");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestTarget {
    /// The URL with its port.
    pub url: AbsoluteUrl,
    /// The path, percent-decoded.
    pub path: String,
    /// The subject of the request.
    pub subject: String,
}

impl RequestTarget {
    /// The target of a URL with its port whose path has no escapes; each part stands in its text.
    pub(super) fn plain(
        text: String,
        scheme: &str,
        host: &str,
        port: &str,
        path: &str,
        subject: String,
    ) -> Self {
        let host = scheme.len() + "://".len() + host.len();
        let port = host + 1 + port.len();
        Self {
            url: AbsoluteUrl {
                text,
                scheme: scheme.len(),
                host,
                port,
                path: port + path.len(),
            },
            path: path.to_owned(),
            subject,
        }
    }
}

/// Parse a URL and encode the subject of a request to it.
///
/// # Errors
///
/// Those of [`absolute_url`], then those of [`request_from_url`](super::request_from_url) for the URL
/// with its port.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::request_target;
///
/// let error = request_target("prod", "web.shop", "GET", "/order").unwrap_err();
/// assert_eq!((error.reason(), error.field), ("url-host", Some("url")));
/// ```
pub fn request_target(
    plane: &str,
    source: &str,
    method: &str,
    url: &str,
) -> Result<RequestTarget, Error> {
    let url = absolute_url(url)?;
    let (target, subject) = target_and_subject(plane, source, method, &url.text)?;
    Ok(RequestTarget {
        url,
        path: target.path,
        subject,
    })
}

/// Parse a URL and add its port: 80 for `http`, else 443. User and fragment are dropped.
///
/// Which hosts and ports are valid is decided when the subject is encoded.
///
/// # Errors
///
/// `url-host` if the text is not a URL with a host.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::absolute_url;
///
/// assert_eq!(absolute_url("HTTP://a.b")?.text, "http://a.b:80/");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn absolute_url(url: &str) -> Result<AbsoluteUrl, Error> {
    let no_host = || Error::new(ErrorKind::UrlHost).in_field("url");
    let (scheme, rest) = cut_scheme(url).ok_or_else(no_host)?;
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = authority
        .rsplit_once('@')
        .map_or(authority, |(_, after)| after);
    let scheme = if scheme.is_empty() { "https" } else { scheme }.to_ascii_lowercase();
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let default = if scheme == "http" { "80" } else { "443" };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host, port),
        _ => (authority, default),
    };
    if host.is_empty() {
        return Err(no_host());
    }
    let mut text = String::with_capacity(url.len() + "https://:443/".len());
    text.push_str(&scheme);
    text.push_str("://");
    text.push_str(host);
    let host = text.len();
    text.push(':');
    text.push_str(port);
    let port = text.len();
    push_path(&mut text, path);
    let path = text.len();
    if let Some(query) = query {
        text.push('?');
        push_query(&mut text, query);
    }
    Ok(AbsoluteUrl {
        text,
        scheme: scheme.len(),
        host,
        port,
        path,
    })
}

/// Split off the scheme and `//`; the scheme is empty if there is none.
fn cut_scheme(url: &str) -> Option<(&str, &str)> {
    if let Some(rest) = url.strip_prefix("//") {
        return Some(("", rest));
    }
    let (scheme, rest) = url.split_once("://")?;
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
    (scheme.starts_with(|char: char| char.is_ascii_alphabetic()) && scheme.bytes().all(is_valid))
        .then_some((scheme, rest))
}

/// Append a path unchanged if each byte may stand there, else escaped again.
fn push_path(out: &mut String, path: &str) {
    if path.is_empty() {
        return out.push('/');
    }
    if path
        .bytes()
        .all(|byte| is_kept(byte) || b"%!'()*[]".contains(&byte))
    {
        return out.push_str(path);
    }
    let bytes = path.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%')
            .then(|| super::url::escaped_at(bytes, at))
            .flatten();
        let byte = escaped.unwrap_or(byte);
        if is_kept(byte) {
            out.push(char::from(byte));
        } else {
            push_escape(out, byte);
        }
        at += if escaped.is_some() { 3 } else { 1 };
    }
}

/// Whether Go leaves the byte of a path unescaped.
const fn is_kept(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'_'
                | b'.'
                | b'~'
                | b'$'
                | b'&'
                | b'+'
                | b','
                | b'/'
                | b':'
                | b';'
                | b'='
                | b'@'
        )
}

/// Append a query; only what is not valid in the line of a request is escaped.
fn push_query(out: &mut String, query: &str) {
    let is_valid = |byte: u8| byte > b' ' && byte != 0x7f;
    if query.bytes().all(is_valid) {
        return out.push_str(query);
    }
    for char in query.chars() {
        match u8::try_from(char) {
            Ok(byte) if byte.is_ascii() && !is_valid(byte) => push_escape(out, byte),
            _ => out.push(char),
        }
    }
}

pub(super) fn push_escape(out: &mut String, byte: u8) {
    out.push('%');
    for digit in [byte >> 4, byte & 15] {
        let digit = char::from_digit(digit.into(), 16).unwrap_or('0');
        out.push(digit.to_ascii_uppercase());
    }
}

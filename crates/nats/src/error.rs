//! The reasons of errors of this crate; those of subjects are in `subtrie::error`.

subtrie::error_kinds! {
    /// The reason of an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::ErrorKind;
    ///
    /// assert_eq!(ErrorKind::BadSize.code(), "bad size");
    /// assert_eq!(ErrorKind::BadSize.to_string(), "a size is written in one to nine digits");
    /// ```
    // The NATS protocols
    UnknownOp = "unknown op": "this connection has no operation of this name",
    NoDelimiter = "no delimiter":
        "a space must separate the name of an operation from its arguments",
    ArgCount = "arg count": "the line has too few or too many arguments",
    BadSize = "bad size": "a size is written in one to nine digits",
    BadHeaderSize = "bad header size": "a header size is written in one to nine digits",
    BadSid = "bad sid": "the subscription id must be a number of 64 bits here",
    HeaderLargerThanTotal = "header larger than total":
        "the header size is larger than the total size",
    BadReplyIndicator = "bad reply indicator":
        "the queue names of a routed message must follow '+' or '|'",
    PayloadTerminator = "payload terminator": "CR LF does not follow the payload",
    BadJson = "bad json": "the options are not one JSON object with unique names",
    MaxControlLine = "max control line": "the line is longer than max_control_line",
    MaxPayload = "max payload": "the payload is larger than max_payload",
    LineEnd = "line end": "a line must end with CR LF, and neither may appear alone",
    BadSubject = "bad subject": "not a valid subject in the strict dialect",
    // Sets of permissions
    TooMuchWork = "too-much-work": "the comparison would take too many steps",
}

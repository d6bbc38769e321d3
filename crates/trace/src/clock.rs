//! Times of a log as microseconds since 1970. The date is computed once for each second of the log.

/// The length of a time without its fraction.
pub const SECOND: usize = 19;
/// The length of a time with a fraction of six digits.
pub const WITH_FRACTION: usize = SECOND + 7;

/// The last second that was read.
#[derive(Debug, Default)]
pub struct Clock {
    text: [u8; SECOND],
    micros: i64,
}

impl Clock {
    /// Read a time of the full form, `YYYY/MM/DD HH:MM:SS.ffffff`: `None` if the text has another
    /// form, else the time, `None` if there is no such time.
    #[allow(clippy::option_option)] // another form, no such time, a time
    pub fn read_full(&mut self, text: &[u8; WITH_FRACTION]) -> Option<Option<i64>> {
        const FORM: &[u8; SECOND] = b"0000/00/00 00:00:00";
        let (second, fraction) = text.split_at(SECOND);
        // A second that was read has the form.
        let known = second == self.text
            || FORM.iter().zip(second).all(|(form, byte)| match form {
                b'0' => byte.is_ascii_digit(),
                other => other == byte,
            });
        let valid = known && fraction[0] == b'.' && fraction[1..].iter().all(u8::is_ascii_digit);
        valid.then(|| self.read(text))
    }

    /// Read a time as printed, `YYYY/MM/DD HH:MM:SS[.ffffff]`; `None` if there is no such time.
    pub fn read(&mut self, text: &[u8]) -> Option<i64> {
        let second = text.get(..SECOND)?;
        if second != self.text {
            self.micros = micros_of(second)?;
            self.text.copy_from_slice(second);
        }
        let mut fraction = 0;
        let digits = text.get(SECOND + 1..).unwrap_or_default();
        for at in 0..6 {
            fraction = fraction * 10 + digits.get(at).map_or(0, |digit| i64::from(digit & 15));
        }
        Some(self.micros + fraction)
    }
}

fn micros_of(text: &[u8]) -> Option<i64> {
    let number = |from: usize, to: usize| {
        text[from..to]
            .iter()
            .fold(0i64, |sum, digit| sum * 10 + i64::from(digit & 15))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days_of_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    let valid = year > 0 && (1..=days_of_month).contains(&day);
    if !valid || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Days since 1970 of a proleptic Gregorian date, with years that begin in March.
    let shifted = if month > 2 { year } else { year - 1 };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + of_year - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_microseconds_since_1970() {
        let mut clock = Clock::default();
        assert_eq!(clock.read(b"1970/01/01 00:00:00.000001"), Some(1));
        assert_eq!(
            clock.read(b"2026/11/21 08:00:00"),
            Some(1_795_248_000_000_000)
        );
        assert_eq!(
            clock.read(b"2024/02/29 23:59:59.5"),
            Some(1_709_251_199_500_000)
        );
        assert_eq!(
            clock.read(b"2000/02/29 00:00:00.1234567"),
            Some(951_782_400_123_456)
        );
        assert_eq!(
            clock.read(b"2000/03/01 00:00:00.1"),
            Some(951_868_800_100_000)
        );
        for text in [
            "2023/02/29 00:00:00",
            "2100/02/29 00:00:00",
            "1900/02/29 00:00:00",
            "0000/01/01 00:00:00",
            "2026/00/01 00:00:00",
            "2026/01/00 00:00:00",
            "2026/11/31 00:00:00",
            "2026/11/21 08:60:00",
            "2026/11/21 08:00:60",
            "2026/11/21",
            "2026/13/01 00:00:00",
            "2026/11/21 24:00:00",
        ] {
            assert_eq!(clock.read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_full_time_has_one_form() {
        let mut clock = Clock::default();
        let text = b"1970/01/01 00:00:01.000002";
        assert_eq!(clock.read_full(text), Some(Some(1_000_002)));
        for at in 0..WITH_FRACTION {
            for byte in *b"/: .x" {
                let mut other = *text;
                if std::mem::replace(&mut other[at], byte) != byte {
                    assert_eq!(clock.read_full(&other), None, "{at}");
                }
            }
        }
        assert_eq!(clock.read_full(b"1970/13/01 00:00:01.000002"), Some(None));
    }
}

//! Server-sent events, read piece by piece and never more than a bound at a time.

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its data lines, joined.
    pub(super) data: String,
    /// Its id, where it has one.
    pub(super) id: Option<String>,
    /// How long to wait before asking again, in milliseconds.
    pub(super) retry_ms: Option<u64>,
}

/// The part of a stream that is not a whole event yet.
pub(super) struct Events {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_cr: bool,
    most: usize,
}

/// An event is larger than the bound, or not text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unfit;

impl Events {
    /// A stream whose events have at most this many bytes.
    pub(super) fn at_most(most: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            after_cr: false,
            most,
        }
    }

    /// Takes the next piece and gives the events that it completes.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<Vec<Event>, Unfit> {
        let mut whole = Vec::new();
        for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match part.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                _ => (part, None),
            };
            // The second half of a CR LF ends nothing.
            let second_half = self.after_cr && text.is_empty() && end == Some(b'\n') && self.line.is_empty();
            self.after_cr = end == Some(b'\r');
            if second_half {
                continue;
            }
            if self.line.len() + text.len() + self.event.data.len() > self.most {
                return Err(Unfit);
            }
            self.line.extend_from_slice(text);
            if end.is_some() {
                whole.extend(self.end_line()?);
            }
        }
        Ok(whole)
    }

    fn end_line(&mut self) -> Result<Option<Event>, Unfit> {
        let line = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&line).map_err(|_| Unfit)?;
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let had_data = std::mem::take(&mut self.has_data);
            return Ok((had_data || event.id.is_some() || event.retry_ms.is_some()).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry_ms = value.parse().ok(),
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(events: &[Event]) -> Vec<&str> {
        events.iter().map(|event| event.data.as_str()).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let text = "\u{feff}: comment\n\nevent: message\nid: 7\ndata: a\ndata:b\n\nretry: 50\n\ndata\n\n: x\n\ndata: c\r\n\r\ndata: d\r\rdata: cut";
        let events = Events::at_most(100).take(text.as_bytes()).unwrap();
        assert_eq!(data(&events), ["a\nb", "", "", "c", "d"]);
        assert_eq!(events.first().unwrap().id.as_deref(), Some("7"));
        assert_eq!(events.get(1).unwrap().retry_ms, Some(50));
    }

    #[test]
    fn a_flood_is_refused() {
        let mut events = Events::at_most(10);
        assert_eq!(events.take(b"data: 12345678901"), Err(Unfit));
        let mut events = Events::at_most(30);
        let fed: Result<Vec<_>, _> = (0..20).map(|_| events.take(b"data: 123456\n")).collect();
        assert_eq!(fed.map(|_| ()), Err(Unfit));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "(data: [a-c\u{e9}]{0,5}|id: [0-9]|\r\n|\n|\r|: x){0,30}", at in 0usize..200) {
            let whole = Events::at_most(1_000).take(text.as_bytes());
            let mut cut = Events::at_most(1_000);
            let (first, second) = text.as_bytes().split_at(at.min(text.len()));
            let mut events = cut.take(first).unwrap();
            events.extend(cut.take(second).unwrap());
            prop_assert_eq!(whole.unwrap(), events);
        }
    }
}

//! Reading counters back from the text that Prometheus reads: the one form in which every family can be listed.

use std::collections::BTreeMap;

/// One line: its labels and its value.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample<'a> {
    labels: BTreeMap<&'a str, &'a str>,
    pub(crate) value: f64,
}

impl<'a> Sample<'a> {
    /// A label's value.
    pub(crate) fn label(&self, name: &str) -> Option<&'a str> {
        self.labels.get(name).copied()
    }
}

/// Every sample of that name. Labels of this program hold no quotes, so none are unescaped.
pub(crate) fn samples<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = Sample<'a>> {
    text.lines().filter_map(move |line| {
        let rest = line.strip_prefix(name)?;
        let (labels, value) = match rest.strip_prefix('{') {
            Some(labelled) => labelled.rsplit_once("} ")?,
            None => ("", rest.strip_prefix(' ')?),
        };
        Some(Sample {
            labels: read_labels(labels),
            value: value.split(' ').next()?.parse().ok()?,
        })
    })
}

fn read_labels(text: &str) -> BTreeMap<&str, &str> {
    let pairs = text.split("\",").filter_map(|pair| pair.split_once("=\""));
    pairs
        .map(|(name, value)| (name, value.trim_end_matches('"')))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back() {
        let text = "# TYPE a counter\na_total{x=\"1\",route=\"/v1/{id}/b\"} 7\na_total 3\na_total_other 9\nb{x=\"2\"} no\n";
        let read: Vec<_> = samples(text, "a_total").collect();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].label("route"), Some("/v1/{id}/b"));
        assert_eq!((read[0].label("x"), read[0].value), (Some("1"), 7.0));
        assert_eq!((read[1].label("x"), read[1].value), (None, 3.0));
        assert_eq!(samples(text, "b").count(), 0);
    }
}

//! Network addresses. A public address can be a person's; a private one says how the organisation is built.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::context::ContextWords;
use super::rule::{PiiRule, Sink};

pub(crate) static PUBLIC: PiiRule = PiiRule::personal(
    "ip-address",
    "a public IP address",
    "four octets, or the groups of an IPv6 address",
);
pub(crate) static PRIVATE: PiiRule = PiiRule::internal(
    "private-ip-address",
    "an IP address of a private network",
    "four octets or the groups of an IPv6 address, in a range that is not routed",
);
pub(crate) static MAC: PiiRule = PiiRule::personal(
    "mac-address",
    "a hardware address",
    "six pairs of hexadecimal digits, not all the same",
);

const VERSION_WORDS: ContextWords = ContextWords::new(&[
    "version", "ver.", "ver ", "release", "v.", "section", "chapter", "build",
]);
const MAX_V6: usize = 45;

/// Decides about a dotted quad whose first digit stands at a place.
pub(crate) fn check_v4(text: &[u8], start: usize, sink: &mut Sink<'_>) {
    let Some(end) = quad_end(text, start) else { return };
    let before = start
        .checked_sub(1)
        .and_then(|at| text.get(at))
        .copied()
        .unwrap_or(b' ');
    if before.is_ascii_alphanumeric()
        || matches!(before, b'.' | b'_')
        || before == b':' && is_colon_run(text, start)
    {
        return;
    }
    let Some(address) = parse::<Ipv4Addr>(text, start..end) else {
        return;
    };
    let small = address.octets().iter().all(|octet| *octet < 20);
    let sure = if small && VERSION_WORDS.before(text, start, 16) {
        20
    } else {
        92
    };
    push(IpAddr::V4(address), start..end, sure, sink);
}

/// Decides about the run of hexadecimal digits and colons around a place.
pub(crate) fn check_colons(text: &[u8], at: usize, sink: &mut Sink<'_>) {
    let is_part = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':';
    let floor = at.saturating_sub(MAX_V6);
    let head = text
        .get(floor..at)
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(|byte| is_part(byte))
        .count();
    let start = at - head;
    let run = text
        .get(start..)
        .unwrap_or_default()
        .iter()
        .take(MAX_V6 + 1)
        .take_while(|byte| is_part(byte))
        .count();
    let end = start + run;
    let before = start
        .checked_sub(1)
        .and_then(|at| text.get(at))
        .copied()
        .unwrap_or(b' ');
    if !(2..=MAX_V6).contains(&run) || is_word(before) || before == b'.' {
        return;
    }
    if let Some(end) = mac_end(text, start, b':') {
        sink.push(&MAC, start..end, 95);
        return;
    }
    check_v6(text, start, end, sink);
}

fn check_v6(text: &[u8], start: usize, colons_end: usize, sink: &mut Sink<'_>) {
    let colons = text
        .get(start..colons_end)
        .unwrap_or_default()
        .iter()
        .filter(|byte| **byte == b':')
        .count();
    let shortened = text
        .get(start..colons_end)
        .unwrap_or_default()
        .windows(2)
        .any(|pair| pair == b"::");
    if colons < 2 || (!shortened && !(6..=7).contains(&colons)) {
        return;
    }
    // The last group may be a dotted quad, whose first octet the run has swallowed.
    let last = text
        .get(start..colons_end)
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(|byte| **byte != b':')
        .count();
    let end = quad_end(text, colons_end - last).unwrap_or(colons_end);
    let after = text.get(end).copied().unwrap_or(b' ');
    if is_word(after) || (after == b'.' && text.get(end + 1).is_some_and(u8::is_ascii_digit)) {
        return;
    }
    // A colon after the address is the sentence's.
    let trimmed = if text.get(end - 1) == Some(&b':') && text.get(end.saturating_sub(2)) != Some(&b':') {
        end - 1
    } else {
        end
    };
    let Some(address) = parse::<Ipv6Addr>(text, start..trimmed) else {
        return;
    };
    let mut end = trimmed;
    if text.get(end) == Some(&b'%') {
        let zone = text
            .get(end + 1..)
            .unwrap_or_default()
            .iter()
            .take(16)
            .take_while(|byte| byte.is_ascii_alphanumeric());
        let zone = zone.count();
        end += if zone > 0 { zone + 1 } else { 0 };
    }
    let lettered = !text
        .get(start..end)
        .unwrap_or_default()
        .iter()
        .any(u8::is_ascii_digit);
    let sure = if lettered { 30 } else { 95 };
    push(IpAddr::V6(address), start..end, sure, sink);
}

/// Decides about a hardware address written with dashes or dots, whose first digit's word starts at a place.
pub(crate) fn check_dashed_mac(text: &[u8], start: usize, sink: &mut Sink<'_>) {
    if text.get(start + 2) != Some(&b'-') && text.get(start + 4) != Some(&b'.') {
        return;
    }
    let before = start
        .checked_sub(1)
        .and_then(|at| text.get(at))
        .copied()
        .unwrap_or(b' ');
    if is_word(before) || matches!(before, b'-' | b'.') {
        return;
    }
    if let Some(end) = mac_end(text, start, b'-').or_else(|| cisco_end(text, start)) {
        sink.push(&MAC, start..end, 90);
    }
}

fn mac_end(text: &[u8], start: usize, separator: u8) -> Option<usize> {
    let written = text.get(start..start + 17)?;
    if written.get(5) != Some(&separator) {
        return None;
    }
    let shaped = written.iter().enumerate().all(|(index, byte)| {
        if index % 3 == 2 {
            *byte == separator
        } else {
            byte.is_ascii_hexdigit()
        }
    });
    let after = text.get(start + 17).copied().unwrap_or(b' ');
    let goes_on =
        is_word(after) || (after == separator && text.get(start + 18).is_some_and(u8::is_ascii_hexdigit));
    let trivial = written
        .iter()
        .filter(|byte| byte.is_ascii_hexdigit())
        .all(|byte| Some(byte) == written.first());
    (shaped && !goes_on && !trivial).then_some(start + 17)
}

fn cisco_end(text: &[u8], start: usize) -> Option<usize> {
    let written = text.get(start..start + 14)?;
    let shaped = written.iter().enumerate().all(|(index, byte)| {
        if index % 5 == 4 {
            *byte == b'.'
        } else {
            byte.is_ascii_hexdigit()
        }
    });
    let lettered = written.iter().any(u8::is_ascii_alphabetic);
    let after = text.get(start + 14).copied().unwrap_or(b' ');
    (shaped && lettered && !is_word(after)).then_some(start + 14)
}

/// The end of `d.d.d.d`, with nothing after it that would make it something longer.
fn quad_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    for octet in 0..4 {
        let digits = text
            .get(at..)?
            .iter()
            .take(4)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if !(1..=3).contains(&digits) {
            return None;
        }
        at += digits;
        if octet < 3 {
            if text.get(at) != Some(&b'.') {
                return None;
            }
            at += 1;
        }
    }
    let after = text.get(at).copied().unwrap_or(b' ');
    let longer = after == b'.' && text.get(at + 1).is_some_and(u8::is_ascii_digit);
    (!is_word(after) && !longer).then_some(at)
}

fn is_colon_run(text: &[u8], start: usize) -> bool {
    let before = text.get(start.saturating_sub(6)..start).unwrap_or_default();
    before.windows(2).any(|pair| pair == b"::") || before.iter().filter(|byte| **byte == b':').count() > 1
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn parse<A: std::str::FromStr>(text: &[u8], span: Range<usize>) -> Option<A> {
    std::str::from_utf8(text.get(span)?).ok()?.parse().ok()
}

fn push(address: IpAddr, span: Range<usize>, sure: u8, sink: &mut Sink<'_>) {
    let address = address.to_canonical();
    // An address that means "here" or "anywhere" names nothing.
    if address.is_loopback() || address.is_unspecified() {
        sink.push(&PRIVATE, span, sure.min(30));
    } else if is_private(address) {
        sink.push(&PRIVATE, span, sure);
    } else {
        sink.push(&PUBLIC, span, sure);
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private() || v4.is_link_local() || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn addresses_of_both_versions() {
        check("from 41.250.98.149.", &[("ip-address", "41.250.98.149")]);
        check(
            "10.1.2.3 and 192.168.0.1/24",
            &[
                ("private-ip-address", "10.1.2.3"),
                ("private-ip-address", "192.168.0.1"),
            ],
        );
        check(
            "my ip: 684D:1111:222:3333:4444:5555:6:77",
            &[("ip-address", "684D:1111:222:3333:4444:5555:6:77")],
        );
        check("[2001:db8::1]:8080", &[("ip-address", "2001:db8::1")]);
        check("fe80::1%eth0", &[("private-ip-address", "fe80::1%eth0")]);
        check("::ffff:8.8.4.4 x", &[("ip-address", "::ffff:8.8.4.4")]);
        check("2001:db8::256.1.1.1", &[]);
        check(
            "1.2.3, 1.2.3.4.5, 256.1.1.1, v1.2.3.4, 127.0.0.1, version 1.2.3.4",
            &[],
        );
        check("std::string 12:30:45 a::b", &[]);
    }

    #[test]
    fn hardware_addresses() {
        check("9f:4f:39:9a:68:d5", &[("mac-address", "9f:4f:39:9a:68:d5")]);
        check("00-1B-44-11-3A-B7", &[("mac-address", "00-1B-44-11-3A-B7")]);
        check("001b.4411.3ab7", &[("mac-address", "001b.4411.3ab7")]);
        check("ff:ff:ff:ff:ff:ff 9f:4f:39:9a:68:d5:aa", &[]);
    }
}

//! Which addresses are the public internet, and which are somebody's inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is anything but the public internet: this machine, its link, a private network, a carrier's
/// network, a group, a wrapping of an IPv4 address in an IPv6 one, or a range that is set aside. Metadata services of
/// clouds (169.254.169.254, fd00:ec2::254) are among them.
#[must_use]
pub fn is_reserved(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_reserved_v4(address),
        IpAddr::V6(address) => is_reserved_v6(address),
    }
}

const fn is_reserved_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

/// Only 2000::/3 is given out for the internet, and within it some ranges are set aside or carry IPv4 inside.
const fn is_reserved_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = first & 0xe000 == 0x2000;
    let is_special = matches!(
        (first, second),
        (0x2001, 0..=0x1ff | 0xdb8) | (0x2002, _) | (0x3fff, 0..=0xfff)
    );
    !is_global || is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inside_is_told_from_the_internet() {
        let reserved = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        for text in reserved {
            assert!(is_reserved(text.parse().unwrap()), "{text}");
        }
        let public = [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860:4860::8888",
        ];
        for text in public {
            assert!(!is_reserved(text.parse().unwrap()), "{text}");
        }
    }
}

//! What goes wrong, one thing after the other.

use std::time::Duration;

use super::proxy::Weather;
use super::stand::Stand;

/// How long each trouble lasts, and how long everything is well after it. Some of it outlasts the gateways' patience.
const TROUBLE: Duration = Duration::from_millis(1_500);
const PEACE: Duration = Duration::from_millis(700);

/// Once through all of it.
pub(crate) fn make(stand: &Stand) {
    for (gateway, weather) in [(0, Weather::Cut), (1, Weather::Silent), (2, Weather::Slow)] {
        stand.proxies[gateway].set(weather);
        std::thread::sleep(TROUBLE);
        stand.proxies[gateway].set(Weather::Fair);
        std::thread::sleep(PEACE);
    }
    stand.pause_server(TROUBLE);
    std::thread::sleep(PEACE);
    stand.gateways[1].signal("-STOP");
    std::thread::sleep(TROUBLE);
    stand.gateways[1].signal("-CONT");
    std::thread::sleep(PEACE);
    stand.kill_server();
    std::thread::sleep(PEACE);
    for proxy in &stand.proxies {
        proxy.set(Weather::Cut);
    }
    std::thread::sleep(PEACE);
    for proxy in &stand.proxies {
        proxy.set(Weather::Fair);
    }
    std::thread::sleep(PEACE);
    stand.kill_server();
    std::thread::sleep(PEACE);
}

//! The binary.
mod config;
fn main() {
    let _ = config::check(
        config::EXAMPLE,
        std::path::Path::new("."),
        &config::Overrides::default(),
    );
}

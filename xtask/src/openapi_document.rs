//! An OpenAPI document of somebody else's that the tests of the connectors make tools of, in target/openapi-test.

use crate::packages::{Place, npm};

const NODE: [&str; 1] = ["@scalar/galaxy@0.6.12"];

/// Installs it where it is missing. Without node that is an error only where CI=true.
pub(crate) fn install() -> Result<(), String> {
    let place = Place::below_target(
        "openapi-test",
        "the test with a public OpenAPI document",
        NODE.join(" "),
    );
    place.fill(|place| npm(place, &NODE))
}

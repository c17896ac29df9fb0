//! The control list with parts of it left out, to see what each part does.

use toml::{Table, Value};

/// One row of the comparison.
pub(super) struct Setting {
    pub(super) name: &'static str,
    /// Whether labels and ceilings decide.
    ratchet: bool,
    /// Whether the user's calls are put into a safe order first.
    pub(super) reorders: bool,
    /// Whether results are split by field and sealed.
    fields: bool,
    /// Whether content is scanned for orders.
    scan: bool,
    /// Whether guarded arguments must be believed.
    origins: bool,
}

impl Setting {
    /// Every setting that is compared.
    pub(super) const ALL: [Self; 7] = [
        Self::new("(a) ratchet only", "r"),
        Self::new("(b) and safe reordering", "rb"),
        Self::new("(c) and field classes and seals", "rbf"),
        Self::new("(d) and injection scan and argument provenance", "rbfso"),
        Self::new("(d) without the injection scan", "rbfo"),
        Self::new("injection scan alone", "s"),
        Self::new("argument provenance alone", "o"),
    ];

    const fn new(name: &'static str, parts: &str) -> Self {
        Self {
            name,
            ratchet: has(parts, b'r'),
            reorders: has(parts, b'b'),
            fields: has(parts, b'f'),
            scan: has(parts, b's'),
            origins: has(parts, b'o'),
        }
    }

    /// The control list as this setting has it.
    pub(super) fn config(&self, whole: &str) -> Result<String, String> {
        let mut config: Table = toml::from_str(whole).map_err(|error| error.to_string())?;
        let tools = config.get_mut("tools").and_then(Value::as_table_mut);
        for (_, tool) in tools.into_iter().flat_map(Table::iter_mut) {
            if let Value::Table(tool) = tool {
                self.cut(tool);
            }
        }
        if !self.scan {
            let detect = config.entry("detect").or_insert_with(|| Table::new().into());
            if let Value::Table(detect) = detect {
                detect.insert("injection_scan".to_owned(), Value::Boolean(false));
            }
        }
        toml::to_string(&config).map_err(|error| error.to_string())
    }

    fn cut(&self, tool: &mut Table) {
        let mut leave_out = |keys: &[&str]| {
            for key in keys {
                tool.remove(*key);
            }
        };
        if !self.origins {
            leave_out(&["trust", "trusted_fields", "guard", "guard_unknown"]);
        }
        if !self.fields {
            leave_out(&["fields", "seal"]);
        }
        if !self.ratchet {
            leave_out(&["external", "permissions", "sink"]);
            tool.insert("returns".to_owned(), "public".into());
            tool.insert("ceiling".to_owned(), "secret".into());
        }
    }
}

const fn has(parts: &str, part: u8) -> bool {
    let parts = parts.as_bytes();
    let mut at = 0;
    while at < parts.len() {
        #[expect(clippy::indexing_slicing, reason = "at is below the length")]
        if parts[at] == part {
            return true;
        }
        at += 1;
    }
    false
}

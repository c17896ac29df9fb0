//! The provenance log: format, append, read, verify; and the evidence vault.

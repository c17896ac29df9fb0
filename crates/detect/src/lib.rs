//! Bytes in, findings out. Knows nothing of sessions or policy.

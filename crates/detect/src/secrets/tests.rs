use super::*;
#[test]
fn rules_compile() {
    let s = Secrets::embedded().unwrap();
    for r in &s.rules {
        assert!(r.regex().is_some(), "{}", r.id);
    }
}

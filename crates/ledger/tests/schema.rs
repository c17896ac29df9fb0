//! Every type of event, as it is written and exported, fits the published schema.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::collections::BTreeSet;

use house::{at, name, session};
use serde_json::Value;
use tidegate_core::{Class, Confined, Ident, Kind, Kinds, Role};
use tidegate_ledger::event::*;
use tidegate_ledger::vault::{Deposit, Keep, KeySource, Vault};
use tidegate_ledger::{Chain, Event, EvidencePointer, Filter, Ledger, Options, PublicDigest, Reader, Reason};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/ledger-schema.json")).unwrap()
}

/// Each type twice where it has optional fields: with all of them and with none.
fn events(ledger: &Ledger, pointer: EvidencePointer) -> Vec<Event> {
    let digest = ledger.keyed_digest(b"content");
    let mut events = data_access(ledger, pointer);
    events.extend(of_runs(ledger));
    for full in [true, false] {
        let some = |text: &str| full.then(|| name(text));
        events.extend([
            Event::from(Decision {
                tool: name("web_search"),
                decision: if full { Verdict::Deny } else { Verdict::Hold },
                rule: name("label-above-ceiling"),
                label: Class::Internal,
                argument_class: full.then_some(Class::Public),
                contamination_source: some("search_email"),
                policy_version: name("1"),
            }),
            ConnectionRefused {
                destination: some("egress:example.com:443"),
                rule: name("no-credential"),
            }
            .into(),
            CallUnanswered {
                tool: name("read_mail"),
                cause: name("client-left"),
            }
            .into(),
            DefinitionHeld {
                server: name("files"),
                kind: name("tool"),
                offered: name("read_file"),
                cause: name("changed"),
            }
            .into(),
            GateOpened {
                gate_id: name("g1"),
                kind: name("human-approval"),
                tool: some("gmail_send"),
                argument_digest: full.then_some(digest),
                policy_version: name("1"),
                expires_at_ms: 1_800_000_000_000,
            }
            .into(),
            GateDecided {
                gate_id: name("g1"),
                decision: if full {
                    GateOutcome::Approved
                } else {
                    GateOutcome::Expired
                },
                by: some("ann"),
                role: full.then_some(Role::PiiAuthorizedReviewer),
                reason: full.then(|| Reason::new("looks \"fine\"\nto me — ok")),
                approvals_missing: full.then_some(1),
            }
            .into(),
            GateSpent {
                gate_id: name("g1"),
                kind: name("tool-approval"),
                tool: some("gmail_send"),
            }
            .into(),
            GateRevealed {
                gate_id: name("g1"),
                by: name("ann"),
                role: Role::PiiAuthorizedReviewer,
                data_class: Class::Pii,
                reason: Reason::new("to see whom it goes to"),
                evidence_pointer: pointer,
            }
            .into(),
            ClassReviewOpened {
                review_id: name("r1"),
                source: name("files.read"),
                cause: name("new_tool"),
                class: full.then_some(Class::Confidential),
                ceiling: full.then_some(Class::Public),
            }
            .into(),
            ClassReviewSettled {
                review_id: name("r1"),
                source: name("files.read"),
                verdict: name("assigned-right"),
                by: name("ann"),
                role: Role::HumanOperator,
                reason: Reason::new("public pages only"),
            }
            .into(),
            PolicyChanged {
                digest: PublicDigest::of(b"policy"),
                previous: full.then(|| PublicDigest::of(b"before")),
                policy_version: name("2"),
                by: name("root"),
            }
            .into(),
            TokenUsedByAdmin {
                token_id: name("t-1"),
                principal: name("root"),
                action: name("reset"),
                session: some("s1"),
            }
            .into(),
            EvidenceDestroyed {
                evidence_pointer: pointer,
                cause: DestructionCause::Retention,
                by: some("root"),
            }
            .into(),
        ]);
    }
    events.extend([
        Event::from(Rise {
            from: Class::Public,
            to: Class::Secret,
            source: name("crm"),
            kinds: Kind::ALL.into_iter().collect(),
        }),
        Rise {
            from: Class::Public,
            to: Class::Internal,
            source: name("crm"),
            kinds: Kinds::NONE,
        }
        .into(),
        SessionOpened {
            user: name("ann"),
            agent: name("desk-agent"),
            principal: name("ann@example.org"),
        }
        .into(),
        DatasetAdded {
            dataset: name("payroll"),
            class: Class::Confidential,
            by: name("ann"),
        }
        .into(),
        Reset {
            from: Class::Pii,
            to: Class::Public,
            reason: Reason::new("test data only"),
            by: name("root"),
        }
        .into(),
        GatewayStarted {
            version: name("0.1.0"),
            policy_digest: PublicDigest::of(b"policy"),
        }
        .into(),
        ExitUsed {
            run_id: name("run-1"),
            exit: name("docs-samples"),
            rule: name("email"),
            tool: name("search_docs"),
        }
        .into(),
        GatewayStopped {
            cause: name("SIGTERM"),
        }
        .into(),
    ]);
    events
}

fn of_runs(ledger: &Ledger) -> Vec<Event> {
    let hash = ledger.keyed_digest(b"content");
    let outcomes = [
        CitationOutcome::Verified,
        CitationOutcome::HallucinatedCitation,
        CitationOutcome::Unverified,
    ];
    let mut events: Vec<Event> = outcomes
        .into_iter()
        .map(|outcome| {
            let checked = CitationChecked {
                run_id: name("run-1"),
                citation_kind: name("parcel"),
                citation_hash: hash,
                outcome,
                source_id: (outcome == CitationOutcome::Verified).then(|| name("gis")),
            };
            checked.into()
        })
        .collect();
    let acts = [
        MemoryAct::Read,
        MemoryAct::Write,
        MemoryAct::Refuse,
        MemoryAct::Clear,
    ];
    events.extend(acts.into_iter().map(|action| {
        Event::from(MemoryAccess {
            run_id: name("run-1"),
            memory: if action == MemoryAct::Clear {
                MemoryKind::Scratchpad
            } else {
                MemoryKind::Memory
            },
            action,
            data_class: Class::Internal,
            authorized_sink_verified: false,
        })
    }));
    events.extend([
        Event::from(ChunkBlocked {
            run_id: name("run-1"),
            source_id: name("pastebin"),
            chunk_hash: hash,
            blocking_rule: name("unregistered-source"),
        }),
        SessionEnded {
            label: Class::Pii,
            by: name("ann"),
        }
        .into(),
        ChildOpened {
            child: name("s2"),
            inherited: true,
            label: Class::Internal,
            answer_bits: 7,
        }
        .into(),
        ChildReturned {
            child: name("s2"),
            data_class: Class::Pii,
            released_bits: 7,
        }
        .into(),
    ]);
    events
}

fn data_access(ledger: &Ledger, pointer: EvidencePointer) -> Vec<Event> {
    let mut events = Vec::new();
    for pointer in [Some(pointer), None] {
        events.extend([
            Event::from(ContextAssembly {
                run_id: name("run-1"),
                data_class: Class::Pii,
                source_id: name("ownerrez"),
                redaction_applied: true,
                chunk_hash: ledger.keyed_digest(b"chunk"),
                origin: Origin::TaskData,
                evidence_pointer: pointer,
            }),
            InjectionDetectionHit {
                run_id: name("run-1"),
                chunk_id: name("chunk-7"),
                injection_pattern_matched: name("instruction-override"),
                disposition: Disposition::Quarantine,
                confidence_score: Score::new(0.875),
                source_id: pointer.map(|_| name("web")),
                evidence_pointer: pointer,
            }
            .into(),
            PiiEgressBlock {
                run_id: name("run-1"),
                data_class: Class::Pii,
                destination: name("[::1]:443"),
                blocking_rule: name("argument-above-ceiling"),
                failure_id: PiiLeakRisk,
                evidence_pointer: pointer,
            }
            .into(),
        ]);
    }
    events.push(
        ToolArgumentConstruction {
            run_id: name("run-1"),
            tool_id: name("gmail_guest_draft"),
            data_class: Class::Pii,
            argument_field_names: FieldNames::new(["$.to[0]", "subject", "a key with spaces"]),
            authorized_sink_verified: true,
        }
        .into(),
    );
    events.extend(Role::ALL.map(|recipient_role| {
        OutputDelivery {
            run_id: name("run-1"),
            output_class: Class::Internal,
            recipient_role,
            redaction_applied: false,
        }
        .into()
    }));
    events
}

/// Every event, recorded, read back and exported.
fn exported() -> Vec<Value> {
    let house = house::room();
    let dir = house.path().join("ledger");
    let keys = KeySource::File(house.path().join("vault.key"));
    let vault = Vault::open(&house.path().join("vault.sqlite"), keys, at(0)).unwrap();
    let content = Confined::new(Class::Pii, b"raw".to_vec());
    let deposit = Deposit {
        session: Ident::parse("s").unwrap(),
        content,
        keep: Keep::ByClass,
    };
    let pointer = vault.put(deposit, at(0)).unwrap();
    let ledger = Ledger::open(&dir, Options::new(&dir)).unwrap();
    let events = events(&ledger, pointer);
    for (n, event) in events.iter().enumerate() {
        let chain = if n % 3 == 0 { Chain::Gateway } else { session("s") };
        ledger.append_blocking(chain, event, at(n as u64)).unwrap();
    }
    let records = Reader::open(&dir)
        .unwrap()
        .page(&Filter::default(), None, 1000)
        .unwrap()
        .records;
    assert_eq!(
        records
            .iter()
            .map(|record| record.event().unwrap())
            .collect::<Vec<_>>(),
        events
    );
    records
        .iter()
        .map(|record| serde_json::from_str(&record.to_json()).unwrap())
        .collect()
}

#[test]
fn every_event_fits_the_schema() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let lines = exported();
    for line in &lines {
        let errors: Vec<String> = validator
            .iter_errors(line)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{line:#}\n{errors:?}");
    }
    let seen: BTreeSet<&str> = lines
        .iter()
        .map(|line| line["event"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        seen,
        Event::TYPES.iter().copied().collect(),
        "every type is tried"
    );
    let described: BTreeSet<String> = schema()["$defs"]["event"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reference| reference["$ref"].as_str().unwrap().replace("#/$defs/", ""))
        .collect();
    assert_eq!(
        described,
        Event::TYPES.iter().map(ToString::to_string).collect(),
        "no more and no fewer are described"
    );
}

#[test]
fn the_schema_refuses_what_lacks_or_adds_a_field() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    for line in exported() {
        let required: Vec<String> = schema()["$defs"][line["event"]["type"].as_str().unwrap()]["required"]
            .as_array()
            .unwrap()
            .iter()
            .map(|field| field.as_str().unwrap().to_owned())
            .collect();
        for field in required {
            let mut lacking = line.clone();
            lacking["event"]
                .as_object_mut()
                .unwrap()
                .remove(&field)
                .expect("it was there");
            assert!(!validator.is_valid(&lacking), "without {field}: {lacking}");
        }
        let mut adding = line.clone();
        adding["event"]["value"] = "raw".into();
        assert!(!validator.is_valid(&adding));
    }
}

/// The fields that auditors were promised, by name.
#[test]
fn data_access_events_have_their_promised_fields() {
    for (event, fields) in [
        (
            "context_assembly",
            &[
                "run_id",
                "data_class",
                "source_id",
                "redaction_applied",
                "chunk_hash",
            ][..],
        ),
        (
            "tool_argument_construction",
            &[
                "run_id",
                "tool_id",
                "data_class",
                "argument_field_names",
                "authorized_sink_verified",
            ],
        ),
        (
            "injection_detection_hit",
            &[
                "run_id",
                "chunk_id",
                "injection_pattern_matched",
                "disposition",
                "confidence_score",
            ],
        ),
        (
            "pii_egress_block",
            &[
                "run_id",
                "data_class",
                "destination",
                "blocking_rule",
                "failure_id",
            ],
        ),
        (
            "output_delivery",
            &["run_id", "output_class", "recipient_role", "redaction_applied"],
        ),
    ] {
        let required = &schema()["$defs"][event]["required"];
        for field in fields {
            assert!(
                required.as_array().unwrap().contains(&Value::from(*field)),
                "{event} requires {field}"
            );
        }
    }
}

"""The gateway's answers. Fields may be added; these stay."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union


#: A field called ``class`` cannot be written the other way.
Classed = TypedDict("Classed", {"class": str})


class Dataset(TypedDict):
    name: str
    sensitivity: str


class SessionState(TypedDict):
    session_id: str
    user: str
    agent: str
    sensitivity: str
    has_private_data: bool
    contaminated_at: str | None
    contamination_source: str | None
    kinds: list[str]
    datasets: list[Dataset]
    blocked_tools: list[str]
    halted: bool
    ended: bool


class ManifestTool(Classed):
    name: str
    sensitivity: Literal["internal_source", "external", "neutral"]
    ceiling: str
    consequence: str
    blocked: bool
    seal: str
    sink: bool
    split: bool


class Manifest(TypedDict):
    session_id: str
    tools: list[ManifestTool]
    ordering_hint: str
    planning_constraint: str


class PlannedCall(TypedDict, total=False):
    tool: str
    after: list[int]


#: A tool's name, or the name with the steps whose results it needs.
Planned = Union[str, PlannedCall]


class Violation(TypedDict):
    at_step: int
    tool: str
    reason: str
    suggestion: str


class Proposal(TypedDict):
    at_step: int
    tool: str
    way: Literal["seal", "child-session"]


class PlanReport(TypedDict):
    valid: bool
    violations: list[Violation]
    safe_ordering: list[str] | None
    safe_steps: list[int] | None
    proposals: list[Proposal]


class Decision(TypedDict, total=False):
    decision: Literal["allow", "deny", "hold"]
    allowed: bool
    rule: str
    reason: str
    remedy: str | None
    retryable: bool
    gate_id: str
    unresolved: bool


class Resolved(Decision, total=False):
    arguments: Any


class Delivered(Classed):
    sensitivity: str
    findings: list[dict[str, Any]]
    content: Any
    redacted: bool
    halted: bool


class Chunk(TypedDict):
    source: str
    origin: Literal["agent-instruction", "operator-input", "task-data"]
    text: str


class Context(Classed):
    context: str
    nonce: str
    confidence_band: Literal["high", "medium", "low"]
    sensitivity: str
    chunks: list[dict[str, Any]]


class Output(Classed):
    decision: Literal["pass", "redact", "hold"]
    text: str
    findings: list[dict[str, Any]]
    citations: list[dict[str, Any]]


class Gate(Classed):
    gate_id: str
    kind: str
    session_id: str
    user: str
    agent: str
    tool: str | None
    rule: str
    reason: str
    for_agent: str
    for_person: str
    arguments: Any
    state: Literal["open", "approved", "denied", "expired", "spent"]
    expires_at: str
    decided_by: str | None
    decision_reason: str | None


class Gates(TypedDict):
    gates: list[Gate]
    next: str | None

"""Everything that is asked of a gateway: the decorator by URL, and both sorts of session."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Gateway

import tidegate
from tidegate import (
    AsyncSession,
    DataSensitivity,
    GatewayError,
    PrivateData,
    Session,
    ToolPermission,
    ToolPermissionError,
    tool_permission,
)

ran: list[Any] = []


@tool_permission(ToolPermission.CONNECT)
def send(text: str) -> str:
    ran.append(text)
    return text


@tool_permission(ToolPermission.CONNECT)
async def send_later(text: str) -> str:
    ran.append(text)
    return text


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    ran.clear()
    with Session(url=gateway.url, token=gateway.connector, user="alice") as opened:
        yield opened


def test_the_decorator_asks_a_gateway_by_its_address(gateway: Gateway) -> None:
    ran.clear()
    tidegate.configure(url=gateway.url, token=gateway.token("agent", "alice"))
    with tidegate.user_session("alice", "by-url"):
        assert send("a") == asyncio.run(send_later("a")) == "a"
        PrivateData().add_private_dataset("d", DataSensitivity.PII)
        assert PrivateData().sensitivity is DataSensitivity.PII
        assert PrivateData().get_private_datasets() == ["d"]
        for call in (lambda: send("b"), lambda: asyncio.run(send_later("b"))):
            with pytest.raises(ToolPermissionError, match=r"contains pii \(from d\)"):
                call()
    with tidegate.user_session("bob", "by-url"), pytest.raises(ToolPermissionError, match="another user"):
        send("c")
    assert ran == ["a", "a"]


def test_a_gateway_that_does_not_answer_is_a_refusal() -> None:
    ran.clear()
    tidegate.configure(url="http://127.0.0.1:9", token="none")
    with pytest.raises(ToolPermissionError) as refused:
        send("a")
    assert refused.value.rule == "state-unavailable" and refused.value.retryable and ran == []
    with pytest.raises(GatewayError, match="cannot be asked"):
        PrivateData().has_private_data


def test_a_whole_session(session: Session) -> None:
    assert session.state()["sensitivity"] == "public"
    named = {tool["name"]: tool for tool in session.manifest()["tools"]}
    assert named["web_search"]["ceiling"] == "public" and named["ledger_export"]["class"] == "confidential"
    plan = session.validate_plan(["search_email", {"tool": "web_search", "after": [0]}])
    assert not plan["valid"] and plan["safe_ordering"] is None and plan["violations"][0]["at_step"] == 1
    assert session.authorize("web_search", {"query": "x"})["allowed"]
    sealed = session.deliver("search_email", {"subject": "x"}, seal=True)
    assert sealed["redacted"] and sealed["sensitivity"] == "public"
    assert session.deliver("search_email", "the key box")["content"] == "the key box"
    denied = session.authorize("web_search", {"query": "x"})
    assert (denied["decision"], denied["rule"]) == ("deny", "label-above-ceiling")
    assert session.add_dataset("crm", DataSensitivity.CONFIDENTIAL)["sensitivity"] == "confidential"
    context = session.context([{"source": "web_search", "origin": "task-data", "text": "Sunny."}])
    assert "Sunny." in context["context"] and context["nonce"]
    assert session.output("All is well.")["decision"] == "pass"


def test_a_session_is_found_again(gateway: Gateway, session: Session) -> None:
    session.add_dataset("d")
    with Session(session.open(), url=gateway.url, token=gateway.connector, user="alice") as again:
        assert again.state()["sensitivity"] == "confidential"


def test_a_guarded_function_runs_only_when_its_call_passes(session: Session) -> None:
    @session.guard()
    def web_search(query: str) -> str:
        ran.append(query)
        return query

    @session.guard(name="booking_lookup")
    def look_up(booking: str) -> dict[str, Any]:
        return {"guest": {"email": "ada@example.org"}, "dates": {"from": "2027-05-03"}}

    @session.guard()
    def send_mail(to: str, text: str) -> str:
        ran.append(to)
        return "sent"

    assert web_search("a") == "a"
    assert look_up("B-17") == {"guest": {"email": "{GUEST_EMAIL_1}"}, "dates": {"from": "2027-05-03"}}
    assert send_mail("{GUEST_EMAIL_1}", text="hello") == "sent"
    session.add_dataset("crm", DataSensitivity.INTERNAL)
    with pytest.raises(ToolPermissionError, match="web_search"):
        web_search("b")
    assert ran == ["a", "ada@example.org"]


def test_a_tool_that_nobody_declared_does_not_run(session: Session) -> None:
    with pytest.raises(ToolPermissionError, match="no tool of that name"):
        session.call("format_disk", {}, ran.append)
    assert "format_disk" in session.answer("format_disk", {}, ran.append) and ran == []


def test_a_call_that_a_person_must_approve_runs_once_for_each_approval(gateway: Gateway, session: Session) -> None:
    session.call("booking_lookup", {}, lambda _: {"guest": {"email": "ada@example.org"}})
    for arguments in ({"to": "the guest"}, {"to": "{GUEST_EMAIL_1}"}):
        held = session.authorize("refund", arguments)
        assert held["decision"] == "hold" and session.gate(held["gate_id"])["state"] == "open"
        with pytest.raises(ToolPermissionError, match="approval"):
            session.call("refund", arguments, ran.append)
        person = Session(url=gateway.url, token=gateway.token("human-operator", "boss"))
        assert held["gate_id"] in [gate["gate_id"] for gate in person.queue()["gates"]]
        person.decide_gate(held["gate_id"], approve=True, reason="agreed on the telephone")
        person.close()
        session.call("refund", arguments, lambda given: ran.append(given["to"]), wait_seconds=1)
        with pytest.raises(ToolPermissionError):
            session.call("refund", arguments, ran.append)
    assert ran == ["the guest", "ada@example.org"]
    assert {gate["state"] for gate in session.gates("all")["gates"]} == {"spent", "open"}


def test_values_are_for_connectors_alone(gateway: Gateway) -> None:
    ran.clear()
    with Session(url=gateway.url, token=gateway.token("agent", "carol")) as session:
        session.deliver("booking_lookup", {"guest": {"email": "ada@example.org"}})
        with pytest.raises(ToolPermissionError) as refused:
            session.call("send_mail", {"to": "{GUEST_EMAIL_1}"}, ran.append)
        assert refused.value.rule == "stub-unresolved" and ran == []
        session.call("send_mail", {"to": "{not a stub}"}, ran.append)
        assert ran == [{"to": "{not a stub}"}]


def test_coroutines_ask_in_the_same_way(gateway: Gateway) -> None:
    async def use() -> None:
        async with AsyncSession(url=gateway.url, token=gateway.connector, user="alice") as session:

            @session.guard()
            async def web_search(query: str) -> str:
                ran.append(query)
                return query

            assert await web_search("a") == "a"
            await session.add_dataset("crm")
            with pytest.raises(ToolPermissionError):
                await web_search("b")
            assert (await session.state())["has_private_data"]

    ran.clear()
    asyncio.run(use())
    assert ran == ["a"]


def test_both_sorts_of_session_offer_the_same() -> None:
    def offered(kind: type) -> dict[str, list[str]]:
        public = {name: getattr(kind, name) for name in vars(kind) if not name.startswith("_")}
        return {name: list(inspect.signature(method).parameters) for name, method in public.items()}

    assert offered(Session) == offered(AsyncSession)


@pytest.mark.parametrize("token", ["", "tg_wrong"])
def test_a_token_that_is_none_opens_nothing(gateway: Gateway, token: str) -> None:
    with pytest.raises((GatewayError, ValueError)) as refused:
        Session(url=gateway.url, token=token).open()
    assert "tg_wrong" not in str(refused.value)

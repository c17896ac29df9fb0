"""The front desk of a holiday let: its tools, and what a model is scripted to do with them.

The programs beside this file give the same tools to one framework each. The functions know nothing of Tidegate; ``done`` is
what they really did.
"""

from __future__ import annotations

from typing import Any

GUEST = "ada.lovelace@example.org"

#: What the tools really did.
done: list[str] = []


def web_search(query: str) -> str:
    """Searches the web."""
    done.append(f"web_search {query}")
    return "Sunny until Sunday."


def booking_lookup(booking: str) -> dict[str, Any]:
    """Looks up who stays and when."""
    done.append(f"booking_lookup {booking}")
    return {"guest": {"name": "Ada Lovelace", "email": GUEST}, "dates": {"from": "2027-05-03", "to": "2027-05-09"}}


def ledger_export(year: int) -> dict[str, Any]:
    """Exports the accounts of a year."""
    done.append(f"ledger_export {year}")
    return {"months": [{"month": month, "profit": 1000 + month} for month in range(1, 13)]}


def send_mail(to: str, text: str) -> str:
    """Writes to a guest."""
    done.append(f"send_mail to {to}")
    return "sent"


def search_email(query: str) -> str:
    """Searches the office's mail."""
    done.append(f"search_email {query}")
    return "The key box is behind the third shutter."


TOOLS = [web_search, booking_lookup, ledger_export, send_mail, search_email]

#: The calls that the scripted model makes, one after the other. The last one comes too late.
SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("web_search", {"query": "weather"}),
    ("booking_lookup", {"booking": "B-17"}),
    ("ledger_export", {"year": 2026}),
    ("send_mail", {"to": "{GUEST_EMAIL_1}", "text": "See you soon."}),
    ("search_email", {"query": "key box"}),
    ("web_search", {"query": "third shutter"}),
]

#: What it would do first if it did not plan.
HASTY_PLAN = ["search_email", "web_search"]


def show(tool: str, seen: object) -> None:
    """Prints what the model is given."""
    print(f"the model sees of {tool}: {seen}")


def finish() -> None:
    """Prints what really happened."""
    for each in done:
        print(f"really done: {each}")

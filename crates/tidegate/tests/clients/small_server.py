"""A small MCP server on standard streams, without any package: one tool gives something, one never answers.

What it hears of calls is written to the file that is its one argument, a line of JSON each.
"""

import json
import sys

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("read", "hang", "send")]
GREETING = {"capabilities": {"tools": {}}, "serverInfo": {"name": "small", "version": "1"}}


def note(message):
    with open(sys.argv[1], "a") as heard:
        heard.write(json.dumps(message) + "\n")


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return GREETING | {"protocolVersion": params["protocolVersion"]}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        note({"call": params["name"], "id": message["id"]})
        return None if params["name"] == "hang" else {"content": [{"type": "text", "text": "done"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "notifications/cancelled":
        note({"cancelled": message["params"]["requestId"]})
    elif "id" in message and "method" in message:
        result = answer(message)
        if result is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
note({"left": True})

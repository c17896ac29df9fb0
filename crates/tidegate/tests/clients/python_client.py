"""Asks a server for everything with the official Python client and prints the answers as JSON.

Its one argument is JSON: how to reach the server, and which calls to make.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def attempt(asking):
    try:
        return plain(await asking)
    except Exception as error:  # an error is an answer to compare
        return {"error": str(error)}


def target(wanted):
    if "url" in wanted:
        headers = {"Authorization": f"Bearer {wanted['token']}"} if "token" in wanted else {}
        return streamable_http_client(wanted["url"], http_client=httpx2.AsyncClient(headers=headers, timeout=60))
    return StdioServerParameters(command=wanted["command"], args=wanted["args"], env=wanted.get("env"))


async def main(wanted):
    notes = []

    async def note(message):
        method = getattr(message, "method", None)
        if method:
            notes.append(method)

    async with Client(
        target(wanted["target"]), mode=wanted.get("mode", "legacy"), message_handler=note, read_timeout_seconds=60, cache=None
    ) as client:
        said = {"tools": plain(await client.list_tools())["tools"]}
        said["resources"] = (await attempt(client.list_resources())).get("resources", [])
        said["templates"] = (await attempt(client.list_resource_templates())).get("resourceTemplates", [])
        said["prompts"] = (await attempt(client.list_prompts())).get("prompts", [])
        said["calls"] = [await attempt(client.call_tool(call["tool"], call.get("arguments", {}))) for call in wanted["calls"]]
        said["reads"] = [await attempt(client.read_resource(uri)) for uri in wanted["reads"]]
        said["gets"] = [await attempt(client.get_prompt(get["name"], get.get("arguments"))) for get in wanted["gets"]]
        await asyncio.sleep(0.3)
        said["notes"] = notes
    print(json.dumps(said))


asyncio.run(main(json.loads(sys.argv[1])))

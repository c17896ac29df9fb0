"""Asks a server for everything with the official Python client and prints the answers as JSON.

Its one argument is JSON: how to reach the server, and which calls to make.
"""

import asyncio
import itertools
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters, types
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


def answering(wanted):
    """What a server may ask of the client. Questions to the user are accepted, declined and cancelled in turn."""
    actions = itertools.cycle(["accept", "decline", "cancel"])

    async def sample(context, params):
        said = f"an answer to {len(params.messages)} message(s)"
        content = types.TextContent(type="text", text=said)
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def elicit(context, params):
        action = next(actions)
        content = {"check": True, "integer": 7} if action == "accept" else None
        return types.ElicitResult(action=action, content=content)

    async def roots(context):
        return types.ListRootsResult(roots=[types.Root(uri=uri, name="root") for uri in wanted["roots"]])

    answers = {"sampling_callback": sample, "elicitation_callback": elicit}
    return answers | ({"list_roots_callback": roots} if wanted["roots"] else {})


def completion(client, wanted):
    if "prompt" in wanted:
        ref = types.PromptReference(type="ref/prompt", name=wanted["prompt"])
    else:
        ref = types.ResourceTemplateReference(type="ref/resource", uri=wanted["template"])
    return client.complete(ref, wanted["argument"], wanted.get("context"))


async def main(wanted):
    notes = []

    async def note(message):
        method = getattr(message, "method", None)
        if method:
            notes.append(method)

    async with Client(
        target(wanted["target"]),
        mode=wanted.get("mode", "legacy"),
        message_handler=note,
        read_timeout_seconds=60,
        cache=None,
        **answering(wanted),
    ) as client:
        said = {"tools": plain(await client.list_tools())["tools"]}
        names = [tool["name"] for tool in said["tools"]]
        calls = [call for call in wanted["calls"] if call["tool"] in names]
        said["resources"] = (await attempt(client.list_resources())).get("resources", [])
        said["templates"] = (await attempt(client.list_resource_templates())).get("resourceTemplates", [])
        said["prompts"] = (await attempt(client.list_prompts())).get("prompts", [])
        said["calls"] = [await attempt(client.call_tool(call["tool"], call.get("arguments", {}))) for call in calls]
        unread = ["tidegate://session", *wanted["unread"]]
        listed = [resource["uri"] for resource in said["resources"] if resource["uri"] not in unread]
        said["reads"] = [await attempt(client.read_resource(uri)) for uri in listed + wanted["reads"]]
        said["gets"] = [await attempt(client.get_prompt(get["name"], get.get("arguments"))) for get in wanted["gets"]]
        said["completes"] = [await attempt(completion(client, complete)) for complete in wanted["completes"]]
        await asyncio.sleep(0.3)
        said["notes"] = notes
    print(json.dumps(said))


asyncio.run(main(json.loads(sys.argv[1])))

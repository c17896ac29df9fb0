"""The calls of an MCP client, guarded. The server is in this process; any other would do."""

import asyncio

import desk
from mcp import Client
from mcp.server import MCPServer

from tidegate import AsyncSession
from tidegate.mcp import guard

server = MCPServer("desk")
for function in desk.TOOLS:
    server.tool()(function)


async def main() -> None:
    async with AsyncSession(user="desk") as session, Client(server) as connected:
        plan = await session.validate_plan(desk.HASTY_PLAN)
        print(f"plan valid: {plan['valid']}; safe order: {plan['safe_ordering']}")
        client = guard(session, connected)
        for name, arguments in desk.SCRIPT:
            result = await client.call_tool(name, arguments)
            desk.show(name, result.content[0].text)
        desk.finish()


asyncio.run(main())

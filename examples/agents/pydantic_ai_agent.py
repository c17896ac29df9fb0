"""A toolset of Pydantic AI, guarded."""

import asyncio

import desk
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from tidegate import AsyncSession
from tidegate.pydantic_ai import guard

steps = iter(desk.SCRIPT)


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    name, arguments = next(steps, (None, {}))
    return ModelResponse([TextPart("Done.") if name is None else ToolCallPart(name, arguments)])


async def main() -> None:
    async with AsyncSession(user="desk") as session:
        plan = await session.validate_plan(desk.HASTY_PLAN)
        print(f"plan valid: {plan['valid']}; safe order: {plan['safe_ordering']}")
        toolset = guard(session, FunctionToolset(desk.TOOLS))
        constraint = (await session.manifest())["planning_constraint"]
        agent = Agent(FunctionModel(scripted), instructions=constraint, toolsets=[toolset])
        result = await agent.run("Go on.")
        for message in result.all_messages():
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    desk.show(part.tool_name, part.content)
        desk.finish()


asyncio.run(main())

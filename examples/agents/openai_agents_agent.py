"""Function tools of the OpenAI Agents SDK, guarded."""

import asyncio
import json
from typing import Any

import desk
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.items import ToolCallOutputItem
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tidegate import AsyncSession
from tidegate.openai_agents import guard


class ScriptedModel(Model):
    def __init__(self) -> None:
        self.steps = iter(enumerate(desk.SCRIPT))

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        step = next(self.steps, None)
        if step is None:
            text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            said = ResponseOutputMessage(
                id="said", type="message", role="assistant", status="completed", content=[text]
            )
            return ModelResponse(output=[said], usage=Usage(), response_id=None)
        number, (name, arguments) = step
        call = ResponseFunctionToolCall(
            type="function_call", call_id=f"call-{number}", name=name, arguments=json.dumps(arguments)
        )
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    async with AsyncSession(user="desk") as session:
        plan = await session.validate_plan(desk.HASTY_PLAN)
        print(f"plan valid: {plan['valid']}; safe order: {plan['safe_ordering']}")
        tools = [guard(session, function_tool(function)) for function in desk.TOOLS]
        constraint = (await session.manifest())["planning_constraint"]
        agent = Agent("desk", instructions=constraint, model=ScriptedModel(), tools=tools)
        result = await Runner.run(agent, "Go on.", run_config=RunConfig(tracing_disabled=True))
        seen = [item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)]
        for (name, _), output in zip(desk.SCRIPT, seen):
            desk.show(name, output)
        desk.finish()


asyncio.run(main())

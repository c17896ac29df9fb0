"""LangChain tools in a LangGraph agent, guarded."""

from collections.abc import Iterator

import desk
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tidegate import Session
from tidegate.langchain import guard


def calls() -> Iterator[AIMessage]:
    for number, (name, arguments) in enumerate(desk.SCRIPT):
        yield AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
    yield AIMessage("Done.")


with Session(user="desk") as session:
    plan = session.validate_plan(desk.HASTY_PLAN)
    print(f"plan valid: {plan['valid']}; safe order: {plan['safe_ordering']}")
    tools = [guard(session, tool(function)) for function in desk.TOOLS]
    model = GenericFakeChatModel(messages=calls())
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    constraint = session.manifest()["planning_constraint"]
    answer = graph.compile().invoke({"messages": [("system", constraint), ("user", "Go on.")]})
    for message in answer["messages"]:
        if isinstance(message, ToolMessage):
            desk.show(str(message.name), message.content)
    desk.finish()

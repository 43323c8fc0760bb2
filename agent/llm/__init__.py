"""The one client for language models: any chat-completions server, or a model that this process runs itself."""

from agent.llm.base import Deadlines, Llm, LlmRequest, Message, UnusableAnswer
from agent.llm.choice import llm_from_environment
from agent.llm.local import LocalLlm
from agent.llm.openai_client import OpenAiClient
from agent.llm.settings import LlmSettings, LocalSettings

__all__ = [
    "Deadlines",
    "Llm",
    "LlmRequest",
    "LlmSettings",
    "LocalLlm",
    "LocalSettings",
    "Message",
    "OpenAiClient",
    "UnusableAnswer",
    "llm_from_environment",
]

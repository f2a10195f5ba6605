"""Client of Colloquy's REST API. This file exports the public names of the package."""

from .client import Client, connect
from .conversation import Conversation
from .errors import ColloquyError
from .types import (
    Attachment,
    Context,
    ContextItem,
    ContextMessage,
    ConversationFields,
    Event,
    Fact,
    Hit,
    Issue,
    Json,
    JsonObject,
    ListedConversation,
    RenderedContext,
    SharedState,
    Summary,
    Turn,
    UserProfile,
)

__all__ = [
    "Attachment",
    "Client",
    "ColloquyError",
    "Context",
    "ContextItem",
    "ContextMessage",
    "Conversation",
    "ConversationFields",
    "Event",
    "Fact",
    "Hit",
    "Issue",
    "Json",
    "JsonObject",
    "ListedConversation",
    "RenderedContext",
    "SharedState",
    "Summary",
    "Turn",
    "UserProfile",
    "connect",
]

"""Types of the answers: dicts with the fields of the API. The OpenAPI document of the server describes each field."""

from __future__ import annotations

from typing import TypeAlias, TypedDict

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = "dict[str, Json]"


class Issue(TypedDict):
    """One problem of an input. `path` leads from the root of the input to the value."""

    path: list[str]
    message: str


class ConversationFields(TypedDict):
    """The fields of a conversation."""

    id: str
    key: str | None
    title: str | None
    owner: str
    agentName: str | None
    visibility: str
    systemPrompt: str | None
    metadata: JsonObject
    version: int
    lastSeq: int
    createdAt: str
    updatedAt: str


class ListedConversation(ConversationFields):
    """A conversation of a list, with fields that depend on the viewer."""

    viewerUnreadCount: int
    viewerParticipant: JsonObject | None
    lastTurn: JsonObject | None


class Turn(TypedDict):
    """A turn. `status` is STREAMING, COMMITTED, ABORTED or ERASED."""

    id: str
    seq: int
    position: int
    actor: str
    author: JsonObject | None
    role: str
    status: str
    text: str
    parts: list[JsonObject]
    audience: list[str] | None
    model: str | None
    metadata: JsonObject
    createdAt: str
    pinned: bool
    isEdited: bool
    abortReason: str | None
    tokenUsage: JsonObject | None
    citations: list[JsonObject]
    traceId: str | None
    replyTo: JsonObject | None


class Hit(TypedDict):
    """A memory that recall found. `memory` is a turn, a fact or a summary, by its `__typename`."""

    score: float
    relevance: float
    similarity: float | None
    textScore: float | None
    memory: JsonObject
    neighbours: list[JsonObject]


class ContextItem(TypedDict):
    """One row of the manifest of a context: a message, or a group of omitted sources."""

    kind: str
    included: bool
    reason: str
    tokenCount: int
    sourceIds: list[str]


class ContextMessage(TypedDict):
    """One message of a context without a format."""

    role: str
    name: str | None
    content: str
    parts: list[JsonObject]
    tokenCount: int
    sourceIds: list[str]


class _ContextFields(TypedDict):
    id: str | None
    createdAt: str | None
    asOfSeq: int
    goneSourceIds: list[str]
    items: list[ContextItem]
    tokenCount: int
    tokenBudget: int
    truncated: bool
    stablePrefixTokens: int


class Context(_ContextFields):
    """The messages for a model within a token budget."""

    messages: list[ContextMessage]


class RenderedContext(_ContextFields):
    """A context whose messages have the format of a provider. For ANTHROPIC and AI_SDK, `messages` is an object."""

    messages: Json


class Fact(TypedDict):
    """A statement: subject, predicate, object."""

    id: str
    subject: str
    predicate: str
    object: str
    confidence: float
    userId: str | None
    saidBy: str
    assertedBy: str | None
    observedAt: str
    validFrom: str | None
    validTo: str | None
    createdAt: str
    supersededAt: str | None
    supersedeReason: str | None
    supersedeNote: str | None
    sourceConversation: JsonObject | None
    sourceTurn: JsonObject | None


class Summary(TypedDict):
    """A summary of older turns."""

    id: str
    content: str
    level: int
    fromPosition: int
    toPosition: int
    tokenCount: int
    model: str | None
    createdAt: str


class UserProfile(TypedDict):
    """The profile of a user."""

    id: str
    userId: str
    content: str
    tokenCount: int
    updatedAt: str


class Attachment(TypedDict):
    """An uploaded file. `url` is signed, and expires at `expiresAt`; it may be a path of the server."""

    id: str
    mediaType: str
    bytes: int
    fileName: str | None
    width: int | None
    height: int | None
    sha256: str
    url: str
    expiresAt: str


class SharedState(TypedDict):
    """The shared state at one key."""

    key: str
    value: Json
    version: int
    schema: Json
    audience: list[str] | None
    updatedBy: str
    updatedAt: str
    createdAt: str

# In the class syntax, Python would change the name of the key `__typename`.
Event = TypedDict(
    "Event",
    {
        "__typename": str,
        "seq": int | None,
        "at": str,
        "conversationId": str,
        # Fields of some types of events:
        "turn": Turn,
        "turnId": str,
        "start": int,
        "end": int,
        "text": str,
        "joined": str,
        "resumeAfterSeq": int,
        "participant": JsonObject,
        "conversation": ConversationFields,
        "key": str,
        "version": int,
        "deleted": bool,
        "patch": list[JsonObject] | None,
    },
    total=False,
)

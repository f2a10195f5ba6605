"""The functions of one conversation."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast, overload

from .follow import follow
from .names import conversation_path, fields_of, filter_of, idempotency_key_for, segment, split
from .types import (
    Attachment,
    Context,
    ConversationFields,
    Event,
    Fact,
    Hit,
    JsonObject,
    RenderedContext,
    SharedState,
    Summary,
    Turn,
)
from .write import write

if TYPE_CHECKING:
    from .client import Client

#: Fields of the input of appendTurn that are not fields of its turn.
_APPEND_FIELDS = ("as", "claimToken", "expectedLastSeq")
#: Fields of the input of recordFacts that are not fields of its facts.
_RECORD_FIELDS = ("as", "userId")
#: Number of turns that one request of `history` reads.
_PAGE = 50


def hits_of(client: Client, arguments: Mapping[str, object]) -> list[Hit]:
    """Search the memories, and return the hits. `arguments` are the inputs of `recall`, in snake_case."""
    answer = client.request("POST", "/recall", body=fields_of(arguments), is_repeatable=True)
    return cast("list[Hit]", answer["hits"])


class Conversation:
    """The functions of one conversation. All of them raise ColloquyError if the server refuses the request.

    Keyword arguments that are not listed are fields of the API in snake_case: `reply_to_id` is `replyToId`, and `as_`
    is `as`.
    """

    def __init__(self, client: Client, id: str | None, key: str | None, created: bool | None = None) -> None:
        """Use `Client.conversation` or `Client.create_conversation`."""
        self._client = client
        self._path = conversation_path(id, key)
        #: The conversation as keyword arguments: its id or its key.
        self._name = {"conversation_key": key} if id is None else {"conversation_id": id}
        #: Whether `create_conversation` created the conversation. None from `Client.conversation`.
        self.created = created

    def read(self, *, as_: str | None = None) -> ConversationFields:
        """Return the fields of the conversation."""
        return cast(ConversationFields, self._client.request("GET", self._path, query=fields_of({"as": as_})))

    def delete(self, *, as_: str | None = None) -> None:
        """Delete the conversation permanently, with its turns, summaries, and facts that have no other source."""
        self._client.request("DELETE", self._path, query=fields_of({"as": as_}))

    def append(self, content: str | None = None, *, role: str = "USER", **fields: object) -> Turn:
        """Append a turn, and return it. The request is repeated until the server acknowledges it; the turn is one.

        content: text of the turn. None if `parts` is given.
        role: USER, ASSISTANT, SYSTEM or TOOL. Defaults to USER.
        fields: fields of `TurnInput`, for example `reply_to_id`; and `as_`, `claim_token` and `expected_last_seq`.
            A `client_id` replaces the idempotency key of the client.
        """
        own, turn = split(fields_of({"content": content, "role": role, **fields}), _APPEND_FIELDS)
        path, body, key = f"{self._path}/turns", {**own, "turn": turn}, idempotency_key_for(turn)
        answer = self._client.request("POST", path, body=body, idempotency_key=key, is_repeatable=True)
        return cast(Turn, answer["turn"])

    def history(self, last: int = 50, **conditions: object) -> list[Turn]:
        """Return the newest turns, oldest first.

        last: maximum number of turns. Defaults to 50.
        conditions: fields of the API's `TurnFilter`, for example `roles=["USER"]`; and `as_`, `as_of` and
            `include_superseded`.
        """
        query = filter_of(conditions, ("as", "asOf", "includeSuperseded"))
        turns: list[Turn] = []
        before: dict[str, object] = {}
        while len(turns) < last:
            size = min(_PAGE, last - len(turns))
            page = self._client.request("GET", f"{self._path}/turns", query={**query, "last": size, **before})
            turns = cast("list[Turn]", page["nodes"]) + turns
            info = cast(JsonObject, page["pageInfo"])
            if not info["hasPreviousPage"]:
                break
            before = {"before": info["startCursor"]}
        return turns

    def turns(self, **conditions: object) -> Iterator[Turn]:
        """Iterate over all turns, oldest first. Reads pages when it needs them.

        conditions: as those of `history`.
        """
        query = filter_of(conditions, ("as", "asOf", "includeSuperseded"))
        return cast("Iterator[Turn]", self._client.pages(f"{self._path}/turns", query))

    def __iter__(self) -> Iterator[Turn]:
        return self.turns()

    def recall(self, query: str, **options: object) -> list[Hit]:
        """Search the memories of the conversation, and return the hits, best first.

        options: inputs of `recall`, for example `k=5` or `scope="OWNER"`.
        """
        return hits_of(self._client, {**self._name, "query": query, **options})

    @overload
    def context(self, token_budget: int, *, format: None = None, **options: object) -> Context: ...

    @overload
    def context(self, token_budget: int, *, format: str, **options: object) -> RenderedContext: ...

    def context(
        self, token_budget: int, *, format: str | None = None, **options: object
    ) -> Context | RenderedContext:
        """Build the messages for a model, and return them with their manifest and token count.

        token_budget: maximum token count of the messages.
        format: OPENAI, ANTHROPIC, AI_SDK or UI_MESSAGES for `messages` that are ready to send. Defaults to None, for
            messages with the fields of the API.
        options: inputs of `buildContext`, for example `recent_turns=20`, or `query` with `semantic_recall={"k": 5}`.
        """
        body = fields_of({"token_budget": token_budget, "format": format, **options})
        route = "context" if format is None else "rendered-context"
        answer = self._client.request("POST", f"{self._path}/{route}", body=body, is_repeatable=True)
        return cast("Context | RenderedContext", answer)

    def facts(self, **conditions: object) -> Iterator[Fact]:
        """Iterate over the facts of the conversation, newest first. Reads pages when it needs them.

        conditions: fields of the API's `FactFilter`, for example `subject="Ada"`; and `as_` and `as_of`.
        """
        return self._client.facts(**self._name, **conditions)

    def remember(self, subject: str, predicate: str, object: str, **fields: object) -> Fact | None:
        """Record a fact, and return it. None if the same fact is recorded already.

        fields: fields of `FactInput`, for example `confidence` (0 to 1); and `user_id` and `as_`.
        """
        given = {"subject": subject, "predicate": predicate, "object": object, **fields}
        own, fact = split(fields_of(given), _RECORD_FIELDS)
        body = {**own, **fields_of(self._name), "facts": [fact]}
        facts = cast("list[Fact]", self._client.request("POST", "/facts", body=body)["facts"])
        return facts[0] if facts else None

    def summarize(self, **options: object) -> Summary:
        """Summarise the turns, and return the summary. Fails with INVALID_INPUT if there are no turns to summarise.

        options: inputs of `summarize`, for example `through`, the id of the last turn to summarise.
        """
        answer = self._client.request("POST", f"{self._path}/summaries", body=fields_of(options))
        return cast(Summary, answer["summary"])

    def upload_file(
        self, data: bytes, media_type: str = "application/octet-stream", *, file_name: str | None = None, **fields: object
    ) -> Attachment:
        """Upload a file, and return the attachment. A repeated request stores it once.

        Give its id to a turn: `append(parts=[{"file": {"attachmentId": attachment["id"]}}])`.

        media_type: type of the file. Defaults to the one that the server finds.
        file_name: name for display. Defaults to None, for no name.
        fields: `client_id`, which replaces the idempotency key of the client, and `as_`.

        Fails with INVALID_INPUT for a file that is too large, of a type that is not accepted, or of another type.
        """
        conversation = self._name.get("conversation_id") or f"key:{self._name['conversation_key']}"
        given = {"conversation": conversation, "client_id": str(uuid.uuid4()), "file_name": file_name, **fields}
        return cast(Attachment, self._client.upload(fields_of(given), data, media_type)["attachment"])

    def shared_state(self, key: str, *, as_: str | None = None) -> SharedState:
        """Return the shared state at the key. Fails with NOT_FOUND if there is none."""
        path = f"{self._path}/states/{segment(key)}"
        return cast(SharedState, self._client.request("GET", path, query=fields_of({"as": as_})))

    def update_shared_state(self, key: str, **fields: object) -> SharedState | None:
        """Change the shared state at the key, and return it; None if it was deleted since. A repeated request changes it
        once.

        fields: one of `patch` (a list of operations), `merge` and `value`; and `expected_version`, `schema`, `audience`,
            `client_id` and `as_`.

        Fails with CONFLICT if the state has another version, or a `test` of the patch fails.
        """
        path, body = f"{self._path}/states/{segment(key)}", fields_of(fields)
        idempotency_key = idempotency_key_for(body)
        answer = self._client.request("PATCH", path, body=body, idempotency_key=idempotency_key, is_repeatable=True)
        return cast("SharedState | None", answer["state"])

    def follow(
        self, after_seq: int | None = None, types: Collection[str] | None = None, *, as_: str | None = None
    ) -> Generator[Event, None, None]:
        """Iterate over the events of the conversation: each journal entry once and in order, then live.

        Resumes after lost connections. Ends after `ConversationDeleted`, or when the viewer no longer sees the
        conversation. A `TurnDelta` has `joined`, the text of its turn from the start, and a `TurnPartDelta` that of its
        part. A `Gap` means that entries were skipped: read the history again. To stop, leave the loop and call
        `close()` of the iterator.

        after_seq: seq of the entry after which delivery starts; 0 for all entries. Defaults to the newest entry at the
            time of the call.
        types: types of the events to deliver, for example `TURN_APPENDED`. Defaults to all. `Gap` and
            `ConversationDeleted` are always delivered.

        Raises ColloquyError if the server cannot be reached for `retry_for` of the client.
        """
        return follow(self._client, self._path, after_seq, types, as_)

    def write(
        self,
        chunks: Iterable[str],
        *,
        role: str = "ASSISTANT",
        lease_seconds: int = 8,
        heartbeat_seconds: float | None = None,
        **fields: object,
    ) -> Turn:
        """Write a streaming turn from chunks of text, for example of a model, and return the committed turn.

        A thread sends the text in order, and heartbeats while the iterable is slow. If the iterable raises, the turn is
        aborted with the text received until then, and the exception is raised again. `abortReason`, which all viewers
        see, does not contain the text of the exception.

        role: USER, ASSISTANT, SYSTEM or TOOL. Defaults to ASSISTANT.
        lease_seconds: duration of the lease, s, 5 to 300. If the writer dies, the turn is aborted after this time.
            Defaults to 8.
        heartbeat_seconds: interval of heartbeats, s. Defaults to a quarter of the lease.
        fields: fields of `StreamingTurnInput`, for example `reply_to_id`; `as_`, `claim_token` and
            `expected_last_seq`; and `parts`, which the commit adds.

        Raises ColloquyError, STREAM_CLOSED if the lease has expired; and the exceptions of the iterable.
        """
        given = fields_of({"role": role, **fields})
        return write(self._client, self._path, chunks, given, lease_seconds, heartbeat_seconds)

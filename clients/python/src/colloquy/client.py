"""The client: its settings, requests with retries, and the functions that are not of one conversation."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import cast

from .conversation import Conversation, hits_of
from .events import Message, messages_of
from .names import fields_of, filter_of, segment
from .retry import retry
from .transport import Request, Transport
from .types import Context, ConversationFields, Fact, Hit, JsonObject, ListedConversation, UserProfile

#: Time without data after which an event stream counts as lost, s. The server sends a comment every 12 s.
_SILENCE = 30.0

Token = str | Callable[[], str]


def connect(
    url: str,
    *,
    token: Token | None = None,
    actor: str | None = None,
    tenant: str | None = None,
    timeout: float = 15.0,
    retry_for: float = 60.0,
) -> Client:
    """Return a client of the server. It opens connections when it needs them.

    url: address of the server, for example `http://127.0.0.1:4000`.
    token: API key or JSON Web Token, or a function that returns a current one; it is called before each request.
    actor: name of the viewer, or, with a token, the actor for whom the client acts. Defaults to that of the server.
    tenant: name of the tenant, on a server without authentication. Defaults to that of the server. Not with a token.
    timeout: time to connect, and time without data while the client waits for an answer, s. Defaults to 15.
    retry_for: time for which a request that is safe to repeat is repeated after temporary failures, s. Defaults to 60.

    Raises ColloquyError (BAD_URL), and ValueError for a tenant with a token.
    """
    return Client(url, token=token, actor=actor, tenant=tenant, timeout=timeout, retry_for=retry_for)


class Client:
    """A client of one server, as one viewer. Several threads may use it at once."""

    def __init__(
        self, url: str, *, token: Token | None, actor: str | None, tenant: str | None, timeout: float, retry_for: float
    ) -> None:
        """See `connect`."""
        if token is not None and tenant is not None:
            raise ValueError("The token determines the tenant: omit `tenant`.")
        self._transport = Transport(url, timeout)
        self._token = token
        self._actor = actor
        self._tenant = tenant
        self.retry_for = retry_for

    def create_conversation(self, *, key: str | None = None, **fields: object) -> Conversation:
        """Create a conversation, and return its functions.

        If a conversation with this key exists, it is returned unchanged, and its `created` is False. Without a key,
        the request is not repeated once the server may have received it. Raises ColloquyError.
        """
        body = fields_of({"key": key, **fields})
        answer = self.request("POST", "/conversations", body=body, is_repeatable=key is not None)
        conversation = cast(ConversationFields, answer["conversation"])
        return Conversation(self, conversation["id"], None, bool(answer["created"]))

    def conversation(self, id: str | None = None, *, key: str | None = None) -> Conversation:
        """Return the functions of the conversation with this id or key. Sends no request.

        Raises ValueError unless exactly one of `id` and `key` is given.
        """
        return Conversation(self, id, key)

    def conversations(self, *, order_by: str | None = None, **conditions: object) -> Iterator[ListedConversation]:
        """Iterate over the conversations that the viewer sees, newest first. Reads pages when it needs them.

        order_by: CREATED_AT or UPDATED_AT. Defaults to CREATED_AT.
        conditions: fields of the API's `ConversationFilter`, for example `participant="ada"`.

        Raises ColloquyError.
        """
        query = filter_of({"order_by": order_by, **conditions}, ("as", "orderBy"))
        return cast("Iterator[ListedConversation]", self.pages("/conversations", query))

    def recall(self, query: str, *, scope: str | None = None, **options: object) -> list[Hit]:
        """Search the memories that the viewer sees, and return the hits, best first.

        scope: OWNER for the conversations that the viewer owns, or TENANT for all conversations that the viewer sees.
        options: other inputs of `recall`, for example `k=5`.

        Raises ColloquyError.
        """
        return hits_of(self, {"query": query, "scope": scope, **options})

    def profile(self, user_id: str, *, as_of: Mapping[str, object] | None = None) -> UserProfile:
        """Return the profile of the user. Raises ColloquyError, NOT_FOUND if there is no profile.

        as_of: the moment in the past as of which to read, for example `{"time": "2026-03-01T09:30:00Z"}`.
        """
        return cast(UserProfile, self.request("GET", f"/profiles/{segment(user_id)}", query=fields_of({"as_of": as_of})))

    def read_context(self, context_id: str) -> Context:
        """Reads a context that was stored with `store=True`, as it was when it was built."""
        return cast(Context, self.request("GET", f"/contexts/{segment(context_id)}"))

    def facts(self, **conditions: object) -> Iterator[Fact]:
        """Iterate over the facts that the viewer sees, newest first. Reads pages when it needs them.

        conditions: fields of the API's `FactFilter`, for example `subject="Ada"`; and `as_` and `as_of`.

        Raises ColloquyError.
        """
        return cast("Iterator[Fact]", self.pages("/facts", filter_of(conditions, ("as", "asOf"))))

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        is_repeatable: bool = False,
        retry_for: float | None = None,
    ) -> JsonObject:
        """Send a request to the REST API, and return its answer. For the routes without a function of their own.

        path: percent-encoded path below `/api/v1`, for example `/conversations/key:lisbon/participants`.
        query, body: parameters of the URL and fields of the body, with the names of the API.
        idempotency_key: header `Idempotency-Key`, in ASCII.
        is_repeatable: whether a temporary failure is retried. Always true for GET and with `idempotency_key`.
        retry_for: time for which the request is repeated, s. Defaults to that of the client.

        Raises ColloquyError.
        """
        request = self._prepare(method, path, query or {}, body, idempotency_key, is_repeatable)
        limit = self.retry_for if retry_for is None else retry_for
        return retry(
            lambda: self._transport.call(self._authenticated(request)),
            is_repeatable=request.is_repeatable,
            retry_for=limit,
        )

    def upload(self, query: Mapping[str, object], data: bytes, media_type: str) -> JsonObject:
        """Upload a file, and return the answer. `query` has a `clientId`, so the request is repeated. Raises ColloquyError."""
        acting: Mapping[str, object] = {} if self._token is None else fields_of({"as": self._actor})
        headers = {"Content-Type": media_type, "apollo-require-preflight": "1"}
        request = Request("POST", "/files", {**acting, **query}, None, data, headers, is_repeatable=True)
        return retry(
            lambda: self._transport.call(self._authenticated(request)), is_repeatable=True, retry_for=self.retry_for
        )

    def pages(self, path: str, query: Mapping[str, object]) -> Iterator[JsonObject]:
        """Iterate over the nodes of all pages of a list. Raises ColloquyError."""
        after: dict[str, object] = {}
        while True:
            page = self.request("GET", path, query={**query, **after})
            yield from cast("list[JsonObject]", page["nodes"])
            info = cast(JsonObject, page["pageInfo"])
            if not info["hasNextPage"]:
                return
            after = {"after": info["endCursor"]}

    def stream(self, path: str, query: Mapping[str, object]) -> Generator[Message | None, None, None]:
        """Open an event stream once, and iterate over its messages; None is a comment. Raises ColloquyError."""
        request = self._prepare("GET", path, query, None, None, True)
        connection, response = self._transport.open(self._authenticated(request), _SILENCE)
        return messages_of(connection, response)

    def close(self) -> None:
        """Close the idle connections. The client remains usable."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepare(
        self,
        method: str,
        path: str,
        query: Mapping[str, object],
        body: Mapping[str, object] | None,
        idempotency_key: str | None,
        is_repeatable: bool,
    ) -> Request:
        has_body = method in ("POST", "PATCH")
        acting: Mapping[str, object] = {} if self._token is None else fields_of({"as": self._actor})
        return Request(
            method,
            path,
            query if has_body else {**acting, **query},
            {**acting, **(body or {})} if has_body else None,
            None,
            {} if idempotency_key is None else {"Idempotency-Key": idempotency_key},
            is_repeatable or method == "GET" or idempotency_key is not None,
        )

    def _authenticated(self, request: Request) -> Request:
        if self._token is not None:
            token = self._token if isinstance(self._token, str) else self._token()
            names = {"Authorization": f"Bearer {token}"}
        else:
            given = {"x-actor": self._actor, "x-tenant": self._tenant}
            names = {name: segment(value) for name, value in given.items() if value is not None}
        return replace(request, headers={**request.headers, **names})

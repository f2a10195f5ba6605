"""Tests errors and retries: codes, issues, temporary failures, and answers that are not of the API."""

import json
import socket
from contextlib import ExitStack
from unittest.mock import patch

from colloquy import ColloquyError, connect
from support import ServerTest, page_of_proxy, problem, scripted, success

PAGE = success(nodes=[], pageInfo={"hasPreviousPage": False})


class ErrorsTest(ServerTest):
    def test_reports_an_unknown_conversation(self) -> None:
        with self.assertRaisesRegex(ColloquyError, 'no conversation "none"') as caught:
            self.client.conversation(key="none").append("Hello")
        self.assertEqual((caught.exception.code, caught.exception.status), ("NOT_FOUND", 404))
        self.assertFalse(caught.exception.is_temporary)

    def test_reports_the_problems_of_an_input(self) -> None:
        with self.assertRaises(ColloquyError) as caught:
            self.create().append("Hello", role="NOBODY")
        self.assertEqual((caught.exception.code, caught.exception.status), ("INVALID_INPUT", 400))
        self.assertEqual([issue["path"] for issue in caught.exception.issues], [["turn", "role"]])

    def test_reports_a_conflict(self) -> None:
        conversation = self.create()
        conversation.append("One", client_id="same")
        with self.assertRaises(ColloquyError) as caught:
            conversation.append("Two", client_id="same")
        self.assertEqual((caught.exception.code, caught.exception.status), ("CONFLICT", 409))

    def test_needs_the_id_or_the_key(self) -> None:
        for names in [{}, {"id": "conv_1", "key": "a"}]:
            with self.assertRaises(ValueError):
                self.client.conversation(**names)

    def test_refuses_an_unusable_address(self) -> None:
        for url in ["127.0.0.1:4000", "ws://127.0.0.1", "http://127.0.0.1:4000/graphql", "http://127.0.0.1:port"]:
            with self.assertRaises(ColloquyError) as caught:
                connect(url)
            self.assertEqual(caught.exception.code, "BAD_URL")

    def test_repeats_temporary_failures_and_honours_retry_after(self) -> None:
        failures = [
            problem(503, "SERVER_BUSY", **{"Retry-After": "7"}),
            problem(429, "RATE_LIMITED", **{"Retry-After": "2"}),
            page_of_proxy(502),
            page_of_proxy(503, **{"Retry-After": "5"}),
            problem(500, "INTERNAL_SERVER_ERROR"),
        ]
        with scripted(*failures, PAGE) as server, patch("time.sleep") as sleep:
            self.assertEqual(self.connect(server.url).conversation("c").history(), [])
        waits = [call.args[0] for call in sleep.call_args_list]
        self.assertEqual([*waits[:2], waits[3]], [7, 2, 5])
        self.assertTrue(0.2 <= waits[2] <= 0.4 and 0.8 <= waits[4] <= 1.6, waits)
        self.assertEqual(len(server.requests), 6)

    def test_does_not_wait_longer_than_retry_for(self) -> None:
        with scripted(problem(503, "SERVER_BUSY", **{"Retry-After": "9"})) as server, patch("time.sleep") as sleep:
            with self.assertRaises(ColloquyError) as caught:
                self.connect(server.url, retry_for=8).conversation("c").read()
        sleep.assert_not_called()
        self.assertEqual((caught.exception.code, caught.exception.retry_after), ("SERVER_BUSY", 9))

    def test_does_not_repeat_permanent_failures(self) -> None:
        for failure in [problem(429, "QUOTA_EXCEEDED"), problem(403, "NOT_ALLOWED"), page_of_proxy(404)]:
            with scripted(failure, PAGE) as server, self.assertRaises(ColloquyError):
                self.connect(server.url).conversation("c").history()
            self.assertEqual(len(server.requests), 1)

    def test_reports_an_answer_that_is_not_of_the_api(self) -> None:
        answers = [page_of_proxy(200), page_of_proxy(404), (302, {"Location": "/"}, ""), (200, {}, "[1]")]
        for answer in answers:
            with scripted(answer) as server, self.assertRaises(ColloquyError) as caught:
                self.connect(server.url).conversation("c").read()
            self.assertEqual((caught.exception.code, caught.exception.status), ("BAD_RESPONSE", answer[0]))
        with scripted(page_of_proxy(404)) as server, self.assertRaisesRegex(ColloquyError, "<html>Bad gateway"):
            self.connect(server.url).conversation("c").read()

    def test_reports_a_timeout(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            client = self.connect(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2, retry_for=0)
            with self.assertRaises(ColloquyError) as caught:
                client.conversation("c").read()
        self.assertEqual((caught.exception.code, caught.exception.status), ("TIMEOUT", None))

    def test_repeats_any_request_that_could_not_be_sent(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        client = self.connect(f"http://127.0.0.1:{port}")
        answer = success(created=True, conversation={"id": "conv_1"})
        with ExitStack() as stack:

            def start(_: float) -> None:
                if not servers:
                    servers.append(stack.enter_context(scripted(answer, port=port)))

            servers: list[object] = []
            with patch("colloquy.retry.time.sleep", start):
                self.assertTrue(client.create_conversation(title="No key").created)

    def test_sends_a_token_and_the_actor_as_input(self) -> None:
        tokens = iter(["one", "two"])
        with scripted(PAGE, success(turn={})) as server:
            client = connect(server.url + "/base/", token=lambda: next(tokens), actor="Zoë")
            client.conversation("c").history()
            client.conversation("c").append("Hello")
        (_, path, headers, _), (_, _, second, body) = server.requests
        self.assertEqual(path, "/base/api/v1/conversations/c/turns?as=Zo%C3%AB&last=50")
        self.assertEqual([headers["authorization"], second["authorization"]], ["Bearer one", "Bearer two"])
        self.assertNotIn("x-actor", headers)
        self.assertEqual(json.loads(body)["as"], "Zoë")
        self.assertEqual(len(second["idempotency-key"]), 36)
        with self.assertRaises(ValueError):
            connect(server.url, token="one", tenant="a")

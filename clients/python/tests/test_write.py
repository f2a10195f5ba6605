"""Tests streaming turns: order of the text over lost answers, heartbeats, and aborts."""

from collections.abc import Iterator

from colloquy import ColloquyError, Turn
from support import Proxy, ServerTest


class WriteTest(ServerTest):
    def last_turn(self) -> Turn:
        return self.client.conversation(key="harbour").history(1)[0]

    def test_writes_each_character_once_when_answers_are_lost(self) -> None:
        self.create()
        proxy = self.proxy()
        words = [f"{number} 😀 " for number in range(30)]

        def chunks() -> Iterator[str]:
            for number, word in enumerate(words):
                if number % 10 == 0:
                    proxy.lose_answers(1)
                yield word

        writer = self.connect(proxy.url, actor="helper").conversation(key="harbour")
        turn = writer.write(chunks(), model="a-model", metadata={"a": 1})
        self.assertEqual((turn["text"], turn["status"], turn["model"]), ("".join(words), "COMMITTED", "a-model"))
        self.assertEqual((turn["role"], turn["metadata"]), ("ASSISTANT", {"a": 1}))
        self.assertEqual(len(list(self.client.conversation(key="harbour"))), 1)
        self.assertGreater(proxy.lost, 0)

    def test_splits_long_text(self) -> None:
        text = "😀" * 35_000 + "end"
        self.create()
        proxy = self.proxy()
        turn = self.connect(proxy.url).conversation(key="harbour").write(["", text])
        self.assertEqual(turn["text"], text)
        self.assertGreaterEqual(proxy.deltas - proxy.heartbeats, 3)

    def test_adds_parts_at_the_commit(self) -> None:
        part = {"toolCall": {"callId": "1", "name": "tide", "arguments": {}}}
        turn = self.create().write(["Wait. "], parts=[part])
        self.assertEqual([each["__typename"] for each in turn["parts"]], ["TextPart", "ToolCallPart"])

    def test_sends_heartbeats_while_the_iterable_is_slow(self) -> None:
        self.create()
        proxy: Proxy = self.proxy()

        def chunks() -> Iterator[str]:
            yield "One "
            proxy.wait_for_heartbeats(3)
            self.assertEqual(self.last_turn()["status"], "STREAMING")
            yield "two"
            proxy.wait_for_heartbeats(2)

        writer = self.connect(proxy.url).conversation(key="harbour")
        turn = writer.write(chunks(), heartbeat_seconds=0.05)
        self.assertEqual((turn["text"], turn["status"]), ("One two", "COMMITTED"))

    def test_aborts_the_turn_if_the_iterable_raises(self) -> None:
        def chunks() -> Iterator[str]:
            yield "Half of "
            yield "it"
            raise ValueError("a secret")

        with self.assertRaisesRegex(ValueError, "a secret"):
            self.create().write(chunks())
        turn = self.last_turn()
        self.assertEqual((turn["text"], turn["status"]), ("Half of it", "ABORTED"))
        self.assertEqual(turn["abortReason"], "The source of the answer failed.")

    def test_aborts_the_turn_if_the_program_is_interrupted(self) -> None:
        def chunks() -> Iterator[str]:
            yield "Half"
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.create().write(chunks())
        self.assertEqual(self.last_turn()["abortReason"], "Stopped by the writer.")

    def test_refuses_chunks_that_are_not_text(self) -> None:
        with self.assertRaisesRegex(TypeError, "must be a str, not bytes"):
            self.create().write([b"bytes"])  # type: ignore[list-item]
        self.assertEqual(self.last_turn()["status"], "ABORTED")

    def test_stops_reading_the_iterable_when_the_turn_is_closed(self) -> None:
        conversation = self.create()
        count = 0

        def chunks() -> Iterator[str]:
            nonlocal count
            yield "One "
            self.client.request("DELETE", f"/turns/{self.last_turn()['id']}")
            for count in range(1_000_000):
                yield "more "

        with self.assertRaises(ColloquyError) as caught:
            conversation.write(chunks())
        self.assertEqual(caught.exception.code, "STREAM_CLOSED")
        self.assertLess(count, 999_999)
        self.assertEqual(self.last_turn()["status"], "ERASED")

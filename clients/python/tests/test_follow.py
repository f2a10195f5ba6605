"""Tests that followers receive each entry once and in order, over connections that are cut."""

import json
import threading

from colloquy import ColloquyError, Event
from colloquy.deltas import Joiner, MissingText, utf16_length, without_utf16_prefix
from support import PATIENCE, ServerTest, problem, scripted, stream, success

HEAD = success(id="conv_1", lastSeq=4)
COMPLETE = "event: complete\ndata:"


def delta(start: int, text: str, turn: str = "t") -> Event:
    return {"__typename": "TurnDelta", "seq": None, "turnId": turn, "start": start, "text": text}


def part(number: int, start: int, text: str, is_complete: bool = False) -> Event:
    return {**delta(start, text), "__typename": "TurnPartDelta", "number": number, "isComplete": is_complete}


class FollowTest(ServerTest):
    def test_resumes_after_cuts_without_loss_and_doubles(self) -> None:
        conversation = self.create()
        proxy = self.proxy()
        follower = self.connect(proxy.url).conversation(key="harbour").follow(after_seq=0, types=["TURN_APPENDED"])
        texts = [conversation.append(f"turn {number}")["text"] for number in range(3)]
        received: list[Event] = []
        for event in follower:
            received.append(event)
            number = len(received)
            if number == 12:
                break
            if number % 3 == 0:
                proxy.refuse()
                texts += [conversation.append(f"turn {number}, while away")["text"] for _ in range(2)]
                proxy.restore()
                texts.append(conversation.append(f"turn {number}, afterwards")["text"])
            elif number % 3 == 1:
                proxy.cut()
        follower.close()
        self.assertEqual([event["turn"]["text"] for event in received], texts)
        self.assertEqual([event["seq"] for event in received], list(range(2, 14)))

    def test_delivers_the_text_of_a_streaming_turn_once(self) -> None:
        conversation = self.create()
        proxy = self.proxy()
        follower = self.connect(proxy.url).conversation(key="harbour").follow(types=["TURN_DELTA"])
        words = ["One ", "😀 two ", "three ", "😀😀 four"]
        received = threading.Semaphore(0)

        def chunks() -> object:
            for word in words:
                yield word
                assert received.acquire(timeout=PATIENCE)
                proxy.cut()

        writer = threading.Thread(target=conversation.write, args=(chunks(),), daemon=True)
        writer.start()
        text = ""
        while text != "".join(words):
            event = next(follower)
            self.assertEqual(event["start"], utf16_length(text))
            text += event["text"]
            self.assertEqual(event["joined"], text)
            received.release()
        writer.join(PATIENCE)
        follower.close()

    def test_begins_with_the_entries_after_the_call(self) -> None:
        conversation = self.create()
        conversation.append("before")
        follower = conversation.follow()
        conversation.append("after")
        self.assertEqual(next(follower)["turn"]["text"], "after")
        follower.close()

    def test_ends_when_the_conversation_is_deleted(self) -> None:
        follower = self.create().follow(after_seq=0, types=["TURN_APPENDED"])
        self.client.conversation(key="harbour").delete()
        with self.assertRaises(ColloquyError):
            next(follower)
        conversation = self.create()
        follower = conversation.follow(after_seq=0, types=["TURN_APPENDED"])
        conversation.append("Hello")
        self.assertEqual(next(follower)["seq"], 2)
        self.client.conversation(key="harbour").delete()
        self.assertEqual([event["__typename"] for event in follower], ["ConversationDeleted"])

    def test_ends_when_the_conversation_is_deleted_while_the_connection_is_lost(self) -> None:
        conversation = self.create()
        conversation.append("Hello")
        proxy = self.proxy()
        follower = self.connect(proxy.url).conversation(key="harbour").follow(after_seq=0, types=["TURN_APPENDED"])
        self.assertEqual(next(follower)["seq"], 2)
        proxy.refuse()
        self.client.conversation(key="harbour").delete()
        # A new conversation with the same key is another one.
        self.create().append("Other")
        proxy.restore()
        self.assertEqual(list(follower), [])

    def test_fails_if_the_server_cannot_be_reached(self) -> None:
        conversation = self.create()
        conversation.append("Hello")
        proxy = self.proxy()
        client = self.connect(proxy.url, retry_for=0.5)
        follower = client.conversation(key="harbour").follow(after_seq=0, types=["TURN_APPENDED"])
        next(follower)
        proxy.refuse()
        with self.assertRaises(ColloquyError) as caught:
            next(follower)
        self.assertEqual(caught.exception.code, "NETWORK")

    def test_reports_errors_at_once(self) -> None:
        with self.assertRaises(ColloquyError) as caught:
            self.client.conversation(key="none").follow()
        self.assertEqual(caught.exception.code, "NOT_FOUND")
        with self.assertRaises(ColloquyError) as caught:
            next(self.create().follow(types=["TURN_APPEND"]))
        self.assertEqual((caught.exception.code, caught.exception.issues[0]["path"]), ("INVALID_INPUT", ["types", "0"]))

    def test_joins_overlapping_deltas(self) -> None:
        joiner = Joiner()
        self.assertEqual(joiner.join(delta(0, "a😀")), {**delta(0, "a😀"), "joined": "a😀"})
        self.assertIsNone(joiner.join(delta(1, "😀")))
        self.assertEqual(joiner.join(delta(1, "😀b")), {**delta(3, "b"), "joined": "a😀b"})
        self.assertEqual(without_utf16_prefix("😀b", 2), "b")

    def test_reports_a_failure_within_the_stream(self) -> None:
        failure = 'data: {"errors": [{"message": "Refused.", "extensions": {"code": "UNAUTHENTICATED"}}]}'
        with scripted(HEAD, stream(failure)) as server:
            with self.assertRaises(ColloquyError) as caught:
                next(self.connect(server.url).conversation("conv_1").follow())
            self.assertEqual(caught.exception.code, "UNAUTHENTICATED")
            self.assertIn("afterSeq=4", server.requests[1][1])

    def test_resumes_after_a_gap(self) -> None:
        gap = 'id: 9\ndata: {"__typename": "Gap", "seq": null, "resumeAfterSeq": 9}'
        with scripted(HEAD, problem(503, "UNAVAILABLE"), stream(gap), stream(COMPLETE)) as server:
            follower = self.connect(server.url).conversation("conv_1").follow()
            self.assertEqual([event["__typename"] for event in follower], ["Gap"])
            self.assertIn("afterSeq=9", server.requests[3][1])

    def test_skips_entries_that_the_server_repeats(self) -> None:
        first, second = [f'data: {{"__typename": "TurnAppended", "seq": {seq}}}' for seq in (5, 6)]
        with scripted(HEAD, stream(first, first), stream(first, second), stream(COMPLETE)) as server:
            follower = self.connect(server.url).conversation("conv_1").follow()
            self.assertEqual([event["seq"] for event in follower], [5, 6])

    def test_ends_after_the_deletion_without_a_further_request(self) -> None:
        deleted = 'data: {"__typename": "ConversationDeleted", "seq": null}'
        with scripted(HEAD, stream(deleted), stream(COMPLETE)) as server:
            follower = self.connect(server.url).conversation("conv_1").follow()
            self.assertEqual([event["__typename"] for event in follower], ["ConversationDeleted"])
            self.assertEqual(len(server.requests), 2)

    def test_subscribes_again_if_text_before_a_delta_is_missing(self) -> None:
        late, whole = [f"data: {json.dumps(delta(start, text))}" for start, text in [(3, "def"), (0, "abcdef")]]
        with scripted(HEAD, stream(late), stream(whole), stream(COMPLETE)) as server:
            follower = self.connect(server.url).conversation("conv_1").follow(types=["TURN_DELTA"])
            self.assertEqual([event["joined"] for event in follower], ["abcdef"])
            # The ends of turns are requested too, to drop their text.
            self.assertIn("types=TURN_ABORTED&types=TURN_COMMITTED", server.requests[1][1])

    def test_delivers_each_part_of_a_turn_once(self) -> None:
        joiner = Joiner()
        events = [part(1, 0, ""), part(1, 0, "why"), part(2, 0, "", True), delta(0, "text")]
        # A new subscription delivers everything from its start.
        again = [delta(0, "text"), part(1, 0, "why?", True), part(2, 0, "", True)]
        joined = [joiner.join(event) for event in events + again]
        self.assertEqual(
            [event and (event.get("number"), event["start"], event["text"], event["joined"]) for event in joined],
            [(1, 0, "", ""), (1, 0, "why", "why"), (2, 0, "", ""), (None, 0, "text", "text")]
            + [None, (1, 3, "?", "why?"), None],
        )
        self.assertRaises(MissingText, joiner.join, part(1, 9, "x"))

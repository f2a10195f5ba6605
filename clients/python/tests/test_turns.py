"""Tests conversations and turns: names, pages, and idempotent writes over connections that are cut."""

from colloquy import ColloquyError
from support import ServerTest


class TurnsTest(ServerTest):
    def test_creates_a_conversation_once_per_key(self) -> None:
        first = self.client.create_conversation(key="a/b ü:1", title="The trip")
        again = self.client.create_conversation(key="a/b ü:1", title="Other")
        self.assertEqual((first.created, again.created), (True, False))
        fields = self.client.conversation(key="a/b ü:1").read()
        self.assertEqual((fields["title"], fields["owner"]), ("The trip", "Zoë"))
        self.assertEqual(self.client.conversation(fields["id"]).read()["key"], "a/b ü:1")

    def test_converts_keyword_arguments_to_fields(self) -> None:
        conversation = self.create()
        question = conversation.append("When is high tide?", client_id="q1", metadata={"snake_case": 1})
        answer = conversation.append("At six.", role="ASSISTANT", reply_to_id=question["id"], as_="helper")
        self.assertEqual((answer["actor"], answer["role"]), ("helper", "ASSISTANT"))
        assert answer["replyTo"] is not None
        self.assertEqual(answer["replyTo"]["id"], question["id"])
        self.assertEqual(question["metadata"], {"snake_case": 1})
        repeated = conversation.append("When is high tide?", client_id="q1", metadata={"snake_case": 1})
        self.assertEqual(repeated["id"], question["id"])

    def test_reads_pages(self) -> None:
        conversation = self.create()
        texts = [f"turn {number}" for number in range(120)]
        for first in range(0, len(texts), 60):
            turns = [{"actor": "Zoë", "role": "USER", "content": text} for text in texts[first : first + 60]]
            self.client.request("POST", "/conversations/key:harbour/turns/batch", body={"turns": turns})
        conversation.append("Noted.", role="ASSISTANT")
        self.assertEqual([turn["text"] for turn in conversation], [*texts, "Noted."])
        self.assertEqual([turn["text"] for turn in conversation.history(70)], [*texts, "Noted."][-70:])
        self.assertEqual(len(conversation.history()), 50)
        self.assertEqual([turn["text"] for turn in conversation.history(roles=["ASSISTANT"])], ["Noted."])

    def test_lists_conversations(self) -> None:
        for key in ["one", "two"]:
            self.create(key).append("Hello")
        mine = self.client.conversations(participant="Zoë", order_by="CREATED_AT")
        self.assertEqual([each["key"] for each in mine], ["two", "one"])
        self.assertEqual(list(self.client.conversations(participant="bob")), [])

    def test_appends_one_turn_when_answers_are_lost(self) -> None:
        conversation = self.create()
        proxy = self.proxy()
        proxy.lose_answers(3)
        turn = self.connect(proxy.url).conversation(key="harbour").append("Only once")
        self.assertEqual(proxy.lost, 3)
        self.assertEqual([each["id"] for each in conversation], [turn["id"]])

    def test_does_not_repeat_a_request_without_a_key(self) -> None:
        proxy = self.proxy()
        proxy.lose_answers(1)
        with self.assertRaises(ColloquyError) as caught:
            self.connect(proxy.url).create_conversation(title="Twice?")
        self.assertEqual((caught.exception.code, caught.exception.status), ("NETWORK", None))
        self.assertEqual(len(list(self.client.conversations())), 1)

    def test_uses_connections_again(self) -> None:
        conversation = self.create()
        proxy = self.proxy()
        client = self.connect(proxy.url)
        for _ in range(5):
            client.conversation(key="harbour").append("Hello")
        self.assertEqual(proxy.accepted, 1)
        # The next request meets a closed connection, and is repeated on a new one.
        proxy.cut()
        client.conversation(key="harbour").append("Last")
        self.assertEqual([turn["text"] for turn in conversation], ["Hello"] * 5 + ["Last"])
        # A request that is not safe to repeat does not use a connection that may be closed.
        proxy.cut()
        client.create_conversation(title="No key")

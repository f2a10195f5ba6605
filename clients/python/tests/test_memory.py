"""Tests recall, contexts, facts, summaries and profiles."""

from colloquy import ColloquyError
from support import ServerTest


class MemoryTest(ServerTest):
    def test_recalls_turns(self) -> None:
        conversation = self.create()
        conversation.append("The ferry to Lisbon leaves at noon.")
        conversation.append("I like tulips.")
        [hit] = conversation.recall("When does the ferry leave?", k=1)
        self.assertEqual(hit["memory"]["text"], "The ferry to Lisbon leaves at noon.")
        self.create("other").append("The ferry to Porto leaves at nine.")
        self.assertEqual(len(conversation.recall("ferry", kinds=["TURN"], k=10)), 2)
        found = self.client.recall("ferry to Porto", scope="OWNER", k=1)
        self.assertEqual(found[0]["memory"]["text"], "The ferry to Porto leaves at nine.")

    def test_builds_contexts(self) -> None:
        conversation = self.client.create_conversation(key="harbour", system_prompt="You help.")
        conversation.append("When is high tide?")
        conversation.append("At six.", role="ASSISTANT", as_="helper")
        context = conversation.context(1_000, as_="helper")
        self.assertEqual([message["role"] for message in context["messages"]], ["SYSTEM", "USER", "ASSISTANT"])
        self.assertLessEqual(context["tokenCount"], 1_000)
        openai = conversation.context(1_000, format="OPENAI", as_="helper")["messages"]
        assert isinstance(openai, list)
        self.assertEqual(openai[0], {"role": "system", "content": "You help."})
        self.assertEqual(openai[2], {"role": "assistant", "content": "At six."})
        anthropic = conversation.context(1_000, format="ANTHROPIC", as_="helper")["messages"]
        assert isinstance(anthropic, dict)
        self.assertEqual(anthropic["system"], [{"type": "text", "text": "You help."}])
        with self.assertRaises(ColloquyError) as caught:
            conversation.context(10)
        self.assertEqual((caught.exception.code, caught.exception.status), ("BUDGET_TOO_SMALL", 422))
        self.assertIsInstance(caught.exception.details["required"], int)

    def test_remembers_facts(self) -> None:
        conversation = self.create()
        fact = conversation.remember("Ada", "likes", "tulips", confidence=0.5, user_id="ada")
        assert fact is not None
        self.assertEqual((fact["object"], fact["confidence"], fact["userId"]), ("tulips", 0.5, "ada"))
        self.assertIsNone(conversation.remember("Ada", "likes", "tulips", user_id="ada"))
        conversation.remember("Bob", "lives in", "Porto")
        self.create("other").remember("Ada", "lives in", "Lisbon")
        self.assertEqual([each["object"] for each in conversation.facts(subject="Ada")], ["tulips"])
        self.assertEqual({each["object"] for each in self.client.facts(subject="Ada")}, {"tulips", "Lisbon"})

    def test_summarizes(self) -> None:
        conversation = self.create()
        conversation.append("The ferry leaves at noon.")
        self.assertIn("ferry", conversation.summarize()["content"])

    def test_reads_profiles(self) -> None:
        conversation = self.create()
        conversation.append("I live in Lisbon.")
        conversation.remember("Zoë", "lives in", "Lisbon", user_id="Zoë")
        with self.assertRaises(ColloquyError) as caught:
            self.client.profile("Zoë")
        self.assertEqual((caught.exception.code, caught.exception.status), ("NOT_FOUND", 404))
        self.client.request("POST", "/profiles/Zo%C3%AB/refresh", body={})
        self.assertIn("Lisbon", self.client.profile("Zoë")["content"])

"""Tests shared state: changes, conditions, and events, over connections that are cut."""

from colloquy import ColloquyError
from support import ServerTest


class SharedStateTest(ServerTest):
    def test_changes_and_reads_state(self) -> None:
        conversation = self.create()
        with self.assertRaises(ColloquyError) as caught:
            conversation.shared_state("my plan/1")
        self.assertEqual(caught.exception.code, "NOT_FOUND")
        conversation.update_shared_state("my plan/1", value={"steps": [], "days": 3}, expected_version=0)
        operation = {"op": "add", "path": "/steps/-", "value": "book a hotel"}
        state = conversation.update_shared_state("my plan/1", patch=[operation], as_="helper")
        assert state is not None
        self.assertEqual((state["value"], state["updatedBy"]), ({"steps": ["book a hotel"], "days": 3}, "helper"))
        conversation.update_shared_state("my plan/1", merge={"days": None}, expected_version=2)
        self.assertEqual(conversation.shared_state("my plan/1")["value"], {"steps": ["book a hotel"]})
        with self.assertRaises(ColloquyError) as caught:
            conversation.update_shared_state("my plan/1", value=1, expected_version=2)
        self.assertEqual(caught.exception.code, "CONFLICT")

    def test_follows_changes(self) -> None:
        conversation = self.create()
        conversation.update_shared_state("plan", value={"days": 3})
        conversation.update_shared_state("plan", merge={"days": 4})
        events = conversation.follow(after_seq=0, types=["SHARED_STATE_CHANGED"])
        first, second = next(events), next(events)
        events.close()
        self.assertEqual((first["key"], first["version"], second["version"]), ("plan", 1, 2))
        self.assertEqual(first["patch"], [{"op": "add", "path": "", "value": {"days": 3}}])
        self.assertEqual(second["patch"], [{"op": "replace", "path": "/days", "value": 4}])

    def test_changes_once_when_answers_are_lost(self) -> None:
        conversation = self.create()
        conversation.update_shared_state("plan", value=[])
        proxy = self.proxy()
        proxy.lose_answers(3)
        away = self.connect(proxy.url).conversation(key="harbour")
        state = away.update_shared_state("plan", patch=[{"op": "add", "path": "/-", "value": "once"}])
        assert state is not None
        self.assertEqual((state["value"], state["version"], proxy.lost), (["once"], 2, 3))

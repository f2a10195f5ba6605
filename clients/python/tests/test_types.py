"""Tests that the types of the package have the fields of the OpenAPI document."""

import json
from typing import is_typeddict
from urllib.request import urlopen

import colloquy
from support import URL, ServerTest


class TypesTest(ServerTest):
    def test_have_the_fields_of_the_api(self) -> None:
        with urlopen(f"{URL}/api/v1/openapi.json") as response:
            document = json.load(response)
        schemas = document["components"]["schemas"]

        def answer_of(path: str) -> object:
            answer = document["paths"][f"/conversations/{{conversation}}/{path}"]["post"]["responses"]["200"]
            return answer["content"]["application/json"]["schema"]["properties"]

        expected = {
            **{name: schemas[name]["properties"] for name in [
                "Turn", "Fact", "Summary", "UserProfile", "ContextItem", "ContextMessage", "ListedConversation",
                "SharedState", "Attachment",
            ]},
            "ConversationFields": schemas["Conversation"]["properties"],
            "Hit": schemas["RecallHit"]["properties"],
            "Issue": schemas["Problem"]["properties"]["issues"]["items"]["properties"],
            "Context": answer_of("context"),
            "RenderedContext": answer_of("rendered-context"),
        }  # fmt: skip
        types = {name: getattr(colloquy, name) for name in colloquy.__all__ if is_typeddict(getattr(colloquy, name))}
        self.assertEqual(set(types) - {"Event"}, set(expected))
        for name, properties in expected.items():
            self.assertEqual(set(types[name].__annotations__), set(properties), name)
        events = schemas["ConversationEvent"]["anyOf"]
        fields = {field for each in events for field in each["properties"]} | {"joined"}
        self.assertLessEqual(set(colloquy.Event.__annotations__), fields)

"""Tests uploads of files, over connections that are cut, and turns with them."""

import struct
from urllib.parse import urljoin
from urllib.request import urlopen

from colloquy import ColloquyError
from support import URL, ServerTest

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 3, 4) + b"\x08\x06\0\0\0"


class FilesTest(ServerTest):
    def test_uploads_a_file_for_a_turn(self) -> None:
        conversation = self.create()
        attachment = conversation.upload_file(PNG, "image/png", file_name="a ë.png")
        self.assertEqual((attachment["fileName"], attachment["width"], attachment["height"]), ("a ë.png", 3, 4))
        turn = conversation.append(parts=[{"file": {"attachmentId": attachment["id"]}}])
        self.assertEqual(turn["parts"][0]["mediaType"], "image/png")
        with urlopen(urljoin(URL, attachment["url"])) as response:
            self.assertEqual(response.read(), PNG)

    def test_fails_for_a_file_of_another_type(self) -> None:
        with self.assertRaises(ColloquyError) as caught:
            self.create().upload_file(b"<html></html>", "image/png")
        self.assertEqual(caught.exception.code, "INVALID_INPUT")
        self.assertIn("text/html", str(caught.exception))

    def test_uploads_once_when_answers_are_lost(self) -> None:
        self.create()
        proxy = self.proxy()
        proxy.lose_answers(3)
        away = self.connect(proxy.url).conversation(key="harbour")
        first = away.upload_file(PNG, client_id="picture")
        self.assertEqual(away.upload_file(PNG, client_id="picture")["id"], first["id"])
        self.assertEqual(proxy.lost, 3)

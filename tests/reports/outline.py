"""The elements of a page, for tests that look at it."""

from html.parser import HTMLParser

VOID = {"meta", "br", "wbr"}


class Outline(HTMLParser):
    """The elements of a page, which must be nested properly."""

    def __init__(self, page: str):
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.found if name == tag]

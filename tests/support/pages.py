"""HTML pages as a reader has them."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """What a page shows: text, code, pictures; and all addresses it names."""

    def __init__(self, html: str):
        super().__init__()
        self.text, self.code, self.images, self.addresses, self.open = [], [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [given[key] for key in ("src", "href", "srcset", "data", "action") if key in given]
        if tag == "img":
            self.images.append(given)
        elif tag not in ("meta", "br", "link"):
            self.open.append(tag)
        if tag == "pre":
            self.code.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag  # every element is closed, in order

    def handle_data(self, data):
        if "style" in self.open:
            assert "url(" not in data
            assert "@import" not in data
        elif "pre" in self.open:
            self.code[-1] += data
        self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

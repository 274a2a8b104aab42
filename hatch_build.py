"""The page of a package index: the README, whose links and pictures lead to a repository.

``SYNTHLAB_ADDRESS=https://github.com/OWNER/NAME python -m build`` makes what is uploaded. Without the address links
are those of the README, and the package has no URLs.
"""

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class IndexPage(MetadataHookInterface):
    """Fills in what pyproject.toml calls dynamic."""

    def update(self, metadata: dict) -> None:
        text, address = (Path(self.root) / "README.md").read_text(), os.environ.get("SYNTHLAB_ADDRESS")
        if address:
            text = re.sub(r"(!\[[^\]]*\])\((?!https?:)", rf"\1({address}/raw/main/", text)
            text = re.sub(r"(\[[^\]]*\])\((?!https?:|#)", rf"\1({address}/blob/main/", text)
            text = text.replace("`REPOSITORY` is the address of this page. ", "").replace("REPOSITORY", address)
            named = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}
            urls = {name: f"{address}/blob/main/{path}" for name, path in named.items()}
            metadata["urls"] = {"Repository": address, "Issues": f"{address}/issues"} | urls
        else:
            metadata["urls"] = {}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

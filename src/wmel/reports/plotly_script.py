"""What a page takes from Plotly: its JavaScript, and figures as data."""

from html import unescape
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from wmel.reports.document import Drawn


def drawn(name: str, title: str, figure: go.Figure) -> Drawn:
    """The figure for a page; the name is its id there, the title is plain text."""
    return Drawn(name, title, as_json(figure))


def title_of(figure: Any) -> str:
    """The title drawn above a figure, as plain text."""
    return unescape(figure.layout.title.text)


def as_json(figure: go.Figure) -> str:
    """The figure's data, harmless inside a script element."""
    return str(figure.to_json()).replace("<", "\\u003c")


def plotly_javascript() -> str:
    """All of plotly.js, with the line ends a browser hashes."""
    return get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n")

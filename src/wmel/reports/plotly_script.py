"""What a page takes from Plotly: its JavaScript, and figures as data."""

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs


def as_json(figure: go.Figure) -> str:
    """The figure's data, harmless inside a script element."""
    return str(figure.to_json()).replace("<", "\\u003c")


def plotly_javascript() -> str:
    """All of plotly.js, with the line ends a browser hashes."""
    return get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n")

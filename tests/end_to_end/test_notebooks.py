"""The notebooks run from the first cell to the last, as a user runs them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["first-gap.ipynb", "your-own-model.ipynb"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_the_first_cell_to_the_last(path, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    (tmp_path / "models").symlink_to(ROOT / "models")
    notebook = nbformat.read(path, 4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = [output.data["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert any("<svg" in page and "<table" in page for page in pages)  # a result shows itself
    assert all(len(page) < 200_000 for page in pages)

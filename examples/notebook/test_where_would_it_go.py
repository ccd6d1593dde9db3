"""The notebook, cell by cell as Jupyter runs it, with what its last lines show."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent


def _run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def test_every_cell_shows_what_it_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    notebook = json.loads((FOLDER / "where_would_it_go.ipynb").read_text())
    names: dict[str, Any] = {}
    shown = [_run("".join(cell["source"]), names) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    cluster, pending, database, batch, web, data, all_of_them = shown
    assert "<td" in cluster._repr_html_()
    assert pending == ("default/web-0", "default/database")
    assert database.chosen == "new-1"
    assert "refused by NodeAffinity" in database._repr_html_()
    assert "gpu-1" in batch.feasible
    assert web.chosen == "old-1"
    assert data == ("old-1", 500)
    assert [pod for pod, _ in all_of_them] == ["default/web-0", "default/database"]

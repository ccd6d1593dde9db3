"""Small tables: as text for a terminal, as HTML for a notebook."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the names of the columns, and rows of as many texts."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def text_table(table: Table) -> str:
    """The table in columns, without lines at either end."""
    rows = [table.head, *table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([table.title, *lines])


def html_table(table: Table) -> str:
    """The table as HTML. Everything in it is escaped: names and messages come from a cluster."""
    head = "".join(f'<th style="text-align:left">{escape(cell)}</th>' for cell in table.head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    caption = f'<caption style="text-align:left;font-weight:bold">{escape(table.title)}</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    return f'<td style="text-align:left">{escape(text)}</td>'

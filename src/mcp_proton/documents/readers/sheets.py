"""Workbooks (XLSX, SpreadsheetML) → one page a sheet, one line a row. Values as they were calculated last."""

from __future__ import annotations

import warnings
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO

import openpyxl
from defusedxml.common import DefusedXmlException

from mcp_proton.documents.archive import Archive
from mcp_proton.documents.refusals import Reason, Unreadable
from mcp_proton.mime.notices import Notice
from mcp_proton.mime.tables import LONGEST_CELL, MOST_CELLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a workbook into pages. A hidden sheet is left out; its number stays."""
    Archive(file).bound(".xml")
    pages.unit = "sheet"
    warnings.simplefilter("ignore")
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        for name in book.sheetnames:
            pages.begin(name)
            if pages.wanted:
                _sheet(book[name], pages)
    except (MemoryError, Unreadable):
        raise
    except Exception as error:  # whatever a library says of a file that is none
        raise Unreadable(_reason(error)) from None


def _reason(error: BaseException | None) -> Reason:
    while error is not None:
        if isinstance(error, DefusedXmlException):
            return Reason.XML_BOMB
        error = error.__cause__ or error.__context__
    return Reason.DAMAGED


def _sheet(sheet: Any, pages: Pages) -> None:
    if getattr(sheet, "sheet_state", "visible") != "visible":
        pages.notices.add(Notice.HIDDEN_TEXT_REMOVED)
        return
    if not hasattr(sheet, "iter_rows"):
        return  # a sheet that is a chart
    sheet.reset_dimensions()  # what a sheet says of its size may be wrong, and cells beyond it would be lost
    for row in sheet.iter_rows(values_only=True):
        if not pages.wanted:
            return
        if shown := _line(row, pages):
            pages.write(shown + "\n")


def _line(row: Sequence[Any], pages: Pages) -> str:
    filled = len(row)
    while filled and row[filled - 1] is None:
        filled -= 1
    if filled > MOST_CELLS:
        pages.notices.add(Notice.TRUNCATED)
    return " | ".join(" ".join(_shown(value).split()) for value in row[: min(filled, MOST_CELLS)])


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return f"{value:.15g}"
        case datetime():
            return value.isoformat(" ").removesuffix(" 00:00:00")
        case date() | time():
            return value.isoformat()
        case timedelta() | int():
            return str(value)
        case _:
            return str(value)[:LONGEST_CELL]

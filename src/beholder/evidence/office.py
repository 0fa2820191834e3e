"""Documents, slides and workbooks: checked by content, made ready, converted to PDF.

    check (packages) -> workbooks: make ready (workbook_xlsx, workbook_ods)
                     -> convert (soffice) -> workbooks: settle pages (workbook)

The pages are drawn by `pdf`. What parses hostile bytes are plain functions of a job (`check_office`,
`ready_workbook`, `settle_workbook`), for a fenced worker to run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from beholder.evidence import packages
from beholder.evidence.kinds import Job
from beholder.evidence.packages import OfficeFile
from beholder.evidence.soffice import OfficeSuite
from beholder.evidence.workbook import Pages, Sheet, Workbook, settle_pages, sheet_warnings
from beholder.evidence.workbook_ods import ready_ods
from beholder.evidence.workbook_xlsx import ready_xlsx
from beholder.records import Warning_

_T = TypeVar("_T")

MODULE = "beholder.evidence.office"
SUFFIXES = (
    ".doc", ".docx", ".docm", ".ppt", ".pptx", ".pptm", ".odt", ".odp", ".rtf",
    ".xlsx", ".xlsm", ".xls", ".ods",
)  # fmt: skip
"""What is routed here by name."""


class Run(Protocol):
    """Runs a function of a module on a job, in a fenced process: the shape of `WorkerPool.run`."""

    async def __call__(self, module: str, function: str, job: Job, result: type[_T], **more: Any) -> _T:
        """What the function returns, or what it raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """An office file as a PDF.

    Attributes:
        sheets: The name of the sheet that each page shows; None for documents and slides, and where it is
            not certain.
    """

    pdf: bytes = field(repr=False)
    sheets: tuple[str, ...] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[Warning_, ...] = ()


async def render_office(suite: OfficeSuite, job: Job, run: Run) -> Converted:
    """The file as a PDF, a page for each page, slide or visible sheet.

    Raises:
        MissingTool: There is no LibreOffice.
        BrokenArtifact: `empty, wrong_type, encrypted, corrupt, too_large` or `unrenderable`.
        RendererFailed: It is not the file's fault.
    """
    file = await run(MODULE, "check_office", job, OfficeFile)
    facts: dict[str, Any] = {"format": file.suffix, "family": file.family}
    if file.links:
        facts["links_not_loaded"] = list(file.links)
    if file.family == "workbook":
        return await _workbook(suite, job, file, facts, run)
    made = await suite.convert(job.name, file.suffix, job.data, target="pdf")
    facts |= {"retried": made.retried}
    return Converted(pdf=made.data, facts=facts | _told(suite), warnings=file.warnings)


async def _workbook(
    suite: OfficeSuite, job: Job, file: OfficeFile, facts: dict[str, Any], run: Run
) -> Converted:
    retried = False
    ready = await run(MODULE, "ready_workbook", job, Workbook, suffix=file.suffix)
    states, edits, not_computed, volatile = ready.sheets, ready.edits, ready.not_computed, ready.volatile
    if ready.through_ods:
        made = await suite.convert(job.name, ready.suffix, ready.data, target="ods")
        retried = made.retried
        ready = await run(MODULE, "ready_workbook", replace(job, data=made.data), Workbook, suffix=".ods")
        facts["through_ods"] = True
    made = await suite.convert(job.name, ready.suffix, ready.data, target="pdf")
    sheets = _with_states(ready.sheets, states)
    pages = await run(
        MODULE,
        "settle_workbook",
        replace(job, data=made.data),
        Pages,
        sheets=[_packed(one) for one in sheets],
    )
    visible = [sheet for sheet in sheets if sheet.state == "visible"]
    facts |= {
        "sheets": [sheet.name for sheet in visible],
        "hidden_sheets": [sheet.name for sheet in sheets if sheet.state != "visible"],
        "ranges": {sheet.name: sheet.shown or sheet.used for sheet in visible},
        "edits": sorted({*edits, *ready.edits}),
        "retried": retried or made.retried,
    }
    if pages.sheets is not None:
        facts["empty_sheets"] = [sheet.name for sheet in visible if sheet.name not in pages.sheets]
        facts["sheets_over_the_pages"] = list(pages.sheets[job.policy.pages :])
    warnings = [*file.warnings, *sheet_warnings(sheets, job.name), *pages.warnings]
    if not_computed:
        detail = f"no value was saved for formulas with {', '.join(not_computed)}"
        warnings.append(Warning_(code="formula_not_computed", detail=detail, source=job.name))
    if volatile:
        detail = f"formulas with {', '.join(volatile)} give another value each time the workbook is drawn"
        warnings.append(Warning_(code="page_not_settled", detail=detail, source=job.name))
    return Converted(pdf=pages.pdf, sheets=pages.sheets, facts=facts | _told(suite), warnings=tuple(warnings))


def _with_states(sheets: tuple[Sheet, ...], first: tuple[Sheet, ...]) -> tuple[Sheet, ...]:
    """The sheets, with what their first format told more exactly: an ODS knows hidden, but not how well."""
    if [sheet.name for sheet in sheets] != [sheet.name for sheet in first]:
        return sheets
    return tuple(replace(one, state=other.state) for one, other in zip(sheets, first, strict=True))


def _told(suite: OfficeSuite) -> dict[str, Any]:
    return dict(suite.renderer)


# --- what a worker runs -------------------------------------------------------------------------


def preload() -> None:
    """Load what the functions below need while files may still be opened."""
    import pypdfium2 as pdfium

    packages.preload()
    pdfium.PdfDocument.new().close()


def check_office(job: Job) -> OfficeFile:
    """As `packages.check_office`."""
    return packages.check_office(job)


def ready_workbook(job: Job, *, suffix: str) -> Workbook:
    """A workbook made ready to be drawn, as far as its format (`suffix`) can be edited.

    Raises:
        BrokenArtifact: `corrupt, encrypted` or `too_large`.
    """
    if suffix in (".xlsx", ".xlsm"):
        return ready_xlsx(replace(job, suffix=suffix))
    if suffix == ".ods":
        return ready_ods(replace(job, suffix=suffix))
    return Workbook(data=job.data, suffix=suffix, through_ods=True)


def settle_workbook(job: Job, *, sheets: list[dict[str, Any]]) -> Pages:
    """As `workbook.settle_pages` of the PDF that is the job's data.

    Args:
        sheets: Fields of `Sheet`, each.
    """
    return settle_pages(job.name, job.data, [Sheet(**one) for one in sheets])


def _packed(sheet: Sheet) -> dict[str, Any]:
    return {name: getattr(sheet, name) for name in Sheet.__dataclass_fields__}

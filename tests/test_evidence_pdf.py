"""PDF: pages as a reader draws them, first ones first, in pictures that a judge takes unshrunk."""

from __future__ import annotations

import hashlib
import io
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
import pytest
from PIL import Image, ImageChops, ImageStat
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.pdf import MAX_PICTURE_PIXELS, render_pages, render_pdf
from beholder.evidence.sniff import sniff
from beholder.judges.limits import media_limits
from beholder.records import EvidencePolicy, JudgeSpec, MediaLimits
from tests.fakes.evidence import LIMITS, pixels

A4 = (595.0, 842.0)


def document(
    pages: int = 1, size: tuple[float, float] = A4, draw: Callable[[Canvas, int], None] | None = None
) -> bytes:
    """A PDF, the same bytes each time."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=size, invariant=1)
    for at in range(pages):
        if draw is None:
            canvas.drawString(50, min(size[1] - 40, 780), f"page {at + 1}")
        else:
            draw(canvas, at)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def changed(data: bytes, change: Callable[[pikepdf.Pdf], None], **options: Any) -> bytes:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(data)) as pdf:
        change(pdf)
        pdf.save(out, **options)
    return out.getvalue()


def job(data: bytes, *, budget: int = 32, limits: MediaLimits = LIMITS, **policy: Any) -> Job:
    return Job(
        name="a.pdf",
        suffix=".pdf",
        data=data,
        policy=EvidencePolicy(**policy),
        limits=limits,
        budget=budget,
    )


def show(data: bytes, **options: Any) -> Shown:
    return render_pdf(job(data, **options))


def slug(data: bytes) -> str:
    with pytest.raises(BrokenArtifact) as caught:
        show(data)
    return caught.value.slug


def warned(shown: Shown) -> list[tuple[str, str]]:
    return [(warning.code, warning.detail) for warning in shown.warnings]


def corner(canvas: Canvas, _: int) -> None:
    """A red square at the lower left of an A4 page, and text."""
    canvas.setFillColorRGB(1, 0, 0)
    canvas.rect(0, 0, 200, 200, stroke=0, fill=1)
    canvas.setFillColorRGB(0, 0, 0)
    canvas.drawString(250, 400, "text in the middle")


def is_red(image: Image.Image, x: float, y: float) -> bool:
    """Whether the pixel at these shares of width and height is red."""
    red, green, _ = image.getpixel((int(x * image.width), int(y * image.height)))
    return red > 200 and green < 80


def test_a_page_at_the_judges_sharp_size() -> None:
    """A page is one picture, as large as the judge takes it unshrunk and no finer than 150 dpi."""
    for limits, dpi in ((LIMITS, 112.8), (MediaLimits(), 150.0)):
        shown = show(document(), limits=limits)
        (picture,) = shown.pictures
        assert (picture.page, picture.pages, picture.part) == (1, 1, None)
        assert picture.width_px * picture.height_px <= (limits.shrink_pixels or 10**9)
        assert abs(picture.height_px - 842 * dpi / 72) < 2
        assert shown.facts["dpi"] == [pytest.approx(dpi, abs=0.1)]
        assert shown.facts["page_sizes_pt"] == [[595.0, 842.0]]
        assert picture.transforms[0] == f"drawn at {dpi} dpi"
        assert warned(shown) == []


def test_the_first_pages_and_what_is_missing() -> None:
    """Of 40 pages the first six are shown, by number, and it is said which are not."""
    data = document(40)
    shown = show(data)
    assert [(picture.page, picture.pages) for picture in shown.pictures] == [(at, 40) for at in range(1, 7)]
    assert warned(shown) == [("truncated", "6 of 40 pages are shown; not shown: pages 7-40")]
    assert shown.facts["pages"] == 40
    assert shown.facts["pages_shown"] == [1, 2, 3, 4, 5, 6]
    assert [picture.page for picture in show(data, budget=2).pictures] == [1, 2]
    assert [picture.page for picture in show(data, pages=40, budget=40).pictures] == list(range(1, 41))
    assert warned(show(document(7))) == [("truncated", "6 of 7 pages are shown; not shown: page 7")]


def test_three_thousand_pages_cost_no_more_than_six() -> None:
    """A long document is not read to its end."""
    shown = show(document(3000))
    assert len(shown.pictures) == 6
    assert shown.facts["pages"] == 3000


def test_rotation_and_crop_box() -> None:
    """A page is seen turned and cropped as its dictionary says."""

    def turn(pdf: pikepdf.Pdf) -> None:
        pdf.pages[0].Rotate = 90

    def crop(pdf: pikepdf.Pdf) -> None:
        pdf.pages[0].CropBox = [100, 100, 500, 300]

    upright = pixels(show(document(draw=corner)).pictures[0])
    assert is_red(upright, 0.1, 0.95)
    assert not is_red(upright, 0.1, 0.1)
    turned = pixels(show(changed(document(draw=corner), turn)).pictures[0])
    assert turned.width > turned.height
    assert is_red(turned, 0.05, 0.1)
    cropped = pixels(show(changed(document(draw=corner), crop)).pictures[0])
    assert cropped.width / cropped.height == pytest.approx(2.0, rel=0.01)
    assert is_red(cropped, 0.2, 0.75)
    assert not is_red(cropped, 0.3, 0.75)


def test_form_fields_and_annotations_are_drawn() -> None:
    """What was filled into a form and what was noted on a page is seen."""

    def form(canvas: Canvas, _: int) -> None:
        canvas.acroForm.textfield(name="f", value="FILLED IN", x=50, y=600, width=300, height=60, fontSize=40)

    def annotate(pdf: pikepdf.Pdf) -> None:
        square = pikepdf.Dictionary(
            Type=pikepdf.Name.Annot,
            Subtype=pikepdf.Name.Square,
            Rect=[50, 500, 300, 700],
            C=[1, 0, 0],
            IC=[1, 0, 0],
            F=4,
        )
        pdf.pages[0].Annots = pdf.make_indirect([square])

    field = pixels(show(document(draw=form)).pictures[0]).convert("L")
    box = field.crop(tuple(int(at * field.width / 595) for at in (60, 842 - 655, 340, 842 - 605)))
    assert sum(box.histogram()[:100]) > 100
    noted = pixels(show(changed(document(), annotate)).pictures[0])
    assert is_red(noted, 150 / 595, (842 - 600) / 842)


def test_passwords() -> None:
    """A document that only restricts opens; one that asks for a password is encrypted."""
    for user, opens in (("", True), ("secret", False)):
        data = changed(document(2), lambda _: None, encryption=pikepdf.Encryption(user=user, owner="o", R=6))
        if opens:
            assert len(show(data).pictures) == 2
        else:
            assert slug(data) == "encrypted"


def test_no_pages_after_a_password() -> None:
    """A file without pages is damaged whatever was opened before it, though PDFium keeps that one's error."""
    locked = changed(document(), lambda _: None, encryption=pikepdf.Encryption(user="x", owner="y"))
    empty = io.BytesIO()
    pikepdf.new().save(empty)
    assert slug(locked) == "encrypted"
    assert slug(empty.getvalue()) == "corrupt"


def test_what_is_no_pdf() -> None:
    """Another content than a PDF's is the wrong type; nothing at all is empty."""
    for data in (b"<h1>not a pdf</h1>", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"words", bytes(2000)):
        assert slug(data) == "wrong_type"
    assert slug(b"") == "empty"


def test_damage() -> None:
    """What a reader can repair is shown; what it cannot is corrupt."""
    data = document(2, draw=corner)
    whole = show(data)
    for repaired in (b"\n\n" + data, data[: data.rindex(b"xref")], data.replace(b"%%EOF", b"")):
        assert [one.sha256 for one in show(repaired).pictures] == [one.sha256 for one in whole.pictures]
    assert slug(data[:300]) == "corrupt"
    assert slug(b"%PDF-1.7\n" + bytes(range(256)) * 20) == "corrupt"


def test_no_pages() -> None:
    """A document without a page is corrupt."""

    def empty(pdf: pikepdf.Pdf) -> None:
        pdf.Root.Pages.Kids = pikepdf.Array([])
        pdf.Root.Pages.Count = 0

    assert slug(changed(document(), empty)) == "corrupt"


def test_a_page_that_cannot_be_read_among_others() -> None:
    """A page number with nothing behind it is told, and the others are shown."""

    def lose(pdf: pikepdf.Pdf) -> None:
        pdf.Root.Pages.Kids[1] = 5

    shown = show(changed(document(3), lose))
    assert [picture.page for picture in shown.pictures] == [1]
    assert warned(shown) == [("damaged_pages", "cannot be read: pages 2")]


def poster(canvas: Canvas, _: int) -> None:
    """Something at every place of a large page."""
    rng = random.Random(2)
    for at in range(400):
        canvas.setFillColorRGB(rng.random(), rng.random(), rng.random())
        canvas.rect(rng.random() * 2300, rng.random() * 3300, 90, 60, stroke=0, fill=1)
        canvas.drawString(rng.random() * 2300, rng.random() * 3300, f"label {at}")


def test_a_poster_is_an_overview_and_tiles() -> None:
    """A page that would be unreadable whole is shown whole and in parts; the parts together are the page."""
    data = document(size=(2384, 3370), draw=poster)
    shown = show(data)
    overview, *tiles = shown.pictures
    assert overview.part == 0
    assert [tile.part for tile in tiles] == list(range(1, len(tiles) + 1))
    assert shown.facts["dpi"] == [96.0]
    assert all(tile.width_px * tile.height_px <= (LIMITS.shrink_pixels or 0) for tile in shown.pictures)
    whole = pixels(show(data, layout="single", limits=MediaLimits(shrink_edge_px=4493)).pictures[0])
    joined = Image.new("RGB", (3179, 4493))
    for tile in tiles:
        x, y = (int(word) for word in tile.transforms[1].split()[3].strip(",").split(","))
        joined.paste(pixels(tile), (x, y))
    assert sum(tile.width_px * tile.height_px for tile in tiles) == 3179 * 4493
    difference = ImageChops.difference(joined.crop((0, 0, *whole.size)), whole.crop((0, 0, *joined.size)))
    assert max(ImageStat.Stat(difference).mean) < 2
    small = pixels(overview)
    again = joined.resize(small.size, Image.Resampling.BOX)
    assert max(ImageStat.Stat(ImageChops.difference(small, again)).mean) < 6


def test_tiles_meet_exactly() -> None:
    """No pixel of a page is drawn twice or left out where its parts meet, and none is drawn otherwise."""
    import pypdfium2 as pdfium

    from beholder.evidence.capture import Box
    from beholder.evidence.pdf import draw_box

    page = pdfium.PdfDocument(document(size=(2384, 3370), draw=poster))[0]
    size = (900, 1272)
    whole = draw_box(page, size, Box(0, 0, *size))
    parts = [draw_box(page, size, Box(0, top, 900, 318)) for top in range(0, 1272, 318)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_layouts_of_a_poster() -> None:
    """`single` shrinks a large page, with a warning; `tiles` has no overview."""
    data = document(size=(2384, 3370), draw=poster)
    single = show(data, layout="single")
    assert len(single.pictures) == 1
    assert [code for code, _ in warned(single)] == ["downscaled"]
    assert all(picture.part for picture in show(data, layout="tiles").pictures)


def test_pictures_are_shared_fairly_among_pages() -> None:
    """One huge page does not take the pictures of the others; what is left out is told with the page."""

    def resize(pdf: pikepdf.Pdf) -> None:
        pdf.pages[1].MediaBox = [0, 0, 6000, 9000]

    shown = show(changed(document(4), resize), budget=10)
    assert [picture.page for picture in shown.pictures] == [1, *[2] * 7, 3, 4]
    ((code, detail),) = warned(shown)
    assert code == "truncated"
    assert detail.startswith("page 2: 6 of ")


@pytest.mark.parametrize("size", [(200_000, 200_000), (14_400, 3), (3, 1_000_000), (0.01, 0.01)])
@pytest.mark.parametrize("layout", ["single", "overview+tiles"])
def test_pages_of_any_size_are_bounded(size: tuple[float, float], layout: str) -> None:
    """However large or thin a page, no picture has more than the stated number of pixels."""
    for limits in (LIMITS, MediaLimits()):
        shown = show(document(size=size), layout=layout, limits=limits, budget=2)
        assert 1 <= len(shown.pictures) <= 2
        assert all(one.width_px * one.height_px <= MAX_PICTURE_PIXELS for one in shown.pictures)


def test_an_image_bomb_in_a_page() -> None:
    """A picture of 400 million pixels in a small page is drawn in bounded memory."""
    resource = pytest.importorskip("resource")
    import zlib

    pdf = pikepdf.new()
    page = pdf.add_blank_page(page_size=(300, 300))
    bomb = pikepdf.Stream(pdf, zlib.compress(bytes(20_000 * 20_000 // 8)))
    bomb.stream_dict = pikepdf.Dictionary(
        Type=pikepdf.Name.XObject,
        Subtype=pikepdf.Name.Image,
        Width=20_000,
        Height=20_000,
        BitsPerComponent=1,
        ColorSpace=pikepdf.Name.DeviceGray,
        Filter=pikepdf.Name.FlateDecode,
    )
    page.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(I=bomb))
    page.Contents = pikepdf.Stream(pdf, b"q 200 0 0 200 50 50 cm /I Do Q")
    out = io.BytesIO()
    pdf.save(out)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shown = show(out.getvalue())
    assert pixels(shown.pictures[0]).getpixel((300, 300)) == (0, 0, 0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000


def test_blank() -> None:
    """A document whose shown pages are all white is judged, with a note; one page with text is enough."""

    def some(canvas: Canvas, at: int) -> None:
        if at == 1:
            canvas.drawString(50, 700, "a word")

    assert [code for code, _ in warned(show(document(2, draw=lambda *_: None)))] == ["blank_capture"]
    assert warned(show(document(2, draw=some))) == []


def test_fonts_that_are_not_in_the_file() -> None:
    """Text in a font that the file does not hold is drawn with one of ours, and the font is named."""
    shown = show(document())
    assert shown.facts["fonts_not_embedded"] == ["Helvetica"]
    assert warned(shown) == []


def test_drawn_pages_are_lossless_and_photographs_are_not() -> None:
    """Text is sent as PNG, a photograph as JPEG, and as the judge takes it where it takes only one."""
    noise = Image.frombytes("RGB", (300, 400), random.Random(1).randbytes(300 * 400 * 3))
    smooth = noise.resize((900, 1200), Image.Resampling.BICUBIC)

    def photograph(canvas: Canvas, _: int) -> None:
        canvas.drawImage(ImageReader(smooth), 0, 0, 595, 842)

    text, photo = document(), document(draw=photograph)
    assert [show(data).pictures[0].media_type for data in (text, photo)] == ["image/png", "image/jpeg"]
    for media_type in ("image/png", "image/jpeg"):
        limits = MediaLimits(media_types=(media_type,))
        for data in (text, photo):
            (picture,) = show(data, limits=limits).pictures
            assert picture.media_type == media_type == sniff(picture.data)


def test_the_same_bytes_each_time() -> None:
    """The same document gives the same bytes, in this process and in another one."""
    data = document(3, draw=corner)
    program = (
        "import sys; from tests.test_evidence_pdf import hashes; "
        "print(*hashes(sys.stdin.buffer.read()), sep='\\n')"
    )
    made = subprocess.run(
        [sys.executable, "-c", program],
        input=data,
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert hashes(data) == hashes(data) == made.stdout.decode().split()


def hashes(data: bytes) -> list[str]:
    return [hashlib.sha256(picture.data).hexdigest() for picture in show(data).pictures]


def test_sheets_have_their_names() -> None:
    """Pages that are a workbook's sheets carry the sheet's name, and warnings speak of it."""
    shown = render_pages(job(b""), document(3), labels=["Costs", "Plan"])
    assert [picture.sheet for picture in shown.pictures] == ["Costs", "Plan", None]
    wide = render_pages(job(b"", budget=3), document(size=(9000, 9000)), labels=["Costs"])
    assert any(detail.startswith("sheet 'Costs': 2 of") for _, detail in warned(wide))


def test_every_judge_gets_what_it_takes() -> None:
    """No page is sent in a size that a vendor's judge would shrink."""
    data = document(2, draw=corner)
    for model in ("anthropic/claude-sonnet-4-6", "openai/gpt-4o", "google/gemini-3-pro"):
        provider, _, name = model.partition("/")
        limits = media_limits(JudgeSpec(provider=provider, name=name))
        for picture in show(data, limits=limits).pictures:
            assert max(picture.width_px, picture.height_px) <= (limits.shrink_edge_px or 8000)
            assert picture.width_px * picture.height_px <= (limits.shrink_pixels or 10**9)


@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="poppler is an oracle only, and is not here")
def test_like_another_reader(tmp_path: Path) -> None:
    """Drawn by another PDF library at the same size, the page looks the same."""
    data = document(draw=poster, size=(2384, 3370))
    (tmp_path / "a.pdf").write_bytes(data)
    (ours,) = show(data, layout="single").pictures
    size = ["-scale-to-x", str(ours.width_px), "-scale-to-y", str(ours.height_px)]
    command = ["pdftoppm", "-png", "-singlefile", *size, str(tmp_path / "a.pdf"), str(tmp_path / "a")]
    subprocess.run(command, check=True)
    theirs = Image.open(tmp_path / "a.png").convert("RGB")
    assert max(ImageStat.Stat(ImageChops.difference(pixels(ours), theirs)).mean) < 2


def damaged(data: bytes, rng: random.Random) -> bytes:
    changed_bytes = bytearray(data)
    for _ in range(rng.choice((1, 3, 20))):
        changed_bytes[rng.randrange(len(changed_bytes))] = rng.randrange(256)
    if rng.random() < 0.2:
        del changed_bytes[rng.randrange(len(changed_bytes)) :]
    if rng.random() < 0.2:
        at = rng.randrange(max(1, len(changed_bytes)))
        del changed_bytes[at : at + rng.randrange(1, 60)]
    return bytes(changed_bytes)


def survive(rounds: int, seed: int) -> int:
    """How many damaged documents were refused; all others were shown."""
    rng = random.Random(seed)

    def form(canvas: Canvas, at: int) -> None:
        corner(canvas, at)
        canvas.acroForm.textfield(name=f"f{at}", value="x", x=50, y=600, width=300, height=60)

    kinds = [
        document(2, draw=corner),
        document(2, draw=form),
        changed(document(2), lambda _: None, object_stream_mode=pikepdf.ObjectStreamMode.generate),
        changed(document(2), lambda _: None, encryption=pikepdf.Encryption(user="", owner="o")),
    ]
    refused = 0
    for _ in range(rounds):
        for data in kinds:
            try:
                assert render_pdf(job(damaged(data, rng), budget=3)).pictures
            except BrokenArtifact:
                refused += 1
    return refused


def test_damaged_documents() -> None:
    """Whatever is broken in a document, it is shown or it is the file's fault."""
    assert survive(40, 7) > 0


@pytest.mark.long
def test_many_damaged_documents() -> None:
    """The same, for thousands of them."""
    assert survive(2000, 8) > 0


def test_the_handed_documents(shared: Path) -> None:
    """Each PDF of the corpus has the pages, or the fault, that is described there."""
    folder = shared / "corpus" / "handout"
    pages = {
        "mk_REPAIR-2022-INV-001_multipage": 3,
        "mk_SPARSE-2024-INV-1234_borderless_table": 2,
        "pf_google-doc-document": 1,
        "pf_habibi-rotated": 4,
        "pf_annotated_pdf": 1,
        "fc_corruptionOneByteMissing": 1,
        "fc_encryption_nocopy": 1,
        "fc_text_only_fontsNotEmbedded": 1,
        "fc_T04_007_premature-EOF-only": 1,
        "fc_032270": 1,
        "pj_bigboundingbox": 1,
        "pj_empty": 1,
        "pj_SimFang-variant": 1,
        "pj_basicapi": 3,
    }
    for name, count in pages.items():
        shown = show((folder / f"{name}.pdf").read_bytes())
        assert [picture.page for picture in shown.pictures] == list(range(1, count + 1)), name
        assert [code for code, _ in warned(shown)] == (["blank_capture"] if name == "pj_empty" else []), name
    assert slug((folder / "pf_libreoffice-writer-password.pdf").read_bytes()) == "encrypted"
    assert slug((folder / "pj_REDHAT-1531897-0.pdf").read_bytes()) == "corrupt"


def test_hair_lines_get_a_border() -> None:
    """No picture of a page is so thin that a judge would refuse it: it stands in a white one."""

    def red(canvas: Canvas, _: int) -> None:
        canvas.setFillColorRGB(1, 0, 0)
        canvas.rect(0, 0, 300_000, 300_000, stroke=0, fill=1)

    limits = media_limits(JudgeSpec(provider="openai", name="gpt-4o"))
    for size in ((10_000.0, 3.0), (3.0, 300_000.0), (5.0, 5.0)):
        shown = show(document(size=size, draw=red), limits=limits)
        for picture in shown.pictures:
            edges = sorted((picture.width_px, picture.height_px))
            assert edges[0] >= 28, size
            assert edges[1] <= 100 * edges[0], size
            image = pixels(picture)
            assert image.size == (picture.width_px, picture.height_px)
            assert image.getpixel(((image.width - 1) // 2, (image.height - 1) // 2)) != (255, 255, 255)
            assert any("white border" in words for words in picture.transforms)
        assert "blank_capture" in {warning.code for warning in shown.warnings}


def test_a_crop_box_beside_the_page_crops_nothing() -> None:
    """A page whose crop box lies outside of it is shown whole."""

    def beside(pdf: pikepdf.Pdf) -> None:
        pdf.pages[0].CropBox = [5000, 5000, 6000, 6000]

    shown = show(changed(document(), beside))
    assert shown.facts["page_sizes_pt"] == [[595.0, 842.0]]

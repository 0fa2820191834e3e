"""Outside hosts that a page's text names."""

from __future__ import annotations

import time

import pytest

from beholder.validation.page_hosts import outside_hosts

HTTPS = "https:" + "//"
CSS, SCRIPT = "url() of a style sheet", "a string of a script"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<script src='https://cdn.example.com/a.js'></script>", {"cdn.example.com": "src of <script>"}),
        ('<SCRIPT async\n SRC = "//CDN.example.com:8443/a.js">', {"cdn.example.com": "src of <script>"}),
        ("<img src=https://img.example.org/x.png>", {"img.example.org": "src of <img>"}),
        ("<iframe src='https://frame.example.org'></iframe>", {"frame.example.org": "src of <iframe>"}),
        (
            '<link rel="stylesheet" href="https://css.example.com/x.css">',
            {"css.example.com": "href of <link>"},
        ),
        (
            '<link href="https://css.example.com/x.css" rel=stylesheet>',
            {"css.example.com": "href of <link>"},
        ),
        ('<image xlink:href="https://i.example.com/x.png"/>', {"i.example.com": "xlink:href of <image>"}),
        ('<img srcset="a.png 1x, https://two.example.com/b.png 2x">', {"two.example.com": "srcset"}),
        ("<div style='background:url(https://bg.example.com/x.png)'>", {"bg.example.com": CSS}),
        ("<style>@import 'https://fonts.example.com/css';</style>", {"fonts.example.com": CSS}),
        ("<script>fetch(`https://api.example.com/${id}`)</script>", {"api.example.com": SCRIPT}),
        ("<script>import x from '//esm.example.com/x.js'</script>", {"esm.example.com": SCRIPT}),
        (
            "<script>L.tileLayer('https://{s}.tile.example.org/{z}/{x}/{y}.png')</script>",
            {".tile.example.org": SCRIPT},
        ),
        (r'<script>var a = {"u": "https:\/\/json.example.com\/d"}</script>', {"json.example.com": SCRIPT}),
        ("<script>l.href='https://late.example.com/a.css'</script>", {"late.example.com": SCRIPT}),
        ("<base href='https://base.example.com/'><img src='a.png'>", {"base.example.com": "href of <base>"}),
        (
            '<meta http-equiv="Refresh" content="0; URL=\'https://next.example.com/\'">',
            {"next.example.com": "refresh of <meta>"},
        ),
        ("<meta content='3,//n.example.com' http-equiv=refresh>", {"n.example.com": "refresh of <meta>"}),
        ("<p style='background:url(&quot;https&#58;//bg.example.com/x&quot;)'>", {"bg.example.com": CSS}),
        (
            "<svg><script href='a.js'/><image href='//i.example.com/url(1)'/><script>1</script></svg>",
            {"i.example.com": "href of <image>"},
        ),
        ("<rect fill='url(&#x27;//f.example.com/x#y&#39;)'/>", {"f.example.com": CSS}),
        ("<img alt='>' src='https&colon;&sol;&#47;img.example.com'>", {"img.example.com": "src of <img>"}),
        ("<img src='ht\ntps:\\\\img.example.com'>", {"img.example.com": "src of <img>"}),
        (
            "<iframe srcdoc='<img src=&quot;https://in.example.com/x&quot;>'></iframe>",
            {"in.example.com": "src of <img> in srcdoc"},
        ),
        (
            '<iframe srcdoc="&lt;script>fetch(&apos;https://api.example.com&apos;)&lt;/script>">',
            {"api.example.com": f"{SCRIPT} in srcdoc"},
        ),
        (
            "<link rel='&#115;tylesheet' href='https:&#47;/css.example.com'>",
            {"css.example.com": "href of <link>"},
        ),
        ("<img srcset='https&#58;//two.example.com/b.png 2x'>", {"two.example.com": "srcset"}),
        ("<body onload=\"i.src='https://late.example.com'\">", {"late.example.com": SCRIPT}),
    ],
)  # fmt: skip
def test_what_a_page_asks_for_is_found(text: str, expected: dict[str, str]) -> None:
    """In markup, styles and scripts, with the way it is asked for."""
    assert outside_hosts(text, "html") == expected


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://link.example.com">see</a>',
        '<a class="x" target=_blank href="https://link.example.com/page.html">see</a>',
        '<form action="https://form.example.com">',
        '<link rel="canonical" href="https://me.example.com/">',
        '<link rel="preconnect" href="https://near.example.com">',
        "<link rel=dns-prefetch href='//near.example.com'>",
        '<link rel="shortcut icon" href="https://icon.example.com/favicon.ico">',
        '<svg xmlns="http://www.w3.org/2000/svg">',
        "<script>document.createElementNS('http://www.w3.org/2000/svg', 'g')</script>",
        "<script>// see https://doc.example.com\n</script>",
        "<script>x = '&copy; <a href=\"https://who.example.com\">who</a>'</script>",
        '<!-- <script src="https://old.example.com/a.js"></script> -->',
        '<p>Read "https://prose.example.com" first.</p>',
        '<script type="application/ld+json">{"u": "https://data.example.com"}</script>',
        "<script src='local.js'></script><img src='/x.png'>",
        "<img src='http://localhost:8000/x.png'><img src='http://192.168.0.1/x.png'>",
        "<script>if (a) b = c // d.example.com\n</script>",
        "<base href='/local/'><meta http-equiv=refresh content='5'>",
        "<meta name=description content='0; url=https://words.example.com'>",
        "<svg><a xlink:href='https://link.example.com'>see</a></svg>",
        "<a href='https&#58;//link.example.com'>see</a>",
        "<textarea><img alt='&lt;' src=&#104;ttps://shown.example.com></textarea>",
        "<a onclick=\"open('https://click.example.com')\">see</a>",
        "<img alt='https://alt.example.com' title=\"src='https://title.example.com'\">",
        f"<img src='&#{'9' * 5000};//x.example.com'>",
    ],
)
def test_what_nobody_asks_for_is_left_out(text: str) -> None:
    """Links, names, comments, prose, data, and what no page ever reaches."""
    assert outside_hosts(text, "html") == {}


def test_style_sheets_and_scripts_of_their_own_are_read_as_such() -> None:
    """A comment of a style sheet is none of its rules."""
    css = "/* url(https://old.example.com) */ @font-face { src: url('//f.example.com/a.woff2') }"
    assert list(outside_hosts(css, "css")) == ["f.example.com"]
    assert list(outside_hosts(f"const u = '{HTTPS}a.example.com', v = \"{HTTPS}b.example.com/\"", "js")) == [
        "a.example.com",
        "b.example.com",
    ]


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<!--",
        "<script>",
        'srcset="',
        "//",
        "https://a.b/",
        '"//',
        "<a ",
        "url(",
        "a=",
        "<script ",
        "<a b='",
        "<iframe srcdoc='&lt;",
        "<a style='url(",
        "&#1",
        "<title>",
        '<a b="c"',
        "<p a=b ",
    ],
)
def test_the_time_is_linear_in_the_text(piece: str) -> None:
    """Half a megabyte of any piece that a pattern begins with takes seconds, not hours."""
    text = piece * (500_000 // len(piece))
    started = time.process_time()
    for kind in ("html", "css", "js"):
        outside_hosts(text, kind)  # type: ignore[arg-type]
    assert time.process_time() - started < 120

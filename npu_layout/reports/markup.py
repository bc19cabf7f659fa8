"""Markup: HTML whose every text is escaped, and a document that needs nothing from elsewhere."""

from __future__ import annotations

import html
import re
from typing import Any

# What HTML cannot hold: controls other than tab and line ends, lone surrogates, non-characters.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_VOID = {"img", "meta"}


class Html(str):
    """Markup; any other string is text."""

    __slots__ = ()


def escaped(text: Any) -> Html:
    """`text` as markup that shows it; what is Html stays."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_UNFIT.sub("\ufffd", str(text))))


def el(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. Children: Html, or text; None is left out. Attributes: an underscore stands for a hyphen, one at the
    end is dropped; None is left out, True has no value.

    >>> el("p", "a < b", class_="sum")
    '<p class="sum">a &lt; b</p>'
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escaped(str(value))}"')
        for key, value in attributes.items()
        if value is not None
    )
    content = join(*children)
    return Html(f"<{name}{given}>" if name in _VOID else f"<{name}{given}>{content}</{name}>")


def join(*children: Any) -> Html:
    """All of them, one after another."""
    return Html("".join(escaped(child) for child in children if child is not None))


def document(title: str, *body: Any) -> str:
    """A whole page, which may load nothing and run nothing."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    head = join(
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Html(_STYLE)),
    )
    page = el("html", el("head", head), el("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


_STYLE = """
:root{color-scheme:light dark;
 --ground:#f4f6f8;--card:#fff;--text:#1b222b;--quiet:#55606c;--line:#d5dbe1;--link:#0a569e;--code:#f0f3f6;
 --good:#1a6b34;--good-soft:#e3f5e7;--bad:#a91e1b;--bad-soft:#fdebe9;--open:#7a4f00;--open-soft:#fdf1d6;
 --reference:#9aa8b7;--device:#0a569e;--mark:#c8321f}
@media (prefers-color-scheme:dark){:root{
 --ground:#0e1217;--card:#171d24;--text:#e4e9ee;--quiet:#a0acb8;--line:#313b46;--link:#7db8f5;--code:#10161c;
 --good:#7fd896;--good-soft:#15301d;--bad:#ff9c92;--bad-soft:#3d1a18;--open:#f0c666;--open-soft:#372a0c;
 --reference:#5c6b7a;--device:#7db8f5;--mark:#ff8373}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
 "Liberation Sans","DejaVu Sans",sans-serif;overflow-wrap:anywhere}
main,.banner>div,footer{max-width:1280px;margin:0 auto;padding:0 clamp(14px,3vw,32px)}
h1,h2,h3{line-height:1.25;margin:0;text-wrap:balance}
h2{font-size:1.4rem}
h3{font-size:1.02rem;margin:0 0 .6rem}
p{margin:.4rem 0;max-width:78ch}
a{color:var(--link)}
code,pre,.number{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace}
code,dd,td,th,h1,h2,a,figcaption{unicode-bidi:isolate}
pre{background:var(--code);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;margin:.5rem 0;
 font-size:.86rem;white-space:pre-wrap;tab-size:4}
.quiet{color:var(--quiet);font-size:.88rem}
.banner{color:#fff;padding:clamp(16px,3vw,30px) 0;border-bottom:1px solid var(--line)}
.banner.good{background:#1a6b34}.banner.bad{background:#a91e1b}.banner.open{background:#7a4f00}
.banner p{margin:.3rem 0 0;font-size:1.08rem}
.banner .over{margin:0 0 .3rem;font-size:.88rem;letter-spacing:.02em}
.banner h1{font-size:clamp(1.8rem,5vw,2.7rem);display:flex;gap:.5em;align-items:center}
.sign{display:inline-flex;flex:none;align-items:center;justify-content:center;width:1.25em;height:1.25em;
 border:.09em solid;border-radius:50%;font-weight:700;font-size:.8em;line-height:1}
.badge{display:inline-flex;gap:.4em;align-items:center;padding:.12em .7em .12em .35em;border-radius:99px;
 font-weight:600;font-size:.92rem;white-space:nowrap}
.badge .sign{border-width:.1em}
.badge.good,b.good{color:var(--good)}.badge.bad,b.bad{color:var(--bad)}.badge.open{color:var(--open)}
.badge.good{background:var(--good-soft)}.badge.bad{background:var(--bad-soft)}.badge.open{background:var(--open-soft)}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:clamp(14px,2vw,24px);
 margin:clamp(14px,2vw,24px) 0}
.card>section{margin-top:1.7rem}
.title{display:flex;flex-wrap:wrap;gap:.3rem .8rem;align-items:center;justify-content:space-between}
.why{font-size:1.05rem}
.alarm{border-left:4px solid var(--open);padding:.2rem 0 .2rem .8rem}
.grid{display:grid;gap:1.7rem 2rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,330px),1fr))}
.grid>section{min-width:0}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,240px),1fr));gap:.7rem 1.6rem;margin:0}
dt{color:var(--quiet);font-size:.88rem}dd{margin:0}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.34rem .9rem .34rem 0;border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--quiet);font-weight:600}
tbody th{font-weight:600}
.right{text-align:right}
table{overflow-wrap:break-word}
.channels td,.channels th{white-space:nowrap}
.figures td{min-width:6rem}
.ranking td:nth-child(2){min-width:8rem;overflow-wrap:anywhere}.ranking td:nth-child(3){min-width:4.5rem;width:24%}
nav th[scope=row]{overflow-wrap:anywhere}
details{margin:.6rem 0}
summary{cursor:pointer;color:var(--link);padding:.25rem 0}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.sheet{display:grid;gap:1.2rem;grid-template-columns:repeat(auto-fit,minmax(min(46%,200px),1fr));margin:.8rem 0}
.sheet.strips{grid-template-columns:1fr;gap:.8rem}
figure{margin:0;min-width:0}
.sheet img,.map{display:block;width:100%;height:auto;image-rendering:pixelated;border-radius:4px}
.sheet figure{display:flex;flex-direction:column;gap:.45rem}
.sheet.strips figcaption{order:-1}.sheet.strips img{min-height:3.5rem}
.sheet figcaption{font-size:.88rem;line-height:1.4}
.sheet b{display:block}
.sheet .given{box-shadow:0 0 0 2px var(--card),0 0 0 4px var(--quiet);border-radius:4px}
.sheet .right-one{box-shadow:0 0 0 2px var(--card),0 0 0 5px var(--good);border-radius:4px}
.scale{display:flex;align-items:center;gap:.6rem;max-width:420px;font-size:.88rem;margin-top:.5rem}
.scale img{flex:1;min-width:0;height:12px;border-radius:3px}
.map{max-width:420px}
svg{display:block;width:100%;height:130px;background:var(--code);border-bottom:1px solid var(--quiet)}
.ends{display:flex;justify-content:space-between;font-size:.88rem;color:var(--quiet)}
path.bar{fill:var(--device)}path.mark,.key.mark{fill:var(--mark);background:var(--mark)}
path.reference,.key.reference{fill:var(--reference);background:var(--reference)}
path.device{fill:none;stroke:var(--device);stroke-width:2px;vector-effect:non-scaling-stroke}
.key{display:inline-block;width:.9em;height:.9em;border-radius:3px;margin:0 .35em 0 0;vertical-align:-.08em}
.key.line{background:none;border-top:3px solid var(--device);border-radius:0;height:0;vertical-align:.28em}
.legend span{margin-right:1.2em;white-space:nowrap}
.meter{display:block;height:.45em;border-radius:3px;background:var(--device);min-width:2px;margin-top:.2em}
footer{padding-top:.4rem;padding-bottom:2.4rem;color:var(--quiet);font-size:.88rem}
@media print{
 :root{color-scheme:light;--ground:#fff;--card:#fff;--text:#000;--quiet:#444;--line:#bbb;--link:#000;--code:#f4f4f4;
  --good:#1a6b34;--good-soft:#e3f5e7;--bad:#a91e1b;--bad-soft:#fdebe9;--open:#7a4f00;--open-soft:#fdf1d6;
  --reference:#9aa8b7;--device:#0a569e;--mark:#c8321f}
 body{font-size:10.5pt}
 *{-webkit-print-color-adjust:exact;print-color-adjust:exact}
 .card{border:0;padding:0}
 .scroll{overflow:visible}
 .channels{font-size:7.5pt}.channels td,.channels th{padding-right:.5em}
 figure,tr,pre,.grid>section,.sheet{break-inside:avoid}
 h2,h3{break-after:avoid}
 .sheet:not(.strips){grid-template-columns:repeat(3,1fr)}
 details::details-content{content-visibility:visible;display:block}
}
"""

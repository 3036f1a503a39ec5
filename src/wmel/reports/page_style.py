"""The looks of a page, and the few lines that draw its figures."""

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1c2126; --quiet: #57606a; --paper: #ffffff; --raised: #f5f7f9; --line: #d5dbe1; --link: #0b5cad;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --quiet: #a3adb8; --paper: #14181c; --raised: #1d2329; --line: #39424c; --link: #7fb8f0; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main, footer { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1.1rem; margin: 1.75rem 0 .5rem; }
h1, h2, h3, p, li, summary, th, td { overflow-wrap: anywhere; }
p, ul { max-width: 62rem; }
.answer { font-size: 1.15rem; font-weight: 600; }
.quiet, footer, .notes { color: var(--quiet); font-size: .9rem; }
.gaps { list-style: none; padding: 0; }
.gaps li { border-left: 4px solid var(--mark, var(--line)); padding: .1rem 0 .1rem .8rem; margin: 0 0 .8rem; }
.verdict { font-size: .8rem; font-weight: 650; letter-spacing: .02em; border: 1px solid var(--mark, var(--line));
  border-radius: .3rem; padding: .05rem .4rem; margin-left: .4rem; white-space: nowrap; }
.scroll { overflow-x: auto; margin: .75rem 0; border: 1px solid var(--line); border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .55rem .7rem; color: var(--quiet); caption-side: top; }
th, td { padding: .4rem .7rem; text-align: left; border-top: 1px solid var(--line); vertical-align: top;
  overflow-wrap: normal; }
thead th { background: var(--raised); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 600; overflow-wrap: break-word; max-width: 24rem; }
.number { text-align: right; white-space: nowrap; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .6rem 0; padding: 0 1rem; }
summary { cursor: pointer; padding: .7rem 0; font-weight: 600; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.figure { width: 100%; overflow-x: auto; margin-bottom: 2rem; }
.js-plotly-plot svg text:not(.hoverlayer *) { fill: var(--ink) !important; }
@media print { details::details-content { content-visibility: visible; } }
"""

DRAW = """
for (const block of document.querySelectorAll("script[data-figure]")) {
  const figure = JSON.parse(block.textContent);
  Plotly.newPlot(block.dataset.figure, figure.data, figure.layout,
    { displayModeBar: false, displaylogo: false, responsive: true });
}
"""

"""page.py - the result as one HTML file that needs nothing else: plots, then every number."""
import html
import math

STYLE = """
:root { color-scheme: light dark; --ground: #fcfcfb; --ink: #1c1c1a; --faint: #6f6e69;
  --rule: #e3e2dd; --one: #2563a8; --all: #c2571a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ground: #171716; --ink: #ecebe6; --faint: #98978f;
  --rule: #33332f; --one: #7db3ec; --all: #f09a5c; --bad: #ff8a80; } }
body { background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
p, li { max-width: 48rem; } .faint { color: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 3px 9px; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }
th { color: var(--faint); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
.best { font-weight: 700; } .behind { color: var(--bad); }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12px; }
svg .faint { fill: var(--faint); }
svg .rule { stroke: var(--rule); } svg .unit { stroke: var(--ink); }
.one { fill: var(--one); stroke: var(--one); } .all { fill: var(--all); stroke: var(--all); }
"""
WIDTH, LEFT, ROW, HEAD = 960, 210, 22, 18


def _key(least, most):
    marks = [(16, "one", f"{least} thread")]
    if most != least:
        marks.append((110, "all", f"{most} threads"))
    return "".join(f"<circle class='{c}' cx='{LEFT + x}' cy='12' r='4'/>"
                   f"<text x='{LEFT + x + 9}' y='16'>{t}</text>" for x, c, t in marks)


def _plot(names, height, key, body, label):
    rows = "".join(f"<text x='{LEFT - 12}' y='{44 + ROW * i}' text-anchor='end'>{html.escape(n)}"
                   f"</text>" for i, n in enumerate(names))
    return (f"<svg viewBox='0 0 {WIDTH} {height + HEAD}' role='img' "
            f"aria-label='{html.escape(label)}'>{key}<g transform='translate(0 {HEAD})'>"
            f"{body}{rows}</g></svg>")


def _axis(ticks, place, height):
    """With its numbers above and below: a plot is longer than a screen."""
    return "".join(f"<line class='{'unit' if t == 1 else 'rule'}' x1='{place(t):.1f}' y1='26' "
                   f"x2='{place(t):.1f}' y2='{height - 22}'/>" +
                   "".join(f"<text class='faint' x='{place(t):.1f}' y='{y}' "
                           f"text-anchor='middle'>{text}</text>" for y in (20, height - 6))
                   for t, text in ticks)


def _grouped(rows):
    out = {}
    for r in rows:
        out.setdefault((r["workload"], r["numerics"]), []).append(r)
    names = [w if n == "exact" else f"{w} ({n})" for w, n in out]
    return names, list(out.values())


def ratios(rows):
    """Ahead or behind, on an axis where twice as fast and twice as slow are equally far."""
    rows = [r for r in rows if r["ratio"]]
    if not rows:
        return ""
    names, groups = _grouped(rows)
    least, most = min(r["threads"] for r in rows), max(r["threads"] for r in rows)
    low = min(0.5, *(r["ratio"] for r in rows)) * 0.9
    high = max(2, *(r["ratio"] for r in rows)) * 1.1
    height = 36 + ROW * len(names) + 26

    def place(v):
        v = min(max(v, low), high)
        return LEFT + (WIDTH - LEFT - 20) * math.log(v / low) / math.log(high / low)

    marks = (0.05, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20)
    ticks = [(t, f"{t:g}x") for t in marks if low < t < high]
    body = _axis(ticks, place, height)
    for i, group in enumerate(groups):
        for r in group:
            kind = "one" if r["threads"] == least else "all"
            side = {"one": -4, "all": 4}[kind] if len(group) > 1 else 0
            y = 40 + ROW * i + side
            ends = r.get("ratio_interval") or [r["ratio"]] * 2
            title = f"{names[i]}, {r['threads']} threads: {r['ratio']:.3f} of {r['best']}"
            body += (f"<g><title>{html.escape(title)}</title><line class='{kind}' stroke-width='2' "
                     f"x1='{place(ends[0]):.1f}' x2='{place(ends[1]):.1f}' y1='{y}' y2='{y}'/>"
                     f"<circle class='{kind}' cx='{place(r['ratio']):.1f}' cy='{y}' r='4'/></g>")
    label = "Time of the best peer over Takt's, by workload"
    return _plot(names, height, _key(least, most), body, label)


def shares(rows):
    """The fraction of the machine's limit that is reached."""
    names, groups = _grouped(rows)
    if not names:
        return ""
    least, most = min(r["threads"] for r in rows), max(r["threads"] for r in rows)
    height, top = 36 + ROW * len(names) + 26, max(1.05, *(r["share"] for r in rows))

    def place(v):
        return LEFT + (WIDTH - LEFT - 20) * v / top

    ticks = [(t / 4, f"{25 * t} %") for t in range(int(top * 4) + 1)]
    body = _axis(ticks, place, height)
    for i, group in enumerate(groups):
        for k, r in enumerate(group):
            y, h = 32 + ROW * i + 8 * k, 7 if len(group) > 1 else 14
            title = f"{names[i]}, {r['threads']} threads: {100 * r['share']:.0f} % of {r['bound']}"
            kind = "one" if r["threads"] == least else "all"
            body += (f"<rect class='{kind}' x='{LEFT}' y='{y}' "
                     f"width='{place(r['share']) - LEFT:.1f}' height='{h}' stroke='none'>"
                     f"<title>{html.escape(title)}</title></rect>")
    label = "Share of the machine's ceiling, by workload"
    return _plot(names, height, _key(least, most), body, label)


def _cell(row, name, span):
    value = row.get(name)
    kind = " class='best'" if name == row["best"] else ""
    why = row["reasons"].get(name, "")
    if value is None:
        return f"<td title='{html.escape(why, quote=True)}'>-</td>"
    low, high = row["interval"][name]
    note, star = (f"; {why}", "*") if "differs" in why else ("", "")
    again = row.get("repeated", {}).get(name)
    note += f"; {again} rounds repeated" if again else ""
    return f"<td{kind} title='{span(low)} to {span(high)}{note}'>{span(value)}{star}</td>"


def table(result, words):
    names = [n for n in result["engines"] if n != "takt"]
    head = "".join(f"<th>{n}</th>" for n in ("workload", "T", "numerics", "takt", *names, "ratio",
                                             "interval", "share", "over 1T", "p99/p50", "repeated",
                                             "verdict"))
    body = ""
    for r in result["rows"]:
        behind = " class='behind'" if r["ratio"] is None or r["ratio"] < 1 else ""
        ends = " - ".join(f"{v:.3f}" for v in r.get("ratio_interval") or [])
        body += (f"<tr><td>{r['workload']}</td><td>{r['threads']}</td><td>{r['numerics']}</td>"
                 + "".join(_cell(r, n, words.span) for n in ("takt", *names))
                 + f"<td{behind}>{words.ratio(r)}</td><td>{ends}</td><td>{100 * r['share']:.0f} % "
                 f"{r['bound']}</td><td>{words.over_one(r)}</td>"
                 f"<td>{r['p99']['takt'] / r['takt']:.2f}</td>"
                 f"<td>{sum(r.get('repeated', {}).values()) or ''}</td>"
                 f"<td>{words.verdict(r)}</td></tr>\n")
    return f"<div class='wide'><table><tr>{head}</tr>\n{body}</table></div>"


def _engines(result):
    starts = result.get("start", {})
    head = "<tr><th>engine</th><th>version</th><th>called by</th><th>code</th>" + "".join(
        f"<th>{w}: first result</th><th>peak memory</th>" for w in starts) + "</tr>"
    body = ""
    for name, e in result["engines"].items():
        body += (f"<tr><td>{name}</td><td>{html.escape(e['version'][:40])}</td>"
                 f"<td>{html.escape(e['call'])}</td><td>{e['code_bytes'] / 1e6:.1f} MB</td>")
        for found in starts.values():
            s = found.get(name, {})
            body += (f"<td>{s['start_ms']:.1f} ms</td>"
                     f"<td>{s['peak_memory_bytes'] / 1e6:.1f} MB</td>"
                     if "start_ms" in s else "<td>-</td><td>-</td>")
        body += "</tr>"
    return f"<div class='wide'><table>{head}{body}</table></div>"


def _limits(result, words):
    if not result.get("limits"):
        return ""
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in words.limits.cells(e))
                   + "</tr>\n" for e in result["limits"])
    return ("<h2>Close to the limit</h2>\n<div class='wide'><table><tr><th>limit</th>"
            f"<th>wanted</th><th>reached</th><th></th></tr>\n{body}</table></div>")


def page(result, words):
    """`words` is the module that says things of rows: report."""
    machine, rows, behind = result["machine"], result["rows"], words.behind(result)
    title = f"Takt against its peers on {html.escape(machine['cpu'])}"
    slower = f"<p>Behind: {html.escape(', '.join(behind))}.</p>" if behind else ""
    again = "".join(f"<p>{html.escape(text)}</p>" for text in words.repeats(result))
    missing = "".join(f"<li>Without {n}: {html.escape(why)}.</li>"
                      for n, why in result["missing"].items())
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{STYLE}</style>
<h1>{title}</h1>
<p>{html.escape(words.headline(result))}. All engines did the same work on the
same data with the same number of threads, alternately (A B B A); answers were compared.</p>
{slower}
<p class="faint">{machine['cores']} cores, {html.escape(machine['system'])}; made
{result['made']} at {html.escape(result['commit'])}{' (quick run)' if result['quick'] else ''}.</p>
<h2>Time of the best peer over Takt's</h2>
<p>Right of 1x Takt is faster. The line through a dot is its 95 % interval.</p>
{ratios(rows)}
<h2>Share of the machine's measured ceiling</h2>
<p>The least time for the multiplications, or for moving every byte once, over Takt's time. Above
100 %: the algorithm does fewer multiplications than the definition.</p>
{shares(rows)}
{_limits(result, words)}
<h2>All numbers</h2>
<p>Medians; the best peer is bold, intervals, reasons and repeated rounds appear on pointing. Over
1T: Takt's time with these threads over that with one, both alternately from the same processor.</p>
{table(result, words)}
{again}
<h2>Engines</h2>
<p>First result: from loading the library to the first result, in a process made for it.</p>
{_engines(result)}
<ul>{missing}</ul>
</html>
"""

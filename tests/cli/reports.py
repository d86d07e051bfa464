"""reports.py - a real browser opens every report, without a network, light and dark."""
import json
import re
import shutil
import struct
import subprocess
import zlib

from _benchmark import TMP, held
from _cli import expect, finish

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
BACKGROUND = {"light": (0xFF, 0xFF, 0xFF), "dark": (0x12, 0x16, 0x1D)}
WIDE, SCALE = 1100, 4


def takt(line, codes=0):
    held("benchmark " + line, codes)


def browse(page, *more):
    """The browser's output; requests to any host fail."""
    line = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
            f"--user-data-dir={TMP / 'browser'}", "--window-size=1100,1400",
            "--enable-logging=stderr", *more, f"file://{TMP / page}"]
    return subprocess.run(line, capture_output=True, text=True, timeout=180, check=False)


def pixels(path):
    """Rows of (r, g, b) of a PNG of 8-bit RGB or RGBA, as a browser writes it."""
    data = path.read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    size, at, packed = 3 if kind == 2 else 4, 8, b""
    expect(depth == 8 and kind in (2, 6), f"{path}: {depth} bits of kind {kind}")
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + length] if name == b"IDAT" else b""
        at += 12 + length
    raw, stride, last = zlib.decompress(packed), width * size, bytes(width * size)
    for y in range(height):
        line = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        unfilter(raw[y * (stride + 1)], line, last, size)
        last = bytes(line)
        yield [tuple(line[x:x + 3]) for x in range(0, stride, size)]


def paeth(left, up, corner):
    """Whichever is nearest to left + up - corner."""
    a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    return left if a <= b and a <= c else up if b <= c else corner


def unfilter(kind, line, last, size):
    """Undoes the PNG filter of each byte; one loop per filter, since there are millions of bytes.
    """
    if kind == 2:
        line[:] = bytes([(value + up) & 0xFF for value, up in zip(line, last)])
    elif kind != 0:
        for i, value in enumerate(line):
            left, corner = (line[i - size], last[i - size]) if i >= size else (0, 0)
            line[i] = value + (left if kind == 1 else (left + last[i]) // 2 if kind == 3
                               else paeth(left, last[i], corner)) & 0xFF


# Counts the contents of all pages in one page, since the browser takes seconds to start.
COUNT = """<script>addEventListener("load", () => {
  for (const frame of document.querySelectorAll("iframe")) {
    const count = document.createElement("p");
    const found = frame.contentDocument.querySelectorAll("svg").length;
    count.textContent = `${frame.getAttribute("src")}: ${found} plots`;
    document.body.append(count);
  }
});</script>"""


def look(pages):
    dom = browse("wall.html", "--allow-file-access-from-files", "--dump-dom")
    counts = dict(re.findall(r"<p>(.*?): (\d+) plots</p>", dom.stdout))
    for page, plots in pages.items():
        expect(int(counts.get(page, 0)) >= plots, f"{page}: {counts.get(page)} plots")
        text = (TMP / page).read_text()
        expect(not re.search(r"(?:src|href)\s*=|@import|url\(", text), f"{page} fetches something")
    wrong = [line for line in dom.stderr.splitlines() if "CONSOLE" in line]
    expect(not wrong, f"{wrong}")


def hang(pages):
    """All pages side by side."""
    frames = "".join(f'<iframe src="{page}"></iframe>' for page in pages)
    (TMP / "wall.html").write_text(
        "<style>:root{color-scheme:light dark}body{margin:0;display:flex}"
        f"iframe{{border:0;width:{WIDE}px;height:1400px;flex:none}}</style>{frames}{COUNT}")


def shoot(pages):
    """Light and dark."""
    for scheme, number in (("light", 1), ("dark", 0)):
        shot = TMP / f"wall.{scheme}.png"
        shot.unlink(missing_ok=True)
        browse("wall.html", f"--screenshot={shot}", f"--window-size={WIDE * len(pages)},1400",
               f"--force-device-scale-factor={1 / SCALE}",
               f"--blink-settings=preferredColorScheme={number}")
        if not shot.exists():
            expect(False, f"{scheme}: no screenshot")
            continue
        rows, wide = list(pixels(shot)), WIDE // SCALE
        for i, page in enumerate(pages):
            part = [row[i * wide:(i + 1) * wide] for row in rows]
            expect(part[1][1] == BACKGROUND[scheme], f"{page} {scheme}: {part[1][1]}")
            colours = {pixel for row in part for pixel in row}
            expect(len(colours) > 20, f"{page} {scheme}: {len(colours)} colours: nothing is drawn")


def make():
    takt("run model.takt --batch-size 1,4,16 --threads 1,2 --iterations 60 -o run.html -q")
    takt("compare model.takt model.takt -t 1 --blocks 8 -o compare.html -q", (0, 5))
    base = {"benchmark_info": {"model": "m", "system_info": {"fingerprint": "0" * 16}},
            "results": {"latency": {"samples_ns": []}}}
    names = []
    for i in range(9):
        base["benchmark_info"]["timestamp"] = f"2026-11-{i + 1:02}T10:00:00Z"
        level = 1.2e6 if i > 5 else 1e6
        base["results"]["latency"]["samples_ns"] = [level + k for k in range(30)]
        names.append(f"t{i}.json")
        (TMP / names[-1]).write_text(json.dumps(base))
    takt("trends --output trend.html --results " + " ".join(names))
    held("profile model.takt -D batch=8 --duration 50ms --flame flame.svg")
    held("profile model.takt -D batch=8 --duration 20ms --impact --brief -o profile.html")
    held("run model.takt --repeat 3000 --monitor-report monitor.html --interval 10ms")


shutil.copy("examples/mlp.takt", TMP / "model.takt")
make()
if BROWSER is None:
    print("skipped: there is no chromium")
    finish(77)
PAGES = {"run.html": 8, "compare.html": 4, "trend.html": 1, "monitor.html": 1, "flame.svg": 1,
         "profile.html": 4}
hang(PAGES)
look(PAGES)
shoot(list(PAGES))
finish()

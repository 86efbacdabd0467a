"""Runs the script of the page that write_report.cpp has written, by QuickJS: the markup of its charts, for curves
whose coordinates are computed here by hand, and of the whole page, whatever names are."""

import json
import os
import re
import sys
from html.parser import HTMLParser

import quickjs

with open(os.path.join(sys.argv[1], "report.html"), encoding="utf-8") as file:
    html = file.read()
data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])
javascript = quickjs.Context()
javascript.eval(re.findall(r"<script>(.*?)</script>", html, re.S)[0])

failures = 0


def check(what, holds):
    global failures
    if not holds:
        failures += 1
        print(f"failed: {what[:2000]}")


def has(markup, *pieces):
    for piece in pieces:
        check(f"{piece}\n  in {markup}", piece in markup)


def run(expression, **values):
    """The value of an expression of JavaScript over these."""
    javascript.eval("var given = " + json.dumps(values))
    return json.loads(javascript.eval(f"JSON.stringify((({', '.join(values)}) => {expression})"
                                      f"({', '.join('given.' + name for name in values)}))"))


def curve(points, group="value", name="x", series="", latest=None):
    return {"group": group, "name": name, "series": series, "points": points,
            "latest_step": points[-1][0], "latest": points[-1][1] if latest is None else latest}


def charts(*curves):
    """The markup of the training's charts, or of the speed's or the summaries'."""
    return run("Object.values(charts({curves})).flat().map((chart) => markupOf(chartHtml(chart))).join('')",
               curves=curves)


def lost(step):
    return [step, step, 0, 1, 0, 0, 0]


# Steps 0 to 10 and values 0 to 4 are 0 to 1000 units; 0 is at the bottom.
has(charts(curve([[0, 0], [5, 4], lost(7), [10, 2]], name="loss")),
    '<path class="line c0" d="M0 1000L500 0M1000 500"/>', '<path class="lost" d="M700 0V70"/>',
    "training: 1 value is NaN or infinite, at step 7</p>", '<span style="bottom:25%">1</span>',
    '<span style="left:40%">4</span>', '<span class="now">2 at step 10</span>',
    'aria-label="loss over steps; training: 0 to 4"', "<tr><td>7</td><td>not finite</td>")
check("one line has no legend", 'class="legend"' not in charts(curve([[1, 2]])))
has(charts(curve([[1, 2]]), curve([[3, 4]], group="evaluation", series="b")),
    ">training 2 at step 1, evaluation b 4 at step 3</span>")
has(charts(curve([[1, 2]]), curve([[1, 4]], group="evaluation")), ">training 2, evaluation 4 at step 1</span>")
has(charts(curve([[1, 50], [2, 75]], group="speed", name="waiting for input")),
    ">75% at step 2</span>", '<span style="bottom:0%">0</span>')

# What falls by much is logarithmic, unless its axis begins at 0.
falling = [[1, 100], [2, 10], [3, 1]]
has(charts(curve(falling)), 'd="M0 0L500 500L1000 1000"')
has(charts(curve(falling, group="speed")), 'd="M0 0L500 900L1000 990"')

# Means 0.5 and 2.5 of two steps each, x: 0.5 and 2.5 of 3 steps; y: 1 unit of value is 1000 / 3.
several = [[0, 1, 2, 0, 0.5, 0, 1], [2, 3, 2, 0, 2.5, 2, 3]]
bands = [curve(points, "histogram", "x", series) for series, points in
         [("5", [[0, 0], [3, 1]]), ("50", several), ("95", [[0, 2], [3, 3]])]]
has(charts(*bands), '<path class="range c0" d="M166.67 666.67L833.33 0L833.33 333.33L166.67 1000Z"/>',
    '<path class="range c0" d="M0 333.33L1000 0L1000 666.67L0 1000Z"/>', "5% to 95%</span>")

# Up and down a hundred times: the means of two points on each side are 0.4 and 0.6.
noisy = charts(curve([[step, step % 2] for step in range(100)]))
check("noise has a smooth line", noisy.count("noisy line") == 1)
has(noisy, "L505.05 600L515.15 400L")
check("a slope has none", "noisy line" not in charts(curve([[step, step] for step in range(100)])))

# Curves without a range, or without a value.
for points in [[[3, 5]], [[3, 0], [4, 0]], [lost(3)]]:
    for group in ["value", "speed"]:
        markup = charts(curve(points, group=group, latest="NaN"))
        check(f"{points} are drawn: {markup}", not re.search("NaN[^ <]|Infinity|undefined", markup))
has(charts(curve([[3, 5]])), "M500 500h0")
# Few points have dots, and there are no half steps.
check("40 points have dots", 'class="dots' in charts(curve([[step, step] for step in range(40)])))
check("41 points have none", 'class="dots' not in charts(curve([[step, step] for step in range(41)])))
has(charts(curve([[1, 5], [2, 6]])),
    '<div class="steps"><span style="left:0%">1</span><span style="left:100%">2</span></div>')

for value, digits, text in [(0.693147, 4, "0.6931"), (-0.0, 4, "0"), (9999, 4, "9999"), (10000, 4, "10k"),
                            (12500, 4, "12.5k"), (1034, 3, "1.03k"), (-2e6, 4, "-2M"), (3e9, 4, "3G"), ("-infinity", 4, "-infinity"),
                            (0.00001234, 4, "1.234e-5"), (2e13, 4, "2e+13")]:
    check(f"{value} is {text}", run("short(value, digits)", value=value, digits=digits) == text)
for count, text in [(1000, "1000 B"), (2048, "2.0 KiB"), (1048570, "1.0 MiB")]:
    check(f"{count} is {text}", run("bytesText(count)", count=count) == text)

# The page of the training.
page = run("page(data)", data=data)
hostile = "&lt;/script&gt;&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;"
has(page, f"<h1>{hostile}</h1>", '<span class="state finished">finished</span> step 2 of 2, written 20',
    '<div class="done finished"><div style="width:100.0%">', "<b>0.5</b><span>loss, evaluation test</span>",
    "training 7.75, evaluation test 0.5 at step 2",
    f"<b>{hostile}</b>", 'alt="drawn, 2 of 2, at step 2" width="120">', "25% to 75%", f"<pre>{hostile}</pre>",
    "<dt>&lt;b&gt;</dt><dd>a &amp; b</dd>", "<h2>Where the time of this training went</h2>")
check("nothing of the data is markup", "<script" not in page and "<b></" not in page)
stage = {"name": "map", "depth": 1, "elements": 7, "bytes": 2048, "busy": 0.25, "upstream": 0, "downstream": 0,
         "queue": 1.5, "buffer": 2, "workers": 3}
time = {"all": 10, "input": 1, "copy": 0, "compute": 6, "transfer": 0, "reduce": 0, "hidden": 0.5, "apply": 2}
full = run("page(data)", data={**data, "stages": [stage], "time": time, "state": "failed", "reason": "<fire>",
                               "texts": [{"name": "t", "step": 4, "text": "a < b"}], "step": 5, "last_step": None})
has(full, '<p class="reason failed">&lt;fire&gt;</p>', "step 5, written",
    '<td class="depth">  map</td><td>7</td><td>2.0 KiB</td><td>0.25 s</td>', "<td>1.5</td><td>2</td><td>3</td>",
    "input</td><td>10.0%</td><td>1.0 s</td>", "other</td><td>10.0%</td><td>1.0 s</td>", "hidden</td><td>+5.0%</td>",
    '<pre class="text">a &lt; b</pre>')
check("a training without a limit has no bar", 'class="done' not in full)


class Elements(HTMLParser):
    """Whether each element is closed in its order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        check(f"</{tag}> closes {self.open[-1:]}", self.open and self.open.pop() == tag)


for markup in [page, full]:
    elements = Elements()
    elements.feed(markup)
    check("all elements are closed", not elements.open)

sys.exit(failures > 0)

#pragma once
// How a report looks, and what it does when a pointer moves over a chart. Internal to hooks/.

namespace belfry::hooks {

inline constexpr const char* report_style = R"(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1b2027; --dim: #56606c;
  --edge: #d9dee4; --grid: #e6e9ed; --warn: #b3261e; --good: #1a7f37; --busy: #0b62c4;
  --c0: #0b62c4; --c1: #b8500a; --c2: #1a7f37; --c3: #7a45c9; --c4: #ae2a6b; --c5: #46626b; }
@media (prefers-color-scheme: dark) {
  :root { --page: #101418; --card: #181d23; --ink: #e4e8ed; --dim: #9aa5b1; --edge: #2c343d;
    --grid: #262d35; --warn: #ff8a80; --good: #5ec27a; --busy: #6db3ff; --c0: #6db3ff;
    --c1: #f0a05a; --c2: #5ec27a; --c3: #b79bf5; --c4: #f58bbb; --c5: #9fb8c2; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 84rem; margin: 0 auto; padding: 1.25rem clamp(.75rem, 3vw, 2rem) 3rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 .75rem; }
p { margin: .25rem 0; }
.dim { color: var(--dim); }
header p { overflow-wrap: anywhere; }
.state { display: inline-block; padding: .05rem .6rem; border-radius: 1rem; font-weight: 600;
  border: 1px solid currentColor; margin-right: .4rem; }
.finished { color: var(--good); } .running { color: var(--busy); }
.stopped { color: var(--c1); } .failed, .warning { color: var(--warn); }
.reason { white-space: pre-wrap; }
.done { height: .4rem; margin: .75rem 0 0; border-radius: .2rem; background: var(--edge); }
.done div { height: 100%; border-radius: .2rem; background: currentColor; }
.tiles, .charts { display: grid; gap: .75rem; }
.images { display: flex; flex-wrap: wrap; gap: .75rem; }
.tiles { grid-template-columns: repeat(auto-fit, minmax(min(100%, 8rem), 1fr)); margin-top: 1rem; }
.charts { grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); }
.tile, .card, .chart { background: var(--card); border: 1px solid var(--edge);
  border-radius: .5rem; padding: .7rem .85rem; margin: 0; min-width: 0; }
.tile b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.tile span { color: var(--dim); font-size: .85rem; overflow-wrap: anywhere; }
figcaption { display: flex; flex-wrap: wrap; gap: 0 .75rem; justify-content: space-between;
  overflow-wrap: anywhere; }
.now, .legend, .chart details { font-size: .82rem; color: var(--dim); }
.now { font-variant-numeric: tabular-nums; }
.plot { position: relative; padding: .6rem 1.1rem 1.5rem 3.6rem; }
.plot svg { display: block; width: 100%; height: 11rem; overflow: visible; }
.plot .values { position: absolute; left: 0; top: .6rem; bottom: 1.5rem; width: 3.2rem; }
.plot .steps { position: absolute; left: 3.6rem; right: 1.1rem; bottom: 0; height: 1.2rem; }
.plot span { position: absolute; font-size: .75rem; line-height: 1; color: var(--dim);
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.values span { right: 0; transform: translateY(50%); }
.steps span { top: 0; transform: translateX(-50%); }
svg path { fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); }
.c3 { --c: var(--c3); } .c4 { --c: var(--c4); } .c5 { --c: var(--c5); }
.grid { stroke: var(--grid); }
.line { stroke: var(--c); stroke-width: 1.75; }
.noisy { stroke-width: 1; opacity: .38; }
svg .range { fill: var(--c); opacity: .16; }
.dots { stroke: var(--c); stroke-width: 5; stroke-linecap: round; }
.lost { stroke: var(--warn); stroke-width: 2; }
.here { stroke: var(--dim); stroke-dasharray: 3 3; }
.legend span { margin-right: .9rem; white-space: nowrap; }
.legend i, .parts i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem;
  border-radius: .2rem; background: var(--c); vertical-align: -.08rem; }
.legend i.range { opacity: .25; }
.legend i.inner { opacity: .5; }
summary { cursor: pointer; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; }
th, td { text-align: right; padding: .2rem .8rem .2rem 0; white-space: nowrap; }
th:first-child, td:first-child, td.dim { text-align: left; }
th { font-weight: 600; color: var(--dim); }
tr + tr td { border-top: 1px solid var(--grid); }
td.depth { white-space: pre; }
.facts { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .2rem 1rem;
  margin: 0; }
.facts dt { color: var(--dim); } .facts dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.bar { display: flex; height: 1.6rem; border-radius: .3rem; overflow: hidden;
  background: var(--edge); margin-bottom: .6rem; }
.bar div { background: var(--c); box-shadow: inset -1px 0 var(--card); }
.other { --c: var(--edge); }
pre { margin: 0; font: .8rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
pre.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.images .card { max-width: 100%; }
.row { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .5rem; }
.row img { max-width: 100%; image-rendering: pixelated; border: 1px solid var(--edge); }
@media print { body { background: #fff; } .chart, .card { break-inside: avoid; } }
)";

// Neither < nor & is in it, so that a reader of XML takes it as it is.
inline constexpr const char* report_script = R"(
for (const chart of document.querySelectorAll(".chart")) {
  const svg = chart.querySelector("svg"), now = chart.querySelector(".now");
  const before = now.textContent, numbers = (text) => text.split(" ").map(Number);
  const [x0, x1] = numbers(svg.dataset.x), [y0, y1, log] = svg.dataset.y.split(" ");
  const low = Number(y0), high = Number(y1);
  const value = (y) => log ? low * Math.pow(high / low, 1 - y / 1000)
                           : low + (high - low) * (1 - y / 1000);
  const lines = Array.from(svg.querySelectorAll("[data-name]"), (path) => ({
    name: path.dataset.name,
    points: path.getAttribute("d").split(/[ML]/).slice(1).map(numbers)}));
  const here = document.createElementNS(svg.namespaceURI, "path");
  here.setAttribute("class", "here");
  const nearest = (points, x) =>
    points.reduce((a, b) => Math.abs(a[0] - x) > Math.abs(b[0] - x) ? b : a);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * 1000;
    const found = lines.map((line) => [line.name, nearest(line.points, x)]);
    if (!found.length) return;
    const at = nearest(found.map((pair) => pair[1]), x)[0];
    here.setAttribute("d", "M" + at + " 0V1000");
    svg.append(here);
    now.textContent = found.map(([name, point]) => (lines.length > 1 ? name + " " : "")
      + Number(value(point[1]).toPrecision(4)) + svg.dataset.unit).join(", ")
      + " at step " + Math.round(x0 + (x1 - x0) * at / 1000);
  });
  svg.addEventListener("pointerleave", () => { here.remove(); now.textContent = before; });
}
)";

}  // namespace belfry::hooks

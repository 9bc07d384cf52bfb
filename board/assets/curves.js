// Curves of one run or of the chosen runs, one chart for each quantity.
import { h, get, number, palette, css, empty } from "./util.js";
import { runColor } from "./runs.js";

const set = { smooth: 0.6, x: "step", log: false, find: "" };

// quantity is the last part of a curve's name; curves of the same quantity share a chart.
const quantity = (tag) => tag.replace(/^worker \d+\//, "").split("/").slice(1).join("/") || tag;

// smooth is an exponential mean whose first values are not drawn towards zero.
function smooth(values, weight) {
  if (!weight) return values;
  let last = 0, norm = 0;
  return values.map((v) => {
    if (v == null) return null;
    last = last * weight + v * (1 - weight);
    norm = norm * weight + 1 - weight;
    return last / norm;
  });
}

export function curvesPage(box, state, only) {
  const charts = new Map(); // by quantity: {card, plot, data}
  const grid = h("div.grid", { id: "charts" }), figures = only ? h("div.figures") : null;
  const slider = h("input", { type: "range", id: "smooth", min: 0, max: 0.99, step: 0.01, value: set.smooth });
  const shown = h("span.mono", {}, Number(set.smooth).toFixed(2));
  slider.addEventListener("input", () => { set.smooth = +slider.value; shown.textContent = set.smooth.toFixed(2); for (const c of charts.values()) draw(c); });
  const axis = h("select", { id: "axis", onchange: () => { set.x = axis.value; for (const c of charts.values()) draw(c, true); } },
    [["step", "steps"], ["relative", "seconds"], ["wall", "time of day"]].map(([v, t]) => h("option", { value: v, selected: set.x === v }, t)));
  const log = h("input", { type: "checkbox", id: "log", checked: set.log, onchange: () => { set.log = log.checked; for (const c of charts.values()) draw(c, true); } });
  const find = h("input", { type: "search", placeholder: "find curves", value: set.find, oninput: () => { set.find = find.value; load(); } });
  box.append(h("div.bar", {}, h("label", {}, "smoothing", slider, shown), h("label", {}, "by", axis), h("label", {}, log, "logarithmic"), find,
    only ? null : h("span.soft", { id: "chosen" })), figures || "", grid);

  const list = () => only ? state.runs.filter((r) => r.name === only.name) : state.runs.filter((r) => state.chosen.has(r.name));

  async function load() {
    const runs = list();
    if (!only) box.querySelector("#chosen").textContent = runs.length + " of " + state.runs.length + " runs";
    const wanted = new Map();
    for (const r of runs) for (const tag of r.curves) {
      if (!tag.toLowerCase().includes(set.find.toLowerCase())) continue;
      const q = quantity(tag);
      if (!wanted.has(q)) wanted.set(q, new Set());
      wanted.get(q).add(tag);
    }
    for (const [q, c] of charts) if (!wanted.has(q)) { c.plot && c.plot.destroy(); c.card.remove(); charts.delete(q); }
    if (!wanted.size) grid.replaceChildren(empty(runs.length ? "There are no such curves." : "Choose runs on the page of runs."));
    else for (const e of grid.querySelectorAll(".empty")) e.remove();
    await Promise.all([...wanted].map(async ([q, tags]) => {
      let c = charts.get(q);
      if (!c) {
        c = { q, card: h("div.card.chart", { "data-quantity": q }, h("h2", {}, q), h("div")), plot: null };
        charts.set(q, c);
      }
      c.data = (await get("curves", { run: runs.map((r) => r.name), name: [...tags], max: runs.length > 20 ? 300 : 1000 })).filter((d) => d.step.length);
      draw(c);
    }));
    const order = ["loss", "accuracy", "samples per second", "bytes"];
    const place = (q) => { const i = order.indexOf(q); return i < 0 ? 1.5 : i < 2 ? i : i + 8; };
    const sorted = [...charts.values()].sort((a, b) => place(a.q) - place(b.q) || a.q.localeCompare(b.q));
    sorted.forEach((c, i) => { if (grid.children[i] !== c.card) grid.insertBefore(c.card, grid.children[i] || null); });
    if (only) head(figures, list()[0]);
  }

  function draw(c, fresh) {
    const series = c.data.flatMap((d) => {
      const start = startOf(d, state);
      const x = set.x === "step" ? d.step : d.time.map((t) => set.x === "relative" ? t - start : t);
      return [{ d, x, y: smooth(d.value, d.name.startsWith("validation/") || d.name.startsWith("epoch/") ? 0 : set.smooth) }];
    });
    // one list of x for all series, as the chart wants it
    const xs = [...new Set(series.flatMap((s) => s.x))].sort((a, b) => a - b), at = new Map(xs.map((x, i) => [x, i]));
    const data = [xs, ...series.map((s) => { const y = new Array(xs.length).fill(undefined); s.x.forEach((x, i) => { y[at.get(x)] = set.log && s.y[i] <= 0 ? null : s.y[i]; }); return y; })];
    const key = series.map((s) => s.d.run + "\n" + s.d.name).join("\n") + set.log + set.x;
    if (c.plot && c.key === key && !fresh) { c.plot.setData(data); return; }
    c.key = key;
    if (c.plot) c.plot.destroy();
    const ink = css("--soft"), line = css("--grid"), many = series.length > 12;
    const scale = c.q === "bytes" ? (v) => v == null ? "–" : (v / 2 ** 20).toPrecision(4) + " MiB" : (v) => v == null ? "–" : number(v);
    const axisOf = (more) => ({ stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, ...more });
    c.plot = new uPlot({
      width: Math.max(240, c.card.clientWidth - 34 || 400), height: 240, cursor: { focus: { prox: 24 } }, focus: { alpha: 0.25 },
      legend: { show: !many },
      scales: { x: { time: set.x === "wall" }, y: set.log ? { distr: 3 } : {} },
      axes: [axisOf({}), axisOf({ size: 62, values: (u, list) => list.map((v) => v == null ? "" : c.q === "bytes" ? (v / 2 ** 20).toFixed(1) + "M" : number(v)) })],
      series: [{ label: set.x === "step" ? "step" : "time" }, ...series.map((s, i) => ({
        label: label(s.d, only, c.data), stroke: only || c.data.length === 1 ? palette[i % palette.length] : runColor(state, s.d.run),
        dash: !only && !s.d.name.startsWith("train/") && quantity(s.d.name) !== s.d.name && c.data.some((o) => o.run === s.d.run && o.name.startsWith("train/")) ? [6, 4] : undefined,
        width: 1.6, spanGaps: true, value: (u, v) => scale(v), points: { show: s.x.length < 40 ? true : false, size: 5 } }))],
    }, data, c.card.lastChild);
    c.card.dataset.points = series.reduce((n, s) => n + s.d.all, 0);
  }

  const resize = new ResizeObserver(() => { for (const c of charts.values()) if (c.plot && c.card.clientWidth) c.plot.setSize({ width: Math.max(240, c.card.clientWidth - 34), height: 240 }); });
  resize.observe(grid);
  load();
  return { update: (what) => what === "runs" ? load() : null };
}

// startOf is the time at which the run of a curve has begun, in seconds.
function startOf(d, state) {
  const r = state.runs.find((x) => x.name === d.run);
  return r ? new Date(r.begun) / 1000 : d.time[0];
}

// label names a curve by its run, and by its first part where the chart has several curves of a run.
const label = (d, only, all) => only ? d.name : d.run + (all.some((o) => o.run === d.run && o.name !== d.name) ? " " + d.name.split("/")[0] : "");

function head(box, r) {
  const rows = [["steps", r.steps], ["processes", r.starts], ...Object.entries(r.scores), ...Object.entries(r.hyper || {})];
  box.replaceChildren(...rows.map(([k, v]) => h("div.figure", { "data-figure": k }, h("b", {}, number(v)), h("span", {}, k))));
}

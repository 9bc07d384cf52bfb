// The trace of a step: lanes of boxes over time, with arrows from results to their readers.
import { h, micros, bytes, number, nameColor, css, pan, tip, stageCanvas } from "./util.js";

export function tracePage(box, { step, trace }, run) {
  const boxes = trace.boxes, end = Math.max(...boxes.map((b) => b.start + b.dur), 1), begin = Math.min(...boxes.map((b) => b.start));
  const total = end - begin, kernels = boxes.filter((b) => b.op);
  box.append(h("div.figures", {}, [["step", step], ["took", micros(total)], ["operations", number(boxes.length - kernels.length)], ["operators", number(kernels.length)],
    ["time in operators", micros(kernels.reduce((s, b) => s + b.dur, 0))]].map(([k, v]) => h("div.figure", { "data-figure": k }, h("b", {}, v), h("span", {}, k)))));
  const stage = h("div.stage", { id: "trace", style: { height: Math.max(200, 32 + trace.lanes.length * 58) + "px" } });
  let v = { a: begin, b: end }, chosen = -1;
  const arrows = h("input", { type: "checkbox", id: "arrows", checked: true, onchange: () => c.redraw() });
  const find = h("input", { type: "search", placeholder: "find operators", oninput: () => c.redraw() });
  box.append(h("div.bar", {}, h("button", { onclick: () => { v = { a: begin, b: end }; c.redraw(); } }, "whole step"), h("label", {}, arrows, "arrows of the box that was clicked"), find,
    h("span.soft", {}, "wheel and drag zoom and move")), stage);
  const say = tip(stage), left = 132, top = 26, laneH = 58;
  const X = (t, w) => left + (t - v.a) / (v.b - v.a) * (w - left - 8);
  const rect = (b, w) => ({ x: X(b.start, w), y: top + b.lane * laneH + (b.depth ? 25 : 3), w: Math.max(1, b.dur / (v.b - v.a) * (w - left - 8)), h: b.depth ? 24 : 20 });
  const color = (b) => b.op ? nameColor(b.op) : b.name.includes("_backward") ? "#e4572e99" : b.name.includes("update") ? "#17a67399" : "#64748b99";
  const c = stageCanvas(stage, (g, w, hh) => {
    g.clearRect(0, 0, w, hh);
    g.font = "11px system-ui";
    const unit = 10 ** Math.floor(Math.log10((v.b - v.a) / 4)), pace = [5, 2, 1].map((k) => k * unit).find((u) => (v.b - v.a) / u >= 5) || unit;
    for (let t = begin + Math.ceil((v.a - begin) / pace) * pace; t < v.b; t += pace) { const x = X(t, w); g.fillStyle = css("--grid"); g.fillRect(x, top, 1, hh); g.fillStyle = css("--soft"); g.fillText(micros(Math.max(0, t - begin) || 0.0), x + 3, 15); }
    trace.lanes.forEach((name, i) => { g.fillStyle = css("--line"); g.fillRect(0, top + (i + 1) * laneH - 2, w, 1); g.fillStyle = css("--ink"); g.fillText(name, 10, top + i * laneH + 26, left - 16); });
    g.save(); g.beginPath(); g.rect(left, 0, w, hh); g.clip();
    const text = find.value.toLowerCase();
    boxes.forEach((b, i) => {
      const r = rect(b, w);
      if (r.x > w || r.x + r.w < left) return;
      g.globalAlpha = text && !(b.name + " " + b.op).toLowerCase().includes(text) ? 0.15 : 1;
      g.fillStyle = color(b);
      g.fillRect(r.x, r.y, Math.max(0.8, r.w - 0.6), r.h);
      if (i === chosen) { g.strokeStyle = css("--ink"); g.lineWidth = 2; g.strokeRect(r.x, r.y, r.w, r.h); }
      if (r.w > 34) { g.save(); g.beginPath(); g.rect(r.x, r.y, r.w - 3, r.h); g.clip(); g.fillStyle = "#fff"; g.fillText(b.name, Math.max(r.x, left) + 4, r.y + r.h / 2 + 4); g.restore(); }
      g.globalAlpha = 1;
    });
    if (arrows.checked && chosen >= 0) for (const [from, to] of trace.flows || []) {
      if (from !== chosen && to !== chosen) continue;
      const a = rect(boxes[from], w), b = rect(boxes[to], w), x0 = a.x + a.w, y0 = a.y + a.h / 2, x1 = b.x, y1 = b.y + b.h / 2;
      g.strokeStyle = g.fillStyle = to === chosen ? "#a23fc4" : "#2f6fed";
      g.lineWidth = 1.4; g.beginPath(); g.moveTo(x0, y0); g.bezierCurveTo(x0 + 30, y0 + 20, x1 - 30, y1 + 20, x1, y1); g.stroke();
      g.beginPath(); g.moveTo(x1, y1); g.lineTo(x1 - 7, y1 - 4); g.lineTo(x1 - 7, y1 + 4); g.fill();
    }
    g.restore();
  });
  const at = (x, y) => { const w = stage.clientWidth; for (let i = boxes.length - 1; i >= 0; i--) { const r = rect(boxes[i], w); if (x >= r.x - 1 && x <= r.x + r.w + 1 && y >= r.y && y <= r.y + r.h) return i; } return -1; };
  const detail = h("div.card", { id: "box" }, h("p.soft", {}, "Click a box to see the operation and what it waits for."));
  pan(c.canvas, {
    move: (dx) => { const s = dx / (stage.clientWidth - left - 8) * (v.b - v.a); v.a -= s; v.b -= s; c.redraw(); },
    zoom: (f, x) => { const t = v.a + (x - left) / (stage.clientWidth - left - 8) * (v.b - v.a); v.a = t - (t - v.a) / f; v.b = t + (v.b - t) / f; c.redraw(); },
    hover: (x, y) => { const b = x < left ? null : boxes[at(x, y)]; say(b && `${b.name}\n${b.op || "operation of the engine"}, ${micros(b.dur)}${b.flops ? "\n" + number(b.flops / b.dur / 1e3) + " GFLOP/s" : ""}`, x, y); },
    tap: (x, y) => show(at(x, y)),
  });
  function show(i) {
    chosen = i;
    c.redraw();
    const b = boxes[i];
    if (!b) return;
    const from = (trace.flows || []).filter((f) => f[1] === i).map((f) => boxes[f[0]].name), to = (trace.flows || []).filter((f) => f[0] === i).map((f) => boxes[f[1]].name);
    const rows = [["operator", b.op || "operation of the engine"], ["lane", trace.lanes[b.lane]], ["begins", micros(b.start - begin)], ["takes", micros(b.dur)], ["bytes", b.bytes ? bytes(b.bytes) : "–"],
      ["GFLOP/s", b.flops ? number(b.flops / b.dur / 1e3) : "–"], ["after", from.join(", ") || "–"], ["before", to.join(", ") || "–"]];
    detail.replaceChildren(h("h2", {}, b.name), h("dl.facts", {}, rows.flatMap(([k, t]) => [h("dt", {}, k), h("dd", {}, t)])));
  }
  const sums = new Map();
  for (const b of kernels) { const s = sums.get(b.op) || { op: b.op, n: 0, us: 0, bytes: 0, flops: 0 }; s.n++; s.us += b.dur; s.bytes += b.bytes || 0; s.flops += b.flops || 0; sums.set(b.op, s); }
  const rows = [...sums.values()].sort((a, b) => b.us - a.us), all = rows.reduce((s, r) => s + r.us, 0) || 1;
  box.append(h("div.split", { style: { marginTop: "16px", gridTemplateColumns: "minmax(0,3fr) minmax(0,2fr)" } },
    h("div.card.scroll", {}, h("h2", {}, "Operators of the step"), h("table", { id: "operators" }, h("thead", {}, h("tr", {}, ["operator", "count", "time", "share", "bytes", "GFLOP/s"].map((t, i) => h("th" + (i ? ".num" : ""), {}, t)))),
      h("tbody", {}, rows.map((r) => h("tr", {}, h("td", {}, h("span.dot", { style: { background: nameColor(r.op) } }), r.op), h("td.num", {}, r.n), h("td.num", {}, micros(r.us)), h("td.num", {}, (100 * r.us / all).toFixed(1) + " %"), h("td.num", {}, bytes(r.bytes)),
        h("td.num", {}, r.flops ? number(r.flops / r.us / 1e3) : "–")))))), detail));
  if (stage.clientWidth < 600) detail.parentNode.style.gridTemplateColumns = "minmax(0,1fr)";
  const widest = boxes.map((b, i) => [b.dur, i]).filter(([, i]) => !boxes[i].op && (trace.flows || []).some((f) => f[1] === i)).sort((a, b) => b[0] - a[0])[0];
  if (widest) show(widest[1]);
}

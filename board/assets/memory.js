// The plan of the memory: steps from left to right, addresses from bottom to top.
import { h, bytes, number, colorOf, css, pan, tip, stageCanvas } from "./util.js";

export function memoryPage(box, m, run) {
  const saved = m.naive ? 100 * (1 - m.total / m.naive) : 0;
  box.append(h("div.figures", {}, [["arena", bytes(m.total)], ["least possible", bytes(m.bound)], ["without sharing", bytes(m.naive)], ["saved", saved.toFixed(1) + " %"],
    ["buffers", number(m.blocks.length)], ["steps", number(m.steps.length)]].map(([k, v]) => h("div.figure", { "data-figure": k }, h("b", {}, v), h("span", {}, k)))));
  const stage = h("div.stage", { id: "plan" });
  const fit = { x0: 0, x1: Math.max(1, m.steps.length), y0: 0, y1: Math.max(1, m.total) };
  let v = { ...fit }, chosen = -1;
  box.append(h("div.bar", {}, h("button", { onclick: () => { v = { ...fit }; c.redraw(); } }, "whole plan"), h("span.soft", {}, "time from left to right, addresses from bottom to top; wheel and drag zoom and move")), stage);
  const left = 66, low = 24;
  const say = tip(stage);
  const X = (s, w) => left + (s - v.x0) / (v.x1 - v.x0) * (w - left - 8), Y = (b, hh) => hh - low - (b - v.y0) / (v.y1 - v.y0) * (hh - low - 8);
  const c = stageCanvas(stage, (g, w, hh) => {
    g.clearRect(0, 0, w, hh);
    g.save();
    g.beginPath(); g.rect(left, 0, w - left, hh - low); g.clip();
    m.blocks.forEach((b, i) => {
      const x = X(b.start, w), y = Y(b.offset + b.bytes, hh), bw = Math.max(1.5, X(b.end + 1, w) - x), bh = Math.max(1, Y(b.offset, hh) - y);
      g.globalAlpha = chosen < 0 || chosen === i ? 0.85 : 0.3;
      g.fillStyle = colorOf(b.kind);
      g.fillRect(x, y, bw, bh);
      g.globalAlpha = 1;
      g.strokeStyle = css("--card"); g.lineWidth = 0.6; g.strokeRect(x, y, bw, bh);
      if (bw > 60 && bh > 13) { g.fillStyle = "#fff"; g.font = "11px system-ui"; g.save(); g.beginPath(); g.rect(x, y, bw, bh); g.clip(); g.fillText(b.name, Math.max(x, left) + 4, y + bh / 2 + 4); g.restore(); }
    });
    g.restore();
    g.fillStyle = css("--soft"); g.font = "11px system-ui";
    for (let k = 0; k <= 4; k++) {
      const b = v.y0 + (v.y1 - v.y0) * k / 4;
      g.textAlign = "right"; g.fillText(bytes(Math.max(0, Math.round(b))), left - 6, Math.max(11, Y(b, hh) + 4));
      g.textAlign = "center"; g.fillText(Math.round(v.x0 + (v.x1 - v.x0) * k / 4), left + (w - left - 20) * k / 4 + 6, hh - 8);
    }
    g.textAlign = "left";
  });
  const at = (x, y) => {
    const w = stage.clientWidth, hh = stage.clientHeight;
    const s = v.x0 + (x - left) / (w - left - 8) * (v.x1 - v.x0), b = v.y0 + (hh - low - y) / (hh - low - 8) * (v.y1 - v.y0);
    return m.blocks.findIndex((k) => s >= k.start && s < k.end + 1 && b >= k.offset && b < k.offset + k.bytes);
  };
  pan(c.canvas, {
    move: (dx, dy) => { const sx = dx / (stage.clientWidth - left - 8) * (v.x1 - v.x0), sy = dy / (stage.clientHeight - low - 8) * (v.y1 - v.y0); v.x0 -= sx; v.x1 -= sx; v.y0 += sy; v.y1 += sy; c.redraw(); },
    zoom: (f, x, y) => {
      const px = v.x0 + (x - left) / (stage.clientWidth - left - 8) * (v.x1 - v.x0), py = v.y0 + (stage.clientHeight - low - y) / (stage.clientHeight - low - 8) * (v.y1 - v.y0);
      v.x0 = px - (px - v.x0) / f; v.x1 = px + (v.x1 - px) / f; v.y0 = py - (py - v.y0) / f; v.y1 = py + (v.y1 - py) / f; c.redraw();
    },
    hover: (x, y) => {
      const i = x < left ? -1 : at(x, y);
      if (i !== chosen) { chosen = i; c.redraw(); }
      const b = m.blocks[i];
      say(b && `${b.name}\n${b.kind}, ${bytes(b.bytes)} at ${bytes(b.offset)}\nsteps ${b.start} (${m.steps[b.start] ?? ""}) to ${b.end} (${m.steps[b.end] ?? ""})`, x, y);
    },
  });
  box.append(h("div.legend", {}, [...new Set(m.blocks.map((b) => b.kind))].map((k) => h("span", {}, h("i", { style: { background: colorOf(k) } }), k))));
  const big = m.blocks.map((b, i) => [b, i]).sort((a, b) => b[0].bytes - a[0].bytes).slice(0, 12);
  box.append(h("div.card.scroll", { style: { marginTop: "16px" } }, h("h2", {}, "Largest buffers"), h("table", { id: "blocks" }, h("thead", {}, h("tr", {}, ["buffer", "kind", "bytes", "from step", "to step"].map((t, i) => h("th" + (i > 1 ? ".num" : ""), {}, t)))),
    h("tbody", {}, big.map(([b]) => h("tr", {}, h("td", {}, b.name), h("td", {}, b.kind), h("td.num", {}, bytes(b.bytes)), h("td.num", {}, b.start), h("td.num", {}, b.end)))))));
}

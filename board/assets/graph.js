// The network's graph: layers from the top, zoom, search, and figures of each node.
import { h, svg, bytes, number, micros, colorOf, pan } from "./util.js";

// layout gives every node a rank and a place: ranks by the longest path, places by the mean of the neighbours.
// Edges over several ranks pass through places of their own.
export function layout(nodes) {
  const index = new Map(nodes.map((n, i) => [n.name, i]));
  const cells = nodes.map((n, i) => ({ node: i, rank: 0, up: [], down: [], w: Math.max(96, 8 + 6.4 * Math.max(n.name.length, (n.op || "data").length + 2)) }));
  nodes.forEach((n, i) => { for (const from of n.in || []) if (index.has(from)) cells[i].rank = Math.max(cells[i].rank, cells[index.get(from)].rank + 1); });
  nodes.forEach((n, i) => { // inputs go right above their first reader
    if (!(n.in || []).length) {
      const readers = nodes.map((m, k) => (m.in || []).includes(n.name) ? cells[k].rank : Infinity);
      const first = Math.min(...readers);
      if (isFinite(first) && first > 0) cells[i].rank = first - 1;
    }
  });
  const edges = [];
  nodes.forEach((n, i) => { for (const name of n.in || []) {
    if (!index.has(name)) continue;
    const path = [index.get(name)];
    for (let r = cells[path[0]].rank + 1; r < cells[i].rank; r++) { path.push(cells.length); cells.push({ node: -1, rank: r, up: [], down: [], w: 14 }); }
    path.push(i);
    for (let k = 1; k < path.length; k++) { cells[path[k - 1]].down.push(path[k]); cells[path[k]].up.push(path[k - 1]); }
    edges.push(path);
  } });
  const ranks = [];
  cells.forEach((c, i) => (ranks[c.rank] ||= []).push(i));
  const order = () => ranks.forEach((r) => r.forEach((i, k) => { cells[i].k = k; }));
  order();
  for (let pass = 0; pass < 12; pass++) {
    for (const r of pass % 2 ? [...ranks].reverse() : ranks) {
      const side = pass % 2 ? "down" : "up";
      for (const i of r) { const l = cells[i][side]; cells[i].key = l.length ? l.reduce((s, j) => s + cells[j].k, 0) / l.length : cells[i].k; }
      r.sort((a, b) => cells[a].key - cells[b].key || a - b);
      r.forEach((i, k) => { cells[i].k = k; });
    }
  }
  const gap = 22, height = 74;
  for (const r of ranks) { let x = 0; for (const i of r) { cells[i].x = x + cells[i].w / 2; x += cells[i].w + gap; } for (const i of r) cells[i].x -= x / 2; }
  for (let pass = 0; pass < 14; pass++) {
    for (const r of pass % 2 ? [...ranks].reverse() : ranks) {
      const want = r.map((i) => { const l = [...cells[i].up, ...cells[i].down]; return l.length ? l.reduce((s, j) => s + cells[j].x, 0) / l.length : cells[i].x; });
      const room = (a, b) => (cells[r[a]].w + cells[r[b]].w) / 2 + gap;
      const x = [...want];
      for (let k = 1; k < r.length; k++) x[k] = Math.max(x[k], x[k - 1] + room(k - 1, k));
      const back = [...want];
      for (let k = r.length - 2; k >= 0; k--) back[k] = Math.min(back[k], back[k + 1] - room(k, k + 1));
      r.forEach((i, k) => { cells[i].x = (x[k] + back[k]) / 2; });
      for (let k = 1; k < r.length; k++) cells[r[k]].x = Math.max(cells[r[k]].x, cells[r[k - 1]].x + room(k - 1, k));
    }
  }
  cells.forEach((c) => { c.y = c.rank * height; });
  return { cells, edges, height };
}

export function graphPage(box, { graph, times }, run) {
  const { cells, edges } = layout(graph.nodes), nodes = graph.nodes;
  const spent = (n) => (times[n.name] || [0, 0])[0] + (times[n.name] || [0, 0])[1];
  const figures = { kind: null, time: spent, bytes: (n) => n.bytes || 0, FLOPs: (n) => n.flops || 0, parameters: (n) => n.parameters || 0 };
  const stage = h("div.stage", { id: "graph" }), side = h("div.card", { id: "node" }, h("p.soft", {}, "Click a node to see its figures."));
  const find = h("input", { type: "search", id: "find", placeholder: "find nodes" }), count = h("span.soft", { id: "found" });
  const by = h("select", { id: "by" }, Object.keys(figures).map((k) => h("option", {}, k)));
  box.append(h("div.figures", {}, [["nodes", number(nodes.length)], ["parameters", number(graph.parameters)], ["GFLOPs of inference", number(graph.flops / 1e9)],
    ["bytes of results", bytes(nodes.reduce((s, n) => s + n.bytes, 0))]].map(([k, v]) => h("div.figure", { "data-figure": k }, h("b", {}, v), h("span", {}, k)))),
  h("div.bar", {}, find, count, h("label", {}, "colour by", by), h("button", { onclick: () => fit() }, "whole graph")), h("div.split", {}, stage, side));

  const all = svg("g"), root = svg("svg", { id: "network" }, all);
  stage.append(root);
  const boxHeight = 34;
  const lines = edges.map((path) => {
    let d = "";
    path.forEach((i, k) => {
      const c = cells[i], y = k === 0 ? c.y + boxHeight / 2 : c.node >= 0 ? c.y - boxHeight / 2 : c.y;
      if (k === 0) d = `M${c.x},${y}`;
      else { const p = cells[path[k - 1]], py = k === 1 ? p.y + boxHeight / 2 : p.y, m = (py + y) / 2; d += `C${p.x},${m} ${c.x},${m} ${c.x},${y}`; }
    });
    const e = svg("path", { d, class: "edge" });
    all.append(e);
    return { e, from: path[0], to: path[path.length - 1] };
  });
  const groups = nodes.map((n, i) => {
    const c = cells[i], g = svg("g", { class: "node", transform: `translate(${c.x},${c.y})`, "data-node": n.name });
    g.append(svg("rect", { class: "box", x: -c.w / 2, y: -boxHeight / 2, width: c.w, height: boxHeight, rx: 6 }),
      svg("rect", { class: "color", x: -c.w / 2, y: -boxHeight / 2, width: 6, height: boxHeight, rx: 3 }),
      svg("text", { x: 3, y: -2, "text-anchor": "middle", "font-weight": 600 }, n.name),
      svg("text", { x: 3, y: 11, "text-anchor": "middle", class: "small" }, n.op || "input"));
    if (n.shape) all.append(svg("text", { class: "flow", x: c.x, y: c.y + boxHeight / 2 + 11 }, n.shape.join("×")));
    all.append(g);
    return g;
  });

  function paint() {
    const f = figures[by.value], most = f ? Math.max(...nodes.map(f), 1e-12) : 1;
    nodes.forEach((n, i) => {
      const c = groups[i].querySelector(".color"), b = groups[i].querySelector(".box");
      c.setAttribute("fill", colorOf(n.kind));
      b.style.fill = f && f(n) > 0 ? `color-mix(in srgb, #e4572e ${Math.round(8 + 70 * f(n) / most)}%, var(--card))` : "";
    });
  }
  by.addEventListener("change", paint);

  let view = { x: 0, y: 0, k: 1 };
  const place = () => all.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.k})`);
  function fit() {
    const w = stage.clientWidth, hh = stage.clientHeight;
    const x0 = Math.min(...cells.map((c) => c.x - c.w / 2)), x1 = Math.max(...cells.map((c) => c.x + c.w / 2)), y1 = Math.max(...cells.map((c) => c.y));
    const whole = Math.min(w / (x1 - x0 + 40), hh / (y1 + 90), 1.3);
    const k = Math.max(whole, 0.02);
    view = { k, x: w / 2 - k * (x0 + x1) / 2, y: hh / 2 - k * y1 / 2 };
    place();
  }
  pan(root, {
    move: (dx, dy) => { view.x += dx; view.y += dy; place(); },
    zoom: (f, x, y) => { const k = Math.min(4, Math.max(0.02, view.k * f)); view.x = x - (x - view.x) * k / view.k; view.y = y - (y - view.y) * k / view.k; view.k = k; place(); },
    tap: (x, y, ev) => { const g = document.elementFromPoint(ev.clientX, ev.clientY)?.closest?.("g.node"); if (g) show(groups.indexOf(g)); },
  });

  function show(i) {
    const n = nodes[i], t = times[n.name];
    lines.forEach((l) => l.e.setAttribute("class", "edge" + (l.from === i || l.to === i ? " on" : "")));
    const rows = [["operator", n.op || "input"], ["shape", (n.shape || []).join(" × ")], ["type", n.type], ["bytes", bytes(n.bytes)], ["parameters", number(n.parameters || 0)],
      ["FLOPs", number(n.flops || 0)], ["time", t ? micros(t[0]) + " forward, " + micros(t[1]) + " backward" : "not traced on its own"], ["reads", (n.in || []).join(", ") || "–"],
      ["attributes", n.attrs || "–"]];
    side.replaceChildren(h("h2", {}, h("span.dot", { style: { background: colorOf(n.kind) } }), n.name),
      h("dl.facts", {}, rows.flatMap(([k, v]) => [h("dt", {}, k), h("dd", { "data-fact": k }, v)])));
  }

  find.addEventListener("input", () => {
    const text = find.value.toLowerCase();
    const hits = nodes.map((n, i) => text && (n.name + " " + n.op).toLowerCase().includes(text) ? i : -1).filter((i) => i >= 0);
    groups.forEach((g, i) => g.setAttribute("class", "node" + (hits.includes(i) ? " found" : text ? " dim" : "")));
    count.textContent = text ? hits.length + " found" : "";
    if (hits.length) {
      show(hits[0]);
      const c = cells[hits[0]];
      view.k = Math.max(view.k, 0.9);
      view.x = stage.clientWidth / 2 - view.k * c.x; view.y = stage.clientHeight / 2 - view.k * c.y;
      place();
    }
  });
  const used = [...new Set(nodes.map((n) => n.kind))];
  box.append(h("div.legend", {}, used.map((k) => h("span", {}, h("i", { style: { background: colorOf(k) } }), k))));
  paint();
  fit();
}

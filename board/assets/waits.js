// The picture of the waits in a job: processes as boxes, an arrow from each one that waits to the one it waits for.
import { h, svg } from "./util.js";

const wide = 104, high = 34, gap = 26, between = 84;

// edges lists who waits for whom: a worker with calls that wait for the share of another worker, and a server whose
// oldest round lacks a worker's share.
export function edges(members) {
  return members.filter((m) => m.alive && !m.left && m.waiting >= 0 && m.node !== "worker " + m.waiting)
    .map((m) => ({ from: m.node, to: "worker " + m.waiting }));
}

// place puts servers above workers, each in rows of at most twelve.
function place(members) {
  const rows = [];
  for (const role of ["server", "worker"]) {
    const list = members.filter((m) => m.node.startsWith(role));
    for (let i = 0; i < list.length; i += 12) rows.push(list.slice(i, i + 12));
  }
  const width = Math.max(...rows.map((r) => r.length), 1) * (wide + gap) + gap, at = new Map();
  rows.forEach((r, y) => r.forEach((m, x) => at.set(m.node, {
    x: width / 2 + (x - (r.length - 1) / 2) * (wide + gap), y: 50 + y * between })));
  return { at, width, height: 50 + (rows.length - 1) * between + 64 };
}

// path leads from box a to box b; boxes of one row are joined by an arc below them.
function path(a, b) {
  if (a.y === b.y) {
    const y = a.y + high / 2, depth = 22 + Math.min(18, Math.abs(a.x - b.x) / 20);
    return `M ${a.x} ${y} C ${a.x} ${y + depth}, ${b.x} ${y + depth}, ${b.x} ${y + 5}`;
  }
  const down = b.y > a.y ? 1 : -1, y0 = a.y + down * high / 2, y1 = b.y - down * (high / 2 + 5);
  return `M ${a.x} ${y0} C ${a.x} ${y0 + down * 26}, ${b.x} ${y1 - down * 26}, ${b.x} ${y1}`;
}

// waitsPicture draws the processes of a job. A click on one leaves its own arrows bright.
export function waitsPicture(members, chosen, choose) {
  const list = edges(members), { at, width, height } = place(members), awaited = new Map();
  for (const e of list) awaited.set(e.to, (awaited.get(e.to) || 0) + 1);
  const root = svg("svg", { id: "waits", class: "waits", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": list.length ? list.map((e) => e.from + " waits for " + e.to).join(", ") : "nobody waits" });
  root.style.maxWidth = width + "px";
  root.append(svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M 0 0 L 8 4 L 0 8 z", class: "tipshape" }))));
  for (const e of list) {
    const a = at.get(e.from), b = at.get(e.to);
    if (!a || !b) continue;
    const dim = chosen && chosen !== e.from && chosen !== e.to;
    root.append(svg("path", { class: "wait" + (dim ? " dim" : ""), d: path(a, b), "data-from": e.from, "data-to": e.to, "marker-end": "url(#tip)" }));
  }
  for (const m of members) {
    const p = at.get(m.node), n = awaited.get(m.node) || 0;
    if (!p) continue;
    const state = m.left ? "left" : !m.alive ? "dead" : n ? "awaited" : m.waiting >= 0 ? "waiting" : "works";
    const text = m.left ? "has left" : !m.alive ? (m.incarnation ? "dead" : "missing") : n ? n + (n > 1 ? " wait for it" : " waits for it")
      : m.waiting >= 0 ? "waits" : m.parked ? m.parked + " pulls wait" : "works";
    const g = svg("g", { class: "process " + state + (chosen === m.node ? " on" : ""), "data-process": m.node },
      svg("rect", { x: p.x - wide / 2, y: p.y - high / 2, width: wide, height: high, rx: 8 }));
    const name = svg("text", { x: p.x, y: p.y - 2 }), more = svg("text", { x: p.x, y: p.y + 12, class: "small" });
    name.textContent = m.node;
    more.textContent = text;
    g.append(name, more);
    g.addEventListener("click", () => choose(chosen === m.node ? null : m.node));
    root.append(g);
  }
  return h("div.scroll", {}, root);
}

// Small helpers of all pages: elements, numbers, colours, requests.

// h makes an element: h("td.num", {title: "x"}, child, ...). Texts are never read as HTML.
export function h(spec, attrs, ...children) {
  const [tag, ...classes] = spec.split(".");
  const e = document.createElement(tag || "div");
  if (classes.length) e.className = classes.join(" ");
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "style") Object.assign(e.style, v);
    else if (v === true) e.setAttribute(k, "");
    else if (v !== false && v != null) e.setAttribute(k, v);
  }
  e.append(...children.flat().filter((c) => c != null && c !== false));
  return e;
}

// svg makes an element of SVG.
export function svg(tag, attrs, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attrs || {})) if (v != null) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

export async function get(path, query) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query || {})) for (const x of [v].flat()) q.append(k, x);
  const r = await fetch("api/" + path + (query ? "?" + q : ""));
  if (!r.ok) throw new Error((await r.text()).trim());
  return r.json();
}

// number formats a value with about four digits.
export function number(v) {
  if (v == null) return "–";
  if (typeof v !== "number") return String(v);
  const a = Math.abs(v);
  if (v === 0) return "0";
  if (a >= 1e7 || a < 1e-4) return v.toExponential(2);
  if (Number.isInteger(v)) return v.toLocaleString("en");
  return String(+v.toPrecision(a >= 1000 ? 6 : 4));
}

export function bytes(n) {
  if (n == null) return "–";
  let i = 0;
  while (n >= 1024 && i < 4) { n /= 1024; i++; }
  return (i ? n.toPrecision(3) : n) + [" B", " KiB", " MiB", " GiB", " TiB"][i];
}

export function micros(us) {
  if (us >= 1e6) return (us / 1e6).toPrecision(3) + " s";
  return us >= 1e3 ? (us / 1e3).toPrecision(3) + " ms" : us.toPrecision(3) + " µs";
}

export function span(seconds) {
  const s = Math.round(seconds);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  return s < 86400 ? Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min" : Math.floor(s / 86400) + " d " + Math.floor(s % 86400 / 3600) + " h";
}

export const clock = (t) => new Date(t).toLocaleTimeString("en-GB");
export const date = (t) => new Date(t).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export const palette = ["#2f6fed", "#e4572e", "#17a673", "#a23fc4", "#d99a00", "#0ea5b7", "#d6336c", "#6b7f1e", "#7c6cf0", "#8d5524"];
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// kinds of operators and their colours; others are grey.
export const kindColors = { data: "#64748b", product: "#2f6fed", normalization: "#17a673", function: "#d99a00", pooling: "#0ea5b7", shape: "#94a3b8",
  loss: "#d6336c", activation: "#2f6fed", gradient: "#e4572e", scratch: "#94a3b8", output: "#17a673", copy: "#a23fc4" };
export const colorOf = (kind) => kindColors[kind] || "#8b95a5";

// nameColor gives equal names equal colours.
export function nameColor(name) {
  let n = 7;
  for (const c of name) n = (n * 31 + c.charCodeAt(0)) >>> 0;
  return palette[n % palette.length];
}

export const empty = (...text) => h("div.card.empty", {}, ...text);

// canvas makes a sharp canvas that fills a stage and calls draw when its size changes.
export function stageCanvas(stage, draw) {
  const c = h("canvas");
  stage.append(c);
  const fit = () => {
    const r = stage.getBoundingClientRect(), d = devicePixelRatio || 1;
    c.width = r.width * d;
    c.height = r.height * d;
    const g = c.getContext("2d");
    g.setTransform(d, 0, 0, d, 0, 0);
    draw(g, r.width, r.height);
  };
  new ResizeObserver(fit).observe(stage);
  return { canvas: c, redraw: fit };
}

// pan moves and zooms by mouse, wheel and fingers: move(dx, dy), zoom(factor, x, y), tap(x, y), hover(x, y).
export function pan(e, on) {
  const at = new Map();
  let moved = 0, gap = 0;
  const xy = (ev) => { const r = e.getBoundingClientRect(); return [ev.clientX - r.left, ev.clientY - r.top]; };
  e.addEventListener("wheel", (ev) => { ev.preventDefault(); on.zoom(Math.exp(-ev.deltaY * 0.0015), ...xy(ev)); }, { passive: false });
  e.addEventListener("pointerdown", (ev) => { at.set(ev.pointerId, xy(ev)); moved = 0; gap = 0; });
  e.addEventListener("pointermove", (ev) => {
    const p = xy(ev), old = at.get(ev.pointerId);
    if (!old) { if (on.hover) on.hover(...p); return; }
    moved += Math.abs(p[0] - old[0]) + Math.abs(p[1] - old[1]);
    if (moved > 4 && !e.hasPointerCapture(ev.pointerId)) e.setPointerCapture(ev.pointerId);
    at.set(ev.pointerId, p);
    if (at.size === 1) on.move(p[0] - old[0], p[1] - old[1]);
    if (at.size === 2) {
      const [a, b] = [...at.values()], d = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (gap) on.zoom(d / gap, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      gap = d;
    }
  });
  const up = (ev) => { if (at.delete(ev.pointerId) && moved <= 4 && ev.type === "pointerup" && on.tap) on.tap(...xy(ev), ev); gap = 0; };
  for (const name of ["pointerup", "pointercancel"]) e.addEventListener(name, up);
  e.addEventListener("pointerleave", () => { if (on.hover) on.hover(-1, -1); });
}

// tip shows a text beside a point of a stage; an empty text hides it.
export function tip(stage) {
  const e = h("div.tip", { style: { display: "none" } });
  stage.append(e);
  return (text, x, y) => {
    e.style.display = text ? "block" : "none";
    if (!text) return;
    e.textContent = text;
    e.style.left = Math.max(4, Math.min(x + 14, stage.clientWidth - e.offsetWidth - 6)) + "px";
    e.style.top = Math.max(4, Math.min(y + 14, stage.clientHeight - e.offsetHeight - 6)) + "px";
  };
}

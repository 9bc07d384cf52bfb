// Histograms of parameters and gradients: one ridge for each step, the newest in front.
import { h, number, css } from "./util.js";

let find = "";

export function histogramsPage(box, data, run) {
  const grid = h("div.grid", { id: "ridges" }), input = h("input", { type: "search", placeholder: "find arrays", value: find });
  input.addEventListener("input", () => { find = input.value; draw(); });
  box.append(h("div.bar", {}, input, h("span.soft", {}, "one ridge for each recorded step, the newest in front")), grid);
  function draw() {
    // parameter and gradient of an array stand side by side
    const key = (n) => n.replace(/^(parameter|gradient)\//, "") + (n.startsWith("gradient") ? "1" : "0");
    const list = data.filter((d) => d.name.toLowerCase().includes(find.toLowerCase())).sort((a, b) => key(a.name).localeCompare(key(b.name)));
    grid.replaceChildren(...list.map((d) => {
      const last = d.list[d.list.length - 1], mean = last.sum / (last.count || 1), dev = Math.sqrt(Math.max(0, last.squares / (last.count || 1) - mean * mean));
      const c = h("canvas", { "data-name": d.name, style: { width: "100%", height: "190px" } });
      const card = h("div.card", {}, h("h2", {}, d.name), c, h("div.legend.soft", {}, h("span", {}, `step ${last.step}`), h("span", {}, `mean ${number(mean)}`), h("span", {}, `deviation ${number(dev)}`),
        h("span", {}, `${number(last.min)} to ${number(last.max)}`), last.other ? h("span.bad", {}, `${last.other} not finite`) : null));
      requestAnimationFrame(() => ridges(c, d));
      return card;
    }));
  }
  draw();
  return { update: (next) => { data = next; draw(); } };
}

function ridges(c, d) {
  const r = c.getBoundingClientRect(), k = devicePixelRatio || 1;
  if (!r.width) return;
  c.width = r.width * k; c.height = 190 * k;
  const g = c.getContext("2d"), w = r.width, hh = 190;
  g.setTransform(k, 0, 0, k, 0, 0);
  const lo = Math.min(...d.list.map((x) => x.min)), hi = Math.max(...d.list.map((x) => x.max)), room = hi - lo || 1;
  const X = (v) => 6 + (v - lo) / room * (w - 60);
  const n = d.list.length, rise = 62;
  d.list.forEach((x, i) => {
    const base = rise + 8 + (hh - rise - 30) * (n > 1 ? i / (n - 1) : 1);
    const bins = x.counts || [], width = (x.max - x.min) / (bins.length || 1), most = Math.max(...bins, 1);
    g.beginPath();
    if (bins.length === 1 || !width) { g.moveTo(X(x.min) - 2, base); g.lineTo(X(x.min), base - rise); g.lineTo(X(x.min) + 2, base); } else {
      g.moveTo(X(x.min), base);
      bins.forEach((b, j) => g.lineTo(X(x.min + (j + 0.5) * width), base - rise * b / most));
      g.lineTo(X(x.max), base);
    }
    const part = n > 1 ? i / (n - 1) : 1, hue = d.name.startsWith("gradient") ? "#e4572e" : "#2f6fed";
    g.closePath();
    g.globalAlpha = 0.35 + 0.5 * part; g.fillStyle = hue; g.fill();
    g.globalAlpha = 1; g.strokeStyle = css("--card"); g.lineWidth = 1; g.stroke();
    if (i === 0 || i === n - 1 || (n < 9)) { g.fillStyle = css("--soft"); g.font = "10px system-ui"; g.fillText(String(x.step), w - 48, base + 3); }
  });
  g.fillStyle = css("--soft"); g.font = "10.5px system-ui";
  g.fillText(number(lo), 4, hh - 4); g.textAlign = "center"; g.fillText(number((lo + hi) / 2), X((lo + hi) / 2), hh - 4); g.textAlign = "right"; g.fillText(number(hi), X(hi), hh - 4); g.textAlign = "left";
}

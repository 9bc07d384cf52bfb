// The table of runs: hyper-parameters and final scores, sortable, with a choice for the curves.
import { h, number, date, span, palette, empty } from "./util.js";

export const runColor = (state, name) => palette[Math.max(0, state.runs.map((r) => r.name).sort().indexOf(name)) % palette.length];
let sort = { key: "begun", down: true }, filter = "";

export function runsPage(box, state) {
  const table = h("div.card.scroll"), find = h("input", { id: "find", placeholder: "find runs", value: filter, type: "search" });
  find.addEventListener("input", () => { filter = find.value; draw(); });
  const all = h("button", { onclick: () => { for (const r of shown()) state.chosen.add(r.name); draw(); } }, "choose all");
  const none = h("button", { onclick: () => { state.chosen.clear(); draw(); } }, "choose none");
  const compare = h("a", { href: "#/curves", id: "compare" }, "compare curves →");
  box.append(h("div.bar", {}, find, all, none, compare), table);

  const shown = () => state.runs.filter((r) => JSON.stringify([r.name, r.hyper, r.program]).toLowerCase().includes(filter.toLowerCase()));

  function draw() {
    const list = shown();
    if (!state.runs.length) {
      table.replaceChildren(h("div.empty", {}, "No runs yet. A program records one with ", h("code", {}, 'module.Record("runs/NAME")'), "."));
      return;
    }
    const keys = (of) => [...new Set(state.runs.flatMap((r) => Object.keys(r[of] || {})))].sort();
    const columns = [
      { key: "name", title: "run", value: (r) => r.name },
      { key: "state", title: "state", value: (r) => stateOf(r)[0] },
      { key: "begun", title: "begun", value: (r) => r.begun, show: (r) => date(r.begun) },
      { key: "took", title: "took", value: took, show: (r) => span(took(r)), num: true },
      { key: "steps", title: "steps", value: (r) => r.steps, num: true },
      ...keys("scores").map((k) => ({ key: "s:" + k, title: k, value: (r) => r.scores[k], num: true })),
      ...keys("hyper").map((k) => ({ key: "h:" + k, title: k, value: (r) => (r.hyper || {})[k], num: state.runs.every((r) => typeof (r.hyper || {})[k] !== "string"), soft: true })),
    ];
    const by = columns.find((c) => c.key === sort.key) || columns[0];
    list.sort((a, b) => compare2(by.value(a), by.value(b)) * (sort.down ? -1 : 1));
    const head = h("tr", {}, h("th"), columns.map((c) => h("th.sort" + (c.num ? ".num" : ""), {
      "data-key": c.key, onclick: () => { sort = { key: c.key, down: sort.key === c.key ? !sort.down : true }; draw(); } },
      c.title + (c.key === by.key ? (sort.down ? " ▾" : " ▴") : ""))));
    table.replaceChildren(h("table", { id: "runs" }, h("thead", {}, head), h("tbody", {}, list.map((r) => h("tr", { "data-run": r.name },
      h("td", {}, h("input", { type: "checkbox", checked: state.chosen.has(r.name), "aria-label": "choose " + r.name,
        onchange: (e) => { if (e.target.checked) state.chosen.add(r.name); else state.chosen.delete(r.name); } })),
      columns.map((c) => cell(c, r, state)))))));
  }
  draw();
  return { update: (what) => what === "runs" && draw() };
}

const took = (r) => Math.max(0, (new Date(r.changed) - new Date(r.begun)) / 1000);

export function stateOf(r) {
  if (r.error) return ["damaged", "bad"];
  if (r.ended) return ["complete", "good"];
  return Date.now() - new Date(r.changed) < 30000 ? ["running", "warn"] : ["stopped", "soft"];
}

function cell(c, r, state) {
  if (c.key === "name") return h("td", {}, h("span.dot", { style: { background: runColor(state, r.name) } }), h("a", { href: "#/run/" + encodeURIComponent(r.name) + "/curves" }, r.name));
  if (c.key === "state") { const [text, kind] = stateOf(r); return h("td", { title: r.error || null }, h("span.pill." + kind, {}, text)); }
  const v = c.value(r);
  return h("td" + (c.num ? ".num" : "") + (c.soft ? ".soft" : ""), {}, c.show ? c.show(r) : v == null ? "" : number(v));
}

function compare2(a, b) {
  if (a == null || b == null) return (a == null ? 0 : 1) - (b == null ? 0 : 1);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

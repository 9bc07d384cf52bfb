// Running jobs: processes, clocks, waits, traffic, shards and changes.
import { h, bytes, number, span, palette, css, empty } from "./util.js";
import { eventList } from "./results.js";
import { edges, waitsPicture } from "./waits.js";

const past = new Map(); // by job: [{t, clocks: {node: n}, sent: {node: n}}]
const kept = 300;

function remember(job) {
  const list = past.get(job.name) || [];
  const p = { t: new Date(job.seen) / 1000, clocks: {}, sent: {} };
  if (list.length && p.t <= list[list.length - 1].t) return list;
  for (const n of job.nodes) {
    if (n.transport) p.sent[n.node] = n.transport.SentBytes ?? n.transport.sent_bytes ?? 0;
    for (const m of n.members || []) if (m.node.startsWith("worker")) p.clocks[m.node] = m.clock;
  }
  list.push(p);
  if (list.length > kept) list.shift();
  past.set(job.name, list);
  return list;
}

export function jobsPage(box, state) {
  const cards = new Map();
  function draw() {
    if (!state.jobs.length) { cards.clear(); box.replaceChildren(empty("No job runs on this machine. ", h("code", {}, "gomx launch -n 3 -s 2 -- PROGRAM"), " starts one.")); return; }
    if (!cards.size) box.replaceChildren();
    for (const j of state.jobs) {
      let c = cards.get(j.name);
      if (!c) { c = { root: h("section", { "data-job": j.name }), text: h("div"), plots: h("div.grid", { style: { marginBottom: "16px" } }), charts: {} }; c.root.append(c.text, c.plots, c.more = h("div")); cards.set(j.name, c); box.append(c.root); }
      show(c, j, remember(j));
    }
  }
  draw();
  return { update: (what) => what === "jobs" && draw() };
}

const stateOf = (m) => m.left ? ["left", "soft"] : m.alive ? ["alive", "good"] : m.incarnation ? ["dead", "bad"] : ["missing", "warn"];

function show(c, j, list) {
  const lead = j.nodes.find((n) => (n.members || []).length) || {}, members = lead.members || [], shards = lead.shards || [];
  const working = members.filter((m) => m.alive && !m.left && m.node.startsWith("worker")), slow = Math.min(...working.map((m) => m.clock));
  const alive = members.filter((m) => m.alive && !m.left).length, single = shards.filter((s) => !s.in_sync && !s.lost).length, lost = shards.filter((s) => s.lost).length;
  const spread = working.length ? Math.max(...working.map((m) => m.clock)) - slow : 0;
  const waits = edges(members);
  const of = (s) => { const n = j.nodes.find((x) => x.node === s); return n && n.transport || {}; };
  c.text.replaceChildren(
    h("h1", {}, (j.program || []).join(" ") || "Job of " + working.length + " workers", " ", h("span.pill." + (j.over ? "soft" : "good"), {}, j.over ? "over" : "running")), h("p.soft.mono", {}, j.name),
    h("div.figures", {}, [["alive", `${alive} of ${members.length}`], ["up", span(lead.seconds || 0)], ["view", lead.view ?? "–"], ["slowest clock", isFinite(slow) ? number(slow) : "–"], ["greatest lead", spread + " rounds"],
      ["shards", number(shards.length)], ["without a second copy", number(single)], ["lost", number(lost)]].map(([k, v]) => h("div.figure", { "data-figure": k }, h("b", { class: (k === "lost" && lost) ? "bad" : (k.startsWith("without") && single) ? "warn" : null }, v), h("span", {}, k)))));
  const rate = (list, i, node) => { const a = list[i - 1], b = list[i]; return a && b.sent[node] >= a.sent[node] ? (b.sent[node] - a.sent[node]) / (b.t - a.t) / 2 ** 20 : null; };
  chart(c, "clocks", "Clocks of workers", list, [...new Set(list.flatMap((p) => Object.keys(p.clocks)))].sort(), (p, n) => p.clocks[n]);
  chart(c, "traffic", "MiB sent per second", list, [...new Set(list.flatMap((p) => Object.keys(p.sent)))].sort(), (p, n, i) => rate(list, i, n));
  c.more.replaceChildren(
    h("div.card.scroll", {}, h("h2", {}, "Processes"), h("table.members", {}, h("thead", {}, h("tr", {}, ["process", "state", "number", "silent", "shards", "clock", "ahead", "held", "parked pulls", "waits for", "sent", "received"].map((t, i) => h("th" + (i > 1 && i !== 9 ? ".num" : ""), {}, t)))),
      h("tbody", {}, members.map((m) => {
        const [text, kind] = stateOf(m), rank = +m.node.split(" ")[1], server = m.node.startsWith("server"), t = of(m.node);
        return h("tr", { "data-node": m.node }, h("td", {}, m.node), h("td", {}, h("span.pill." + kind, {}, text)), h("td.num", {}, m.incarnation), h("td.num", {}, m.silent.toFixed(1) + " s"),
          h("td.num", {}, server ? shards.filter((s) => s.primary === rank).length + " + " + shards.filter((s) => s.backup === rank).length : "–"), h("td.num", {}, number(m.clock)), h("td.num", {}, server || !m.alive ? "–" : m.clock - slow),
          h("td.num", {}, bytes(m.queue)), h("td.num", {}, m.parked), h("td", {}, m.alive && m.waiting >= 0 ? "worker " + m.waiting : "–"), h("td.num", {}, bytes(t.SentBytes ?? t.sent_bytes)), h("td.num", {}, bytes(t.ReceivedBytes ?? t.received_bytes)));
      })))),
    h("div.card.waits", {}, h("h2", {}, "Who waits for whom"), waitsPicture(members, c.chosen, (node) => { c.chosen = node; show(c, j, list); }),
      waits.length ? h("div.shards", {}, waits.map((e) => h("span.shard", {}, e.from + " → " + e.to))) : h("span.soft", {}, "nobody")),
    shards.length ? h("div.card", {}, h("h2", {}, "Shards: server that leads + server with the second copy"), h("div.shards.all", {}, shards.map((s, i) => h("span.shard" + (s.lost ? ".lost" : s.in_sync ? "" : ".single"), { title: `epoch ${s.epoch}` + (s.in_sync ? "" : ", no second copy in sync") }, `${i}: ${s.primary < 0 ? "–" : s.primary} + ${s.backup < 0 ? "–" : s.backup}${s.in_sync || s.backup < 0 ? "" : "…"}`)))) : "",
    h("div.card.changes", {}, h("h2", {}, "Events"), (j.changes || []).length ? eventList(j.changes) : h("span.soft", {}, "nothing has happened since the beginning")));
}

// chart draws one line for each process over the time that the page has been open.
function chart(c, id, title, list, names, value) {
  const data = [list.map((p) => p.t), ...names.map((n) => list.map((p, i) => value(p, n, i) ?? null))];
  let k = c.charts[id];
  if (k && k.names === names.join()) { k.plot.setData(data); return; }
  if (k) k.card.remove();
  const card = h("div.card", { "data-chart": id }, h("h2", {}, title), h("div")), line = css("--grid"), ink = css("--soft");
  c.plots.append(card);
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const plot = new uPlot({ width: Math.max(240, card.clientWidth - 34), height: 190, axes: [axis, { ...axis, size: 60 }], series: [{}, ...names.map((n, i) => ({ label: n, stroke: palette[i % palette.length], width: 1.6, spanGaps: true, value: (u, v) => v == null ? "–" : number(v), points: { show: false } }))] }, data, card.lastChild);
  new ResizeObserver(() => { if (card.clientWidth) plot.setSize({ width: Math.max(240, card.clientWidth - 34), height: 190 }); }).observe(c.plots);
  c.charts[id] = { plot, card, names: names.join() };
}

// Confusion matrix, sample predictions, and the events of a run.
import { h, number, date, clock } from "./util.js";

export function resultsPage(box, first, run) {
  function draw(d) {
    box.replaceChildren();
    if (d.matrix) box.append(matrix(d.matrix, d.matrixStep));
    if (d.samples && d.samples.length) box.append(samples(d.samples, d.samplesStep));
  }
  draw(first);
  return { update: draw };
}

function matrix(m, step) {
  const rows = m.counts.map((r) => r.reduce((a, b) => a + b, 0)), right = m.counts.reduce((s, r, i) => s + r[i], 0), all = rows.reduce((a, b) => a + b, 0);
  const cell = (n, i, j) => {
    const part = rows[i] ? n / rows[i] : 0;
    return h("td", { title: `${n} of class ${m.labels[i]} as ${m.labels[j]}`, style: { background: `color-mix(in srgb, ${i === j ? "#2f6fed" : "#e4572e"} ${Math.round(Math.sqrt(part) * 88)}%, transparent)`, color: part > 0.3 ? "#fff" : null } }, n ? String(n) : "");
  };
  return h("div.card.scroll", {}, h("h2", {}, "Confusion matrix"), h("p.soft", {}, `step ${step}: ${number(right)} of ${number(all)} right, ${(100 * right / (all || 1)).toFixed(2)} %. Rows are true classes, columns predicted ones.`),
    h("table.matrix", { id: "matrix", style: { width: "auto" } }, h("tr", {}, h("th"), m.labels.map((l) => h("th", {}, l)), h("th", {}, "recall")),
      m.counts.map((r, i) => h("tr", {}, h("th", {}, m.labels[i]), r.map((n, j) => cell(n, i, j)), h("td.soft", { style: { padding: "0 10px" } }, rows[i] ? (100 * r[i] / rows[i]).toFixed(1) + " %" : "–"))),
      h("tr", {}, h("th", {}, "precision"), m.labels.map((_, j) => { const c = m.counts.reduce((s, r) => s + r[j], 0); return h("td.soft", {}, c ? (100 * m.counts[j][j] / c).toFixed(0) : "–"); }))));
}

function samples(list, step) {
  return h("div.card", {}, h("h2", {}, "Predictions"), h("p.soft", {}, `${list.length} samples at step ${step}`), h("div.samples", { id: "samples" }, list.map((s) => {
    const wrong = s.label && s.label !== s.prediction;
    return h("div.sample" + (wrong ? ".wrong" : ""), {}, s.png ? h("img", { src: "data:image/png;base64," + s.png, alt: s.label || "sample" }) : null, s.text ? h("div.mono", {}, s.text) : null,
      h("div", {}, h("b" + (wrong ? ".bad" : ""), {}, s.prediction), s.confidence ? h("span.soft", {}, ` ${(100 * s.confidence).toFixed(0)} %`) : null), s.label ? h("div.soft", {}, "is " + s.label) : null);
  })));
}

export const eventKind = (k) => ({ dead: "bad", lost: "bad", takeover: "warn", left: "soft", joined: "good", copy: "good", moved: "soft" }[k] || "soft");

// eventList shows events, the newest first.
export function eventList(list) {
  return h("ul.events", {}, [...list].reverse().map((e) => h("li", { "data-kind": e.kind }, h("time", { title: date(e.time) }, clock(e.time)), h("span", {}, h("span.pill." + eventKind(e.kind), {}, e.kind)), h("span", {}, e.text))));
}

export function eventsPage(box, first, run) {
  function draw(d) {
    const begins = (d.begins || []).map((b, i) => ({ kind: "process", time: b.time, text: (i ? `process ${b.pid} on ${b.host} continues after step ${b.step}: ` : `process ${b.pid} on ${b.host} begins: `) + (b.program || []).join(" ") }));
    const all = [...begins, ...(d.events || [])].sort((a, b) => new Date(a.time) - new Date(b.time));
    box.replaceChildren(h("div.card", { id: "events" }, h("h2", {}, "Events"), eventList(all)));
  }
  draw(first);
  return { update: draw };
}

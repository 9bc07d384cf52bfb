// The board's pages by the address behind #, and the stream that keeps them up to date.
import { h, get, empty } from "./util.js";
import { runsPage } from "./runs.js";
import { curvesPage } from "./curves.js";
import { graphPage } from "./graph.js";
import { memoryPage } from "./memory.js";
import { tracePage } from "./trace.js";
import { histogramsPage } from "./histograms.js";
import { resultsPage, eventsPage } from "./results.js";
import { jobsPage } from "./jobs.js";

export const state = { runs: [], chosen: new Set(), known: new Set(), jobs: [], versions: {} };
const main = document.getElementById("main"), live = document.getElementById("live"), nav = document.getElementById("nav");
let page = null; // {update(what)} of the present page

const parts = { graph: graphPage, memory: memoryPage, trace: tracePage, histograms: histogramsPage, results: resultsPage, events: eventsPage };

// route shows the page of the address.
async function route() {
  const [where, ...rest] = (location.hash.slice(2) || "runs").split("/").map(decodeURIComponent);
  nav.replaceChildren(...[["runs", "Runs"], ["curves", "Curves"], ["jobs", "Jobs"]].map(([id, text]) =>
    h("a", { href: "#/" + id, class: id === where ? "on" : null, id: "nav-" + id }, text)));
  const box = h("div");
  main.replaceChildren(box);
  page = null;
  try {
    if (where === "curves") page = curvesPage(box, state);
    else if (where === "jobs") page = jobsPage(box, state);
    else if (where === "run") page = await runPage(box, rest[0], rest[1] || "curves");
    else page = runsPage(box, state);
  } catch (err) {
    box.replaceChildren(empty(String(err.message || err)));
  }
  document.body.dataset.page = where + (rest[1] ? "-" + rest[1] : "");
}

// runPage shows one page of one run.
async function runPage(box, name, part) {
  const run = state.runs.find((r) => r.name === name);
  if (!run) throw new Error("There is no run " + name + ".");
  const tabs = ["curves", ...run.parts];
  box.append(h("h1", {}, name),
    h("div.tabs", {}, tabs.map((t) => h("a", { href: "#/run/" + encodeURIComponent(name) + "/" + t, class: t === part ? "on" : null, id: "tab-" + t }, t))));
  const inner = h("div");
  box.append(inner);
  if (part === "curves") return curvesPage(inner, state, run);
  if (!parts[part]) throw new Error("A run has no page " + part + ".");
  if (!run.parts.includes(part)) { inner.append(empty("This run has recorded no " + part + ".")); return null; }
  const data = await get("part", { run: name, part });
  const shown = parts[part](inner, data, run);
  return shown && { update: async (what) => { if (what === "runs" && shown.update) shown.update(await get("part", { run: name, part })); } };
}

// listRuns reads the list of runs. New runs are chosen for curves, the ten newest at first.
async function listRuns() {
  state.runs = await get("runs");
  for (const r of state.runs) if (!state.known.has(r.name) && state.chosen.size < 10) state.chosen.add(r.name);
  for (const r of state.runs) state.known.add(r.name);
}

let busy = false, again = false;
async function changed(what) {
  if (busy) { again = true; return; }
  busy = true;
  try {
    if (what === "runs") await listRuns();
    if (page && page.update) await page.update(what);
  } catch (err) { console.warn(err); }
  busy = false;
  if (again) { again = false; changed("runs"); }
}

function listen() {
  const s = new EventSource("api/stream");
  s.addEventListener("open", () => { live.textContent = "live"; live.className = "on"; });
  s.addEventListener("error", () => { live.textContent = "no connection"; live.className = ""; });
  s.addEventListener("runs", (e) => { if (e.data !== listen.last) { listen.last = e.data; changed("runs"); } });
  s.addEventListener("jobs", (e) => { state.jobs = JSON.parse(e.data); if (page && page.update) page.update("jobs"); });
}

function theme(next) {
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("theme", next); } catch { /* a browser without storage asks again next time */ }
}
let stored = null;
try { stored = localStorage.getItem("theme"); } catch { /* as above */ }
theme(stored || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => { theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); route(); });

window.addEventListener("hashchange", route);
try { await listRuns(); } catch (err) { main.replaceChildren(empty(String(err.message))); }
await route();
listen();

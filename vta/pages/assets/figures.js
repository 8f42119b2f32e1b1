// Figures: drawn by Vega in the colours of the page, as wide as there is room, and linked by what is brushed.
const page = JSON.parse(document.getElementById("data").textContent);
const drawn = {};
let cycles = null;
let picked = null;
let chosenLayer = "";
let drawing = 0;

const rowsOf = (table) => {
  const names = Object.keys(table);
  return names.length ? table[names[0]].map((_, place) => Object.fromEntries(names.map((name) => [name, table[name][place]]))) : [];
};
for (const figure of Object.values(page.figures)) {
  figure.rows = Object.fromEntries(Object.entries(figure.tables).map(([name, table]) => [name, rowsOf(table)]));
}

// As `_filled` in figure.py.
function filled(value, places, width) {
  if (Array.isArray(value)) return value.map((entry) => filled(entry, places, width));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, filled(entry, places, width)]));
  if (typeof value === "string" && value.startsWith("$per-legend ")) return Math.max(1, Math.floor((width * 0.7) / Number(value.split(" ")[1])));
  return typeof value === "string" && value in places ? places[value] : value;
}
const modeOf = (figure) => (figure.spec.$schema.includes("vega-lite") ? "vega-lite" : "vega");
function specOf(figure, width) {
  const labels = Math.min(230, Math.round(width * 0.36));
  const { $schema, ...bare } = figure.spec;
  const spec = filled(bare, { $width: width - figure.beside, $labels: labels }, width);
  if (modeOf(figure) === "vega-lite") return { ...spec, datasets: figure.rows };
  spec.data = spec.data.map((entry) => (entry.name in figure.rows ? { ...entry, values: figure.rows[entry.name] } : entry));
  return spec;
}

// No number chooses all; a number that no row has chooses none.
const pickedSignal = () => (picked === null ? [] : picked.length ? picked : [-1]);
function setAll(values) {
  for (const view of Object.values(drawn)) {
    const own = Object.entries(values).filter(([name]) => view.vtaSignals.has(name));
    if (!own.length) continue;
    for (const [name, value] of own) view.signal(name, value);
    view.runAsync();
  }
}
function showCycles(from, to) {
  cycles = [from, to];
  setAll({ from, to });
}
function pick(keys) {
  picked = keys;
  setAll({ picked: pickedSignal() });
  for (const table of document.querySelectorAll("table[data-table]")) table.pick(keys === null ? null : new Set(keys.map(String)));
  for (const text of document.querySelectorAll(".picked")) {
    const all = Number(text.dataset.all);
    text.textContent = keys === null ? "" : `${keys.length} of ${all} chosen`;
  }
}
function chooseLayer(layer) {
  chosenLayer = layer;
  setAll({ chosen_layer: layer });
  for (const row of document.querySelectorAll("tr[data-key]")) row.classList.toggle("chosen", layer !== "" && row.dataset.key === layer);
}

function link(name, view) {
  const state = view.getState({ signals: () => true, data: () => false }).signals;
  view.vtaSignals = new Set(Object.keys(state));
  if (view.vtaSignals.has("window")) {
    const end = page.figures[name].rows.overview.at(-1).start;
    view.addSignalListener("window", (_, range) => {
      const chosen = range && Object.values(range)[0];
      if (chosen && chosen[1] - chosen[0] > 1) showCycles(...chosen); else showCycles(0, end);
    });
  }
  if (view.vtaSignals.has("brush")) {
    view.addSignalListener("brush", (_, ranges) => {
      const fields = Object.entries(ranges || {});
      const rows = Object.values(page.figures[name].rows)[0];
      pick(fields.length ? rows.filter((row) => fields.every(([field, range]) => {
        const [low, high] = [Math.min(...range), Math.max(...range)];
        return row[field] >= low && row[field] <= high;
      })).map((row) => row.id) : null);
    });
  }
  if (view.vtaSignals.has("ranges")) {
    view.addSignalListener("ranges", () => {
      // Data follow signals.
      view.runAfter(() => {
        const any = view.signal("ranges").some((range) => range !== null);
        pick(any ? view.data("kept").map((row) => row.id) : null);
      });
    });
  }
  if (view.vtaSignals.has("chosen_layer")) {
    view.addEventListener("click", (_, item) => {
      const layer = item && item.datum && item.datum.layer;
      if (layer !== undefined && item.mark.role === "mark") chooseLayer(layer === chosenLayer ? "" : layer);
    });
  }
  const kept = { picked: pickedSignal(), chosen_layer: chosenLayer };
  if (cycles) [kept.from, kept.to] = cycles;
  for (const [signal, value] of Object.entries(kept)) if (view.vtaSignals.has(signal)) view.signal(signal, value);
}

async function draw(place) {
  const name = place.dataset.figure;
  const width = Math.floor(place.clientWidth);
  const theme = document.documentElement.dataset.theme;
  place.dataset.width = width;
  const spec = specOf(page.figures[name], Math.max(width, page.figures[name].least));
  const options = { actions: false, mode: modeOf(page.figures[name]), renderer: "svg", config: page.configs[theme], tooltip: { theme: "custom" } };
  if (drawn[name]) drawn[name].finalize();
  const result = await vegaEmbed(place, spec, options);
  drawn[name] = result.view;
  link(name, result.view);
  await result.view.runAsync();
}
async function drawAll() {
  const turn = ++drawing;
  document.body.dataset.ready = "no";
  for (const place of document.querySelectorAll(".plot")) {
    if (turn !== drawing) return;
    await draw(place);
  }
  document.body.dataset.ready = "yes";
}

function setUpButtons() {
  const overview = page.figures.overview;
  const end = overview ? overview.rows.overview.at(-1).start : 0;
  for (const button of document.querySelectorAll("[data-move]")) {
    button.addEventListener("click", () => {
      const [from, to] = cycles || [0, end];
      const length = to - from;
      const middle = (from + to) / 2;
      const moves = { left: [from - length / 2, to - length / 2], right: [from + length / 2, to + length / 2], in: [middle - length / 4, middle + length / 4], out: [middle - length, middle + length], all: [0, end] };
      let [low, high] = moves[button.dataset.move];
      if (low < 0) [low, high] = [0, high - low];
      if (high > end) [low, high] = [low - (high - end), end];
      showCycles(Math.max(0, low), Math.min(end, high));
    });
  }
  for (const text of document.querySelectorAll(".picked")) {
    text.dataset.all = Object.values(page.figures[text.closest("figure").querySelector(".plot").dataset.figure].rows)[0].length;
  }
  for (const button of document.querySelectorAll("[data-clear]")) button.addEventListener("click", () => { pick(null); drawAll(); });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("vta-theme", root.dataset.theme); } catch { /* a file may have no storage */ }
    drawAll();
  });
}

setUpTables();
const graphs = [...document.querySelectorAll(".graph-card")].map((card, place) => setUpGraph(card, page.graphs[place], chooseLayer));
setUpButtons();
let resizing = 0;
new ResizeObserver(() => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    if ([...document.querySelectorAll(".plot")].some((place) => Math.abs(place.clientWidth - Number(place.dataset.width)) > 2)) drawAll();
  }, 150);
}).observe(document.querySelector("main"));
drawAll();
// What tests and the console look at.
window.vtaPage = { drawn, graphs, picked: () => picked, cycles: () => cycles, chosenLayer: () => chosenLayer };

// The graph: wheel, pinch, drag and buttons move what is shown; words search; a click shows what is known of a box.
const SVG_MARGIN = 24;
function setUpGraph(card, data, onChoose) {
  const area = card.querySelector(".graph-area");
  const svg = area.querySelector("svg");
  const nodes = [...svg.querySelectorAll(".node")];
  const edges = [...svg.querySelectorAll(".edge")];
  const details = card.querySelector(".graph-details");
  const whole = svg.viewBox.baseVal;
  const full = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  let view = { ...full };

  function show(next) {
    view = next;
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  }
  // The part of the drawing that has the shape of the area and holds `box`.
  function shaped(box) {
    const aspect = area.clientWidth / Math.max(1, area.clientHeight);
    const width = Math.max(box.width, box.height * aspect);
    const height = width / aspect;
    return { x: box.x - (width - box.width) / 2, y: box.y - (height - box.height) / 2, width, height };
  }
  function zoom(factor, x = view.x + view.width / 2, y = view.y + view.height / 2) {
    const limit = shaped(full).width;
    const width = Math.min(limit * 1.5, Math.max(240, view.width * factor));
    const scale = width / view.width;
    show({ x: x - (x - view.x) * scale, y: y - (y - view.y) * scale, width, height: view.height * scale });
  }
  const pointOf = (event) => {
    const box = area.getBoundingClientRect();
    return [view.x + ((event.clientX - box.left) / box.width) * view.width, view.y + ((event.clientY - box.top) / box.height) * view.height];
  };
  function fit() { show(shaped(full)); }
  // Where the whole would be too small to read, the beginning is shown.
  function start() {
    const box = shaped(full);
    const least = area.clientWidth / 0.62;
    if (box.width <= least) return show(box);
    const width = Math.min(box.width, area.clientWidth / 0.8);
    const height = (width * area.clientHeight) / area.clientWidth;
    show({ x: full.x + Math.min(0, (full.width - width) / 2), y: full.y, width, height });
  }
  function look(node) {
    const place = node.transform.baseVal.getItem(0).matrix;
    const width = Math.min(view.width, area.clientWidth / 0.8);
    const height = (width * area.clientHeight) / area.clientWidth;
    show({ x: place.e + 116 - width / 2, y: place.f + 29 - height / 2, width, height });
  }
  function choose(index) {
    const same = index !== null && nodes[index].classList.contains("chosen");
    const chosen = same ? null : index;
    nodes.forEach((node, place) => node.classList.toggle("chosen", place === chosen));
    for (const edge of edges) edge.classList.toggle("near", chosen !== null && [edge.dataset.from, edge.dataset.to].includes(String(chosen)));
    details.replaceChildren();
    if (chosen !== null) {
      for (const [name, value] of Object.entries(data.details[chosen])) {
        if (!value) continue;
        const term = document.createElement("dt");
        const text = document.createElement("dd");
        term.textContent = name;
        text.textContent = value;
        details.append(term, text);
      }
    }
    onChoose(chosen === null ? "" : data.layers[chosen]);
  }

  const touches = new Map();
  let moved = 0;
  area.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(event.deltaY * 0.0015), ...pointOf(event)); }, { passive: false });
  area.addEventListener("pointerdown", (event) => { touches.set(event.pointerId, event); moved = 0; });
  window.addEventListener("pointermove", (event) => {
    const before = touches.get(event.pointerId);
    if (!before) return;
    const scale = view.width / area.clientWidth;
    const others = [...touches.values()].filter((touch) => touch.pointerId !== event.pointerId);
    if (others.length) {
      const far = (one) => Math.hypot(one.clientX - others[0].clientX, one.clientY - others[0].clientY);
      zoom(far(before) / Math.max(1, far(event)), ...pointOf(others[0]));
    } else {
      show({ ...view, x: view.x - (event.clientX - before.clientX) * scale, y: view.y - (event.clientY - before.clientY) * scale });
    }
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    area.classList.add("moving");
    touches.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    window.addEventListener(end, (event) => { touches.delete(event.pointerId); if (!touches.size) area.classList.remove("moving"); });
  }
  nodes.forEach((node, index) => {
    node.addEventListener("click", () => { if (moved < 6) choose(index); });
    node.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(index); } });
  });
  for (const button of card.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => ({ in: () => zoom(0.7), out: () => zoom(1.4), fit })[button.dataset.zoom]());
  }

  const search = card.querySelector(".graph-search");
  const found = card.querySelector(".found");
  let hits = [];
  let at = 0;
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = words.length ? nodes.filter((node) => words.every((word) => node.dataset.words.includes(word))) : [];
    at = 0;
    svg.classList.toggle("searching", words.length > 0);
    for (const node of nodes) node.classList.toggle("hit", hits.includes(node));
    found.textContent = words.length ? `${hits.length} of ${nodes.length}` : "";
    if (hits.length) look(hits[0]);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && hits.length) { at = (at + 1) % hits.length; look(hits[at]); }
  });
  start();
  let width = area.clientWidth;
  new ResizeObserver(() => { if (area.clientWidth !== width) { width = area.clientWidth; start(); } }).observe(area);
  return { choose, view: () => ({ ...view }) };
}

// Tables: a click on a header sorts, words filter, and brushes leave the rows that they chose.
function setUpTables() {
  for (const table of document.querySelectorAll("table[data-table]")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const valueOf = (row, place) => {
      const cell = row.cells[place];
      return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    };
    heads.forEach((head, place) => head.firstElementChild.addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const now = head.getAttribute("aria-sort");
      const down = now === null ? numeric : now === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, two) => {
        const [a, b] = [valueOf(one, place), valueOf(two, place)];
        return typeof a === "number" ? a - b : a.localeCompare(b);
      };
      const rows = [...body.rows].sort((one, two) => (down ? order(two, one) : order(one, two)));
      body.append(...rows);
    }));
    const search = table.closest(".card").querySelector(".table-search");
    const show = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        const picked = !table.picked || row.dataset.key === undefined || table.picked.has(row.dataset.key);
        row.hidden = !picked || !words.every((word) => text.includes(word));
      }
    };
    search.addEventListener("input", show);
    table.pick = (keys) => { table.picked = keys; show(); };
  }
}

// A table that can be sorted, filtered and copied as CSV. Only the rows that are shown are elements.
"use strict";

(function () {
  const { h } = page;
  // If a table is too wide for the screen, these columns go first; the CSV has them.
  const LESS = ["instances", "server", "conn", "sid", "first", "bytes", "origin", "queue", "decided", "sources", "last", "covered_by", "witnesses", "window"];
  const NUMBERS = new Set(["count", "number", "bytes", "share", "microseconds"]);
  const FIRST_ROWS = 15;
  const FIRST_ROWS_OF_PHONE = 4; // a row is a block there
  const MORE_ROWS = 100;

  // Columns that have one value in all rows are named above the table instead.
  function constants(columns, rows) {
    if (rows.length < 2) return new Set();
    return new Set(columns.keys().filter((i) => rows.every((row) => row[i] === rows[0][i])));
  }

  function compare(a, b) {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    if (typeof a === "string") return a < b ? -1 : 1;
    return a - b;
  }

  // A column of names is at least as wide as its names, to a limit (style.css).
  function width(rows, i, kind) {
    if (kind === "time") return "";
    const longest = Math.max(...rows.slice(0, 200).map((row) => String(row[i] ?? "").length), 0);
    return longest > 11 ? "wide" : longest > 5 ? "middle" : "";
  }

  function cell(value, column, differs) {
    const label = { "data-label": column.name.replaceAll("_", " ") };
    if (column.kind === "subject" && value !== null) return h("td", label, page.subject(value, differs));
    const style = NUMBERS.has(column.kind) ? "number" : column.kind === "time" ? "time" : null;
    const text = page.value(value, column.kind);
    const zero = value === null ? " zero none" : value === 0 ? " zero" : "";
    const title = column.kind === "time" && value ? value : null;
    const found = h("td", { ...label, class: `${style ?? "text"}${zero}`, title }, style ? text : null);
    return style ? found : page.breakable(found, text);
  }

  page.table = (section, options = {}) => {
    const { columns, rows, total } = section;
    const fixed = options.all ? new Set() : constants(columns, rows);
    const shown = [...columns.keys()].filter((i) => !fixed.has(i));
    const id = `table-${options.id ?? section.table}`;
    let order = null;
    let words = "";
    let limit = options.rows ?? (matchMedia("(max-width: 720px)").matches ? FIRST_ROWS_OF_PHONE : FIRST_ROWS);
    let selected = rows;

    const narrow = new Set();
    const less = h("p", { class: "rows" });
    const body = h("tbody");
    const status = h("p", { class: "rows", role: "status" });
    const more = h("button", { type: "button", class: "quiet", onclick: () => ((limit += MORE_ROWS), draw()) });
    const differs = columns.findIndex((each) => each.name === "differs_at");
    const heads = shown.map((i) =>
      h("th", { scope: "col", class: NUMBERS.has(columns[i].kind) ? "number" : width(rows, i, columns[i].kind) },
        h("button", { type: "button", onclick: () => sort(i) }, columns[i].name.replaceAll("_", " "),
          h("span", { class: "arrow", "aria-hidden": "true" }))),
    );

    function sort(i) {
      const down = order?.column === i ? !order.down : NUMBERS.has(columns[i].kind);
      order = { column: i, down };
      shown.forEach((each, place) => {
        if (each === i) heads[place].setAttribute("aria-sort", down ? "descending" : "ascending");
        else heads[place].removeAttribute("aria-sort");
      });
      choose();
    }

    function choose() {
      const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
      selected = rows.filter((row) => {
        const text = row.join(" ").toLowerCase();
        return wanted.every((word) => text.includes(word));
      });
      if (order) {
        const sign = order.down ? -1 : 1;
        selected.sort((a, b) => {
          const [x, y] = [a[order.column], b[order.column]];
          return x === null || y === null ? compare(x, y) : sign * compare(x, y);
        });
      }
      draw();
    }

    function draw() {
      const visible = selected.slice(0, limit);
      body.replaceChildren(...visible.map((row) => h("tr", {}, shown.filter((i) => !narrow.has(i)).map((i) => cell(row[i], columns[i], row[differs])))));
      const left = total > rows.length ? `, the largest of ${page.count(total)} in the run` : "";
      status.textContent =
        `${page.count(visible.length)} of ${page.plural(selected.length, "row")}` +
        (selected.length < rows.length ? ` (${page.count(rows.length)} without the filter)` : "") + left;
      const next = Math.min(MORE_ROWS, selected.length - visible.length);
      more.textContent = `Show ${next} more`;
      more.hidden = next <= 0;
      shown.forEach((i, place) => (heads[place].hidden = narrow.has(i)));
      const left_out = [...narrow].map((i) => columns[i].name.replaceAll("_", " "));
      less.textContent = left_out.length ? `Too wide for this screen, and in the CSV: ${left_out.join(", ")}.` : "";
    }

    // Leave out columns until the table fits; what still does not fit becomes a block for each row.
    function fit(room) {
      narrow.clear();
      frame.classList.remove("stacked");
      draw();
      for (const name of LESS) {
        if (table.offsetWidth <= room + 1) return;
        const i = shown.find((each) => columns[each].name === name);
        if (i === undefined) continue;
        narrow.add(i);
        draw();
      }
      if (table.offsetWidth > room + 1) {
        narrow.clear();
        frame.classList.add("stacked");
        draw();
      }
    }

    const csv = () => page.csv([columns.map((each) => each.name), ...selected]);
    const filter = h("input", {
      type: "search", id: `${id}-filter`, placeholder: "Filter", autocomplete: "off", spellcheck: "false",
      "aria-label": `Filter ${section.title}`,
      oninput: (event) => ((words = event.target.value), choose()),
    });
    const named = [...fixed].map((i) =>
      h("span", {}, `${columns[i].name.replaceAll("_", " ")} `, h("b", {}, page.value(rows[0][i], columns[i].kind))),
    );
    const table = h("table", {},
      h("caption", { class: "offscreen" }, section.title),
      h("thead", {}, h("tr", {}, heads)), body);
    const frame = h("div", { class: "table", id },
      h("div", { class: "tools" }, filter, page.copyButton("Copy as CSV", csv, "CSV")),
      named.length ? h("p", { class: "constant" }, "In all rows: ", named) : null,
      table,
      h("div", { class: "foot" }, status, more), less);
    draw();
    let room = 0;
    new ResizeObserver(([entry]) => {
      const now = Math.floor(entry.contentRect.width);
      if (now && now !== room) requestAnimationFrame(() => fit((room = now)));
    }).observe(frame);
    return frame;
  };
})();

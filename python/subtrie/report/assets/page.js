// The page: the first screen, then a section for each table that has rows.
"use strict";

(function () {
  const { h } = page;
  const content = JSON.parse(document.getElementById("content").textContent);
  const day = (text) => text?.split("T")[0];
  if (day(content.counts.first) === day(content.counts.last)) page.oneDay = day(content.counts.first);
  const FINDINGS = 7;

  const byName = new Map(content.sections.map((section) => [section.table, section]));

  // The rows of a table as objects; none if the run does not have the table.
  function rows(table) {
    const section = byName.get(table);
    if (!section) return [];
    return section.rows.map((row) => Object.fromEntries(section.columns.map((column, i) => [column.name, row[i]])));
  }

  function read() {
    const { counts } = content;
    const facts = [
      [counts.lines, "lines"], [counts.published, "published"], [counts.services, "services"],
      [counts.edges, "edges"], [counts.subscriptions, "subscriptions"],
      [counts.folded_messages, "on inboxes counted together"], [counts.untimed_requests, "requests without a latency"],
    ].filter(([value]) => value !== null && value !== undefined);
    const found = facts.map(([value, label]) => h("div", {}, h("dt", {}, label), h("dd", {}, page.count(value))));
    if (counts.first) {
      found.push(h("div", { class: "when" }, h("dt", {}, page.oneDay ? `time on ${page.oneDay} (UTC)` : "time (UTC)"),
        h("dd", {}, page.span(counts.first, counts.last))));
    }
    return h("dl", { class: "facts" }, found);
  }

  // How a count went over time: a bar for each period, if there are several.
  function rate(found) {
    if (!found || found.counts.length < 2) return null;
    const [width, height] = [4, 16];
    const most = Math.max(...found.counts);
    const [begin, long] = [Date.parse(found.start), page.duration(found.width_s)];
    const svg = d3.create("svg").attr("viewBox", `0 0 ${width * found.counts.length} ${height + 1}`).attr("role", "img")
      .attr("width", width * found.counts.length).attr("height", height + 1)
      .attr("aria-label", `${found.counts.length} bars of ${long} each; the highest is ${page.count(most)}`);
    svg.append("path").attr("d", `M0,${height + 0.5}h${width * found.counts.length}`);
    const bar = svg.selectAll("g").data(found.counts).join("g");
    bar.append("title").text((count, i) =>
      `${page.count(count)} from ${page.time(new Date(begin + 1000 * found.width_s * i).toISOString())} on`);
    bar.append("rect").attr("x", (_, i) => width * i).attr("width", width - 1)
      .attr("y", (count) => height - Math.max(count ? 2 : 0, (height * count) / most))
      .attr("height", (count) => Math.max(count ? 2 : 0, (height * count) / most));
    return h("span", { class: "rate" }, svg.node(), h("span", {}, `each bar ${long}`));
  }

  function finding(each) {
    const times = page.span(each.first, each.last);
    return h("li", {}, h("details", { class: `finding ${each.level}` },
      h("summary", {},
        h("span", { class: "level" }, each.level),
        h("span", { class: "what" }, h("strong", {}, page.printable(each.message)), " ", page.subject(page.cut(each.witness, 120)), rate(each.rate)),
        h("span", { class: "count" }, page.count(each.count))),
      h("div", { class: "more" },
        each.witness.length > 120 ? h("p", {}, page.subject(each.witness)) : null,
        h("p", {}, [each.why, each.instead].filter(Boolean).join(" ")),
        h("p", {}, `${page.plural(each.rows, "row")} of the table ${each.rule}. `,
          times ? `Seen ${times}.` : "The table has no times."),
        h("div", { class: "command" }, h("code", {}, page.printable(each.command)),
          page.copyButton("Copy", () => each.command, "Command")))));
  }

  function findings() {
    const items = content.findings.map(finding);
    const hidden = items.slice(FINDINGS);
    hidden.forEach((item) => (item.hidden = true));
    const left = content.findings_left_out;
    return h("section", { class: "findings", "aria-labelledby": "findings" },
      h("h2", { id: "findings" }, "Findings", h("span", { class: "total" }, page.count(items.length + left))),
      items.length ? h("ul", {}, items) : h("p", { class: "lead" }, "Nothing is wrong in what was read."),
      hidden.length ? h("button", { type: "button", class: "quiet", onclick: (event) => {
        hidden.forEach((item) => (item.hidden = false));
        event.target.remove();
      } }, `Show all ${items.length}`) : null,
      left ? h("p", { class: "rows" }, `${page.count(left)} more are not shown.`) : null);
  }

  // The rows of a table that are about an edge, as a small table.
  function about(table, edge, ends, columns, title) {
    const section = byName.get(table);
    if (!section) return null;
    const all = section.columns.map((column) => column.name);
    const [from, to] = ends.map((end) => all.indexOf(end));
    const places = columns.map((column) => all.indexOf(column)).filter((i) => i >= 0);
    const own = section.rows.filter((row) => row[from] === edge.source && (to < 0 || (row[to] ?? "(no subscriber)") === edge.destination));
    if (!own.length) return null;
    const chosen = places.map((i) => section.columns[i]);
    // The periods of a run are one row here.
    const key = (row) => JSON.stringify(row.filter((_, i) => chosen[i].kind !== "count"));
    const found = [...d3.group(own.map((row) => places.map((i) => row[i])), key).values()]
      .map((rows) => chosen.map((column, i) => (column.kind === "count" && rows.length > 1 ? d3.sum(rows, (row) => row[i]) : rows[0][i])));
    const part = { table, title, total: found.length, columns: chosen, rows: found };
    return h("div", {}, h("h4", {}, title), page.table(part, { id: `edge-${table}`, all: true, rows: 10 }));
  }

  // Rules of the caller whose destination token is that of the edge, or a wildcard.
  function rules(edge) {
    const host = edge.destination.replaceAll(".", "_");
    return rows("permission_usage").filter((row) => row.service === edge.source && row.rule && row.verb === "publish" &&
      [host, "*", ">"].includes(row.rule.split(".")[4] ?? ">"));
  }

  const panel = h("div", { class: "edge-details", "aria-live": "polite" });

  function details(edge) {
    if (!edge) return panel.replaceChildren(h("p", { class: "rows" }, "Choose an edge to see its routes, rules, latency and subjects."));
    const flows = content.graph === "flows";
    const allowed = rules(edge);
    return panel.replaceChildren(
      h("h3", {}, page.printable(edge.source), " → ", page.printable(edge.destination)),
      h("dl", { class: "facts small" },
        ["published", "refused", "delivered", "undelivered"].map((field) =>
          h("div", { class: edge[field] && field in { refused: 1, undelivered: 1 } ? "wrong" : "" }, h("dt", {}, field), h("dd", {}, page.count(edge[field])))),
        h("div", {}, h("dt", {}, "bytes"), h("dd", {}, page.bytes(edge.bytes))),
        h("div", { class: "when" }, h("dt", {}, "seen"), h("dd", {}, page.span(edge.first, edge.last)))),
      ...[
        flows ? about("flows", edge, ["publisher", "subscriber"], ["pattern", "queue", "published", "delivered", "undelivered"], "Patterns") :
          about("call_graph", edge, ["source", "destination"], ["port", "method", "route", "published", "refused", "delivered", "undelivered"], "Routes"),
        about("latency", edge, ["requester", "responder"], ["kind", "subject", "count", "p50", "p99", "unanswered", "errors"], "Latency"),
        about("gap", edge, ["service", "destination"], ["port", "method", "path", "code", "rule", "traffic", "finding"], "Code and rules"),
        allowed.length ? h("div", {}, h("h4", {}, "Rules of the caller"), h("ul", { class: "plain" },
          allowed.slice(0, 20).map((row) => h("li", {}, page.subject(row.rule), ` ${row.effect}, ${page.count(row.accepted)} accepted`)))) : null,
        edge.samples.length ? h("div", {}, h("h4", {}, "Sample subjects"), h("ul", { class: "plain" }, edge.samples.map((each) => h("li", {}, page.subject(each))))) : null,
      ].filter(Boolean));
  }

  function legend() {
    const line = (style, text) => {
      const svg = d3.create("svg").attr("viewBox", "0 0 36 12").attr("aria-hidden", "true").attr("class", `edge ${style}`);
      if (style === "danger") svg.append("path").attr("class", "diamond").attr("d", "M18,0l6,6l-6,6l-6,-6Z");
      else {
        svg.append("path").attr("class", "volume").attr("d", "M0,6H36").attr("stroke-width", 4);
        if (style) svg.append("path").attr("class", `mark ${style}`).attr("d", "M0,6H36");
      }
      return h("span", {}, svg.node(), text);
    };
    return h("p", { class: "legend" }, line("", "width: messages"), line("undelivered", "some undelivered"), line("refused", "some refused"),
      content.graph === "calls" ? line("danger", "trust zone danger") : null);
  }

  function picture() {
    const title = content.graph === "flows" ? "Publishers and subscribers" : "Call graph";
    details(null);
    return h("section", { class: "map", "aria-labelledby": "map" }, h("h2", { id: "map" }, title),
      content.graph === "flows" ? h("p", { class: "lead" }, "No Microbus traffic in this log: the picture shows who published and who received.") : null,
      content.edges.length ? [page.graph(content, details), legend(), panel] : h("p", { class: "lead" }, "There are no calls in this log."));
  }

  function diffs() {
    if (!content.diffs.length) return null;
    return h("section", { id: "diff", "aria-labelledby": "diff-title" },
      h("h2", { id: "diff-title" }, "Proposed changes of rules"),
      h("p", { class: "lead" }, "From the rules in force to those that the traffic justifies. Review them before use."),
      content.diffs.map((diff) => h("details", { class: "diff" },
        h("summary", {}, h("strong", {}, page.printable(diff.service)), h("span", { class: "added" }, `+${diff.added}`), h("span", { class: "removed" }, `−${diff.removed}`)),
        h("div", { class: "tools" }, page.copyButton("Copy the diff", () => diff.lines.join("\n") + "\n", "Diff")),
        h("pre", { tabindex: "0", "aria-label": `Rules of ${page.printable(diff.service)}` },
          diff.lines.map((line) => h("span", { class: { "+": "added", "-": "removed" }[line[0]] ?? "kept" }, page.printable(line)))))));
  }

  function section(each) {
    return h("section", { id: each.table, "aria-labelledby": `${each.table}-title` },
      h("h2", { id: `${each.table}-title` }, each.title, h("span", { class: "total" }, page.count(each.total))),
      h("p", { class: "lead" }, each.lead), page.table(each));
  }

  function themes() {
    const next = { "": "dark", dark: "light", light: "" };
    const text = (theme) => `Theme: ${theme || "system"}`;
    return h("button", { type: "button", class: "quiet theme", onclick: (event) => {
      const theme = next[document.documentElement.dataset.theme ?? ""];
      document.documentElement.dataset.theme = theme;
      event.target.textContent = text(theme);
    } }, text(""));
  }

  const timeline = page.timeline(content);
  const time = timeline && h("section", { id: "timeline", "aria-labelledby": "timeline-title" },
    h("h2", { id: "timeline-title" }, "Timeline"), h("p", { class: "lead" }, "When each service sent, and when each finding was seen."), timeline);
  const links = [...content.sections.map((each) => [each.table, each.title, each.total]), ...(time ? [["timeline", "Timeline", null]] : [])];
  document.getElementById("theme").replaceChildren(themes());
  document.getElementById("report").replaceChildren(...[
    read(),
    h("div", { class: "first" }, findings(), picture()),
    h("nav", { "aria-label": "Sections" }, links.map(([id, title, total]) =>
      h("a", { href: `#${id}` }, title, total === null ? null : h("span", { class: "total" }, page.count(total))))),
    diffs(), ...content.sections.map(section), time,
    content.empty.length ? h("p", { class: "lead" }, `Tables without rows: ${content.empty.join(", ")}.`) : null,
  ].filter(Boolean));
  page.content = content;
})();

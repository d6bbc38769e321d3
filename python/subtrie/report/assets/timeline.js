// The time from first to last of each service's calls and of each finding that has times.
"use strict";

(function () {
  const { h } = page;
  const LANES = 24;
  const ROW = 26;

  function lanes(content) {
    const wrong = content.findings
      .filter((each) => each.first)
      .map((each) => ({ name: each.message, style: each.level, first: each.first, last: each.last, count: each.count }));
    const services = new Map();
    for (const edge of content.edges) {
      if (!edge.first) continue;
      const lane = services.get(edge.source) ??
        { name: edge.source, style: "service", first: edge.first, last: edge.last, count: 0 };
      lane.first = lane.first < edge.first ? lane.first : edge.first;
      lane.last = lane.last > edge.last ? lane.last : edge.last;
      lane.count += edge.published;
      services.set(edge.source, lane);
    }
    const busy = [...services.values()].sort((a, b) => b.count - a.count);
    return { shown: [...wrong.slice(0, LANES / 2), ...busy.slice(0, LANES)], total: wrong.length + busy.length };
  }

  // Messages in each period, if the run was divided into periods.
  function periods(content) {
    const calls = content.sections.find((each) => each.table === "call_graph");
    const at = calls?.columns.findIndex((each) => each.name === "window") ?? -1;
    if (at < 0) return [];
    const place = (name) => calls.columns.findIndex((each) => each.name === name);
    const [published, refused, undelivered] = ["published", "refused", "undelivered"].map(place);
    const sums = d3.rollup(calls.rows, (rows) => ({
      published: d3.sum(rows, (row) => row[published]),
      wrong: d3.sum(rows, (row) => row[refused] + row[undelivered]),
    }), (row) => row[at]);
    return [...sums].sort((a, b) => (a[0] < b[0] ? -1 : 1));
  }

  function axis(svg, x, y, width) {
    const ticks = x.ticks(Math.max(2, Math.floor(width / 110)));
    const text = d3.utcFormat(page.oneDay ? "%H:%M:%S" : "%m-%d %H:%M");
    const marks = svg.append("g").attr("class", "axis").selectAll("g").data(ticks).join("g")
      .attr("transform", (tick) => `translate(${x(tick)},0)`);
    marks.append("line").attr("y2", y);
    marks.append("text").attr("y", y + 16).attr("text-anchor", (tick) => (x(tick) > width - 30 ? "end" : "middle")).text(text);
  }

  function spans(content, width) {
    const { shown, total } = lanes(content);
    const margin = Math.min(260, width * 0.36);
    const height = shown.length * ROW;
    const x = d3.scaleUtc([new Date(content.counts.first), new Date(content.counts.last)], [margin + 6, width - 12]);
    const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height + 24}`).attr("role", "img")
      .attr("aria-label", `First and last message of ${shown.length} services and findings; the tables below have the times`);
    axis(svg, x, height, width);
    const row = svg.selectAll("g.lane").data(shown).join("g")
      .attr("class", (lane) => `lane ${lane.style}`).attr("transform", (_, i) => `translate(0,${i * ROW})`);
    row.append("title").text((lane) => `${page.printable(lane.name)}: ${page.span(lane.first, lane.last)}, ${page.count(lane.count)}`);
    row.append("text").attr("x", margin - 6).attr("y", ROW / 2 + 4).attr("text-anchor", "end")
      .text((lane) => page.cut(page.printable(lane.name), Math.floor((margin - 10) / 6.7)));
    row.append("rect").attr("x", (lane) => x(new Date(lane.first))).attr("y", 7).attr("height", ROW - 14).attr("rx", 3)
      .attr("width", (lane) => Math.max(4, x(new Date(lane.last)) - x(new Date(lane.first))));
    return { svg: svg.node(), left: total - shown.length };
  }

  function bars(sums, width) {
    const height = 120;
    const x = d3.scaleBand(sums.map(([time]) => time), [0, width]).padding(0.15);
    const y = d3.scaleLinear([0, d3.max(sums, ([, sum]) => sum.published) || 1], [0, height]);
    const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height + 22}`).attr("role", "img")
      .attr("aria-label", `Messages in ${sums.length} periods; the table of calls has the numbers`);
    const bar = svg.selectAll("g").data(sums).join("g").attr("class", "period").attr("transform", ([time]) => `translate(${x(time)},0)`);
    bar.append("title").text(([time, sum]) => `${page.time(time)}: ${page.count(sum.published)} published, ${page.count(sum.wrong)} refused or undelivered`);
    bar.append("rect").attr("y", ([, sum]) => height - y(sum.published)).attr("width", x.bandwidth()).attr("height", ([, sum]) => y(sum.published));
    bar.append("rect").attr("class", "wrong").attr("y", ([, sum]) => height - y(Math.min(sum.wrong, sum.published)))
      .attr("width", x.bandwidth()).attr("height", ([, sum]) => y(Math.min(sum.wrong, sum.published)));
    const label = [sums[0], sums.at(-1)];
    svg.selectAll("text").data(label).join("text").attr("x", (_, i) => (i ? width : 0)).attr("y", height + 16)
      .attr("text-anchor", (_, i) => (i ? "end" : "start")).text(([time]) => page.time(time));
    return svg.node();
  }

  page.timeline = (content) => {
    if (!content.counts.first) return null;
    const frame = h("div", { class: "timeline" });
    const draw = (width) => {
      const sums = periods(content);
      const { svg, left } = spans(content, width);
      frame.replaceChildren(...(sums.length > 1 ? [bars(sums, width)] : []), svg);
      if (left > 0) frame.append(h("p", { class: "rows" }, `${page.count(left)} more are not shown.`));
    };
    let drawn = 0;
    new ResizeObserver(([entry]) => {
      const width = Math.round(entry.contentRect.width);
      if (width && width !== drawn) requestAnimationFrame(() => draw((drawn = width)));
    }).observe(frame);
    return frame;
  };
})();

// The picture of the call graph: dagre places the services, d3 draws and moves them.
"use strict";

(function () {
  const { h } = page;
  const NAME = 26; // characters of a name that are shown
  const CHARACTER = 7.3; // pixels of a character of the labels, which are monospaced
  const HEIGHT = 32;
  const LABELLED = 40; // with more edges, their counts would hide the lines
  const NARROW = 520;
  const LOOP = 44;

  page.cut = (text, length) => {
    const characters = [...text];
    if (characters.length <= length) return text;
    const half = Math.max(1, Math.floor((length - 1) / 2));
    return `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
  };

  const short = (count) =>
    count >= 1e6 ? `${(count / 1e6).toFixed(1)}M` : count >= 1e4 ? `${Math.round(count / 1e3)}k` : page.count(count);

  const wrong = (edge) => edge.refused + edge.undelivered;

  const name = (edge) => `${page.printable(edge.source)} → ${page.printable(edge.destination)}`;

  const told = (edge) =>
    [`${name(edge)}: ${page.count(edge.published)} published`,
      edge.refused ? `${page.count(edge.refused)} refused` : null,
      edge.undelivered ? `${page.count(edge.undelivered)} undelivered` : null].filter(Boolean).join(", ");

  // The heaviest edges; up to a third of the places are for those with refused or undelivered ones.
  function heaviest(edges, most) {
    if (edges.length <= most) return edges;
    const bad = edges.filter(wrong).sort((a, b) => wrong(b) - wrong(a)).slice(0, Math.floor(most / 3));
    const chosen = new Set(bad);
    for (const edge of edges) {
      if (chosen.size >= most) break;
      chosen.add(edge);
    }
    return edges.filter((edge) => chosen.has(edge));
  }

  // Of the two directions, the one whose picture is larger in the frame.
  function place(edges, frame) {
    const narrow = frame.width < NARROW;
    const parts = components(edges);
    const pictures = ["LR", "TB"].map((direction) => pack(parts.map((part) => arrange(part, direction, narrow)), frame));
    const scale = ({ width, height }) => Math.min(1, frame.width / width, frame.height / height);
    return scale(pictures[0]) >= scale(pictures[1]) ? pictures[0] : pictures[1];
  }

  // Groups of edges that have no service in common.
  function components(edges) {
    const part = new Map();
    for (const edge of edges) {
      const [a, b] = [part.get(edge.source), part.get(edge.destination)];
      const into = a ?? b ?? { edges: [], services: [] };
      if (b && b !== into) {
        into.edges.push(...b.edges);
        into.services.push(...b.services);
        for (const service of b.services) part.set(service, into);
      }
      for (const service of [edge.source, edge.destination]) {
        if (!part.has(service)) into.services.push(service);
        part.set(service, into);
      }
      into.edges.push(edge);
    }
    return [...new Set(part.values())].map((each) => each.edges);
  }

  // Put pictures beside each other in rows, so that the whole has about the shape of the frame.
  function pack(pictures, frame) {
    pictures.sort((a, b) => b.height - a.height);
    const area = d3.sum(pictures, (each) => each.width * each.height);
    const most = Math.max(Math.sqrt((area * frame.width) / frame.height), d3.max(pictures, (each) => each.width) ?? 0);
    const whole = { nodes: [], lines: [], width: 0, height: 0 };
    let [x, y, row] = [0, 0, 0];
    for (const picture of pictures) {
      if (x && x + picture.width > most) [x, y, row] = [0, y + row, 0];
      const move = (point) => ({ ...point, x: point.x + x, y: point.y + y });
      whole.nodes.push(...picture.nodes.map(move));
      whole.lines.push(...picture.lines.map((line) => ({ ...line, ...(line.x === undefined ? {} : move({ x: line.x, y: line.y })), points: line.points.map(move) })));
      row = Math.max(row, picture.height);
      x += picture.width;
      whole.width = Math.max(whole.width, x);
      whole.height = y + row;
    }
    whole.lines.sort((a, b) => b.edge.published - a.edge.published);
    whole.labelled = whole.lines.length <= LABELLED;
    return whole;
  }

  function arrange(edges, rankdir, narrow) {
    const graph = new dagre.graphlib.Graph();
    const [gap, pad, most] = narrow ? [8, 12, 14] : [22, 24, NAME];
    graph.setGraph({ rankdir, nodesep: gap, edgesep: gap, ranksep: narrow ? 40 : 50, marginx: 12, marginy: 12 });
    graph.setDefaultEdgeLabel(() => ({}));
    // Keys are numbers: names come from a log, and dagre keeps them as properties of an object.
    const keys = new Map();
    const nodes = [];
    const loops = new Set(edges.filter((edge) => edge.source === edge.destination).map((edge) => edge.source));
    const key = (service) => {
      if (!keys.has(service)) {
        const label = page.cut(page.printable(service), most);
        const own = loops.has(service) ? LOOP : 0;
        keys.set(service, String(keys.size));
        nodes.push({ service, label, text: [...label].length * CHARACTER + pad, width: [...label].length * CHARACTER + pad + 2 * own, height: HEIGHT });
        graph.setNode(keys.get(service), nodes.at(-1));
      }
      return keys.get(service);
    };
    const lines = edges.map((edge) => {
      const [from, to] = [key(edge.source), key(edge.destination)];
      const label = edges.length <= LABELLED ? { width: short(edge.published).length * 7 + 2, height: 14, labelpos: "c" } : {};
      if (from !== to) graph.setEdge(from, to, label);
      return { edge, from, to };
    });
    dagre.layout(graph);
    for (const line of lines) {
      const [from, to] = [nodes[Number(line.from)], nodes[Number(line.to)]];
      Object.assign(line, from === to ? loop(from) : graph.edge(line.from, line.to));
      if (from !== to) line.points = [touching(line.points[0], from), ...line.points.slice(1, -1), touching(line.points.at(-1), to)];
    }
    return { nodes, lines, width: graph.graph().width, height: graph.graph().height };
  }

  // The end of a line at the side of a box, not at that of the space kept beside it.
  function touching({ x, y }, box) {
    const half = box.text / 2;
    return { x: Math.min(Math.max(x, box.x - half), box.x + half), y };
  }

  // Calls of a service to itself: a line beside its box, in space that was kept for it.
  function loop({ x, y, text }) {
    const [edge, out] = [x + text / 2, x + text / 2 + LOOP * 0.75];
    return { points: [{ x: edge, y: y - 8 }, { x: out, y: y - 16 }, { x: out, y: y + 16 }, { x: edge, y: y + 8 }], x: out + 4, y };
  }

  // The same points, ending before the arrow.
  function shaft(points, size) {
    const [a, b] = [points.at(-2), points.at(-1)];
    const angle = Math.atan2(b.y - a.y, b.x - a.x);
    return [...points.slice(0, -1), { x: b.x - size * Math.cos(angle), y: b.y - size * Math.sin(angle) }];
  }

  // The triangle at the end of a line, along its last part.
  function arrow(points, size) {
    const [a, b] = [points.at(-2), points.at(-1)];
    const angle = Math.atan2(b.y - a.y, b.x - a.x);
    const corner = (turn) => `${b.x - size * Math.cos(angle + turn)},${b.y - size * Math.sin(angle + turn)}`;
    return `M${b.x},${b.y}L${corner(0.42)}L${corner(-0.42)}Z`;
  }

  page.graph = (content, details) => {
    const edges = content.edges;
    const frame = h("div", { class: "picture" });
    const note = h("p", { class: "rows", role: "status" });
    const chosen = { service: "", plane: "", trust: "", show: "", most: "60" };
    const values = (field) => [...new Set(edges.flatMap((edge) => edge[field]))].sort();
    const choice = (label, field, options) =>
      h("label", {}, h("span", {}, label),
        h("select", { name: field, onchange: (event) => ((chosen[field] = event.target.value), redraw()) },
          options.map(([value, text]) => h("option", { value, selected: value === chosen[field] }, text))));
    const all = (list) => [["", "All"], ...list.map((each) => [each, page.printable(each)])];
    const services = [...new Set(edges.flatMap((edge) => [edge.source, edge.destination]))].sort();
    const pick = h("select", { name: "edge", onchange: (event) => select(shown[Number(event.target.value)]?.edge ?? null) });
    const controls = h("div", { class: "controls" },
      h("label", {}, h("span", {}, "Service"),
        h("input", { type: "search", name: "service", list: "services", placeholder: "All", autocomplete: "off", spellcheck: "false",
          oninput: (event) => ((chosen.service = event.target.value.trim().toLowerCase()), redraw()) })),
      h("datalist", { id: "services" }, services.slice(0, 500).map((each) => h("option", { value: page.printable(each) }))),
      content.graph === "calls" && values("planes").length > 1 ? choice("Plane", "plane", all(values("planes"))) : null,
      content.graph === "calls" ? choice("Trust", "trust", all(values("trusts"))) : null,
      choice("Show", "show", [["", "All"], ["wrong", "Refused or undelivered"], ["refused", "Refused"], ["undelivered", "Undelivered"]]),
      edges.length > 30 ? choice("Edges", "most", [["30", "30"], ["60", "60"], ["120", "120"], ["240", "240"]]) : null,
      h("label", {}, h("span", {}, "Edge"), pick));
    const zoom = d3.zoom().scaleExtent([0.5, 6])
      // The wheel and one finger scroll the page; with Ctrl, or two fingers, they move the picture.
      .filter((event) => (event.type === "wheel" ? event.ctrlKey : event.touches ? event.touches.length > 1 : !event.button))
      .on("zoom", (event) => svg.select("g.view").attr("transform", event.transform));
    let svg = d3.select(null);
    let shown = [];
    let selected = null;
    let width = 0;
    const scale = (factor) => svg.transition().duration(150).call(zoom.scaleBy, factor);
    const buttons = h("div", { class: "zoom" },
      h("button", { type: "button", "aria-label": "Zoom in", onclick: () => scale(1.4) }, "+"),
      h("button", { type: "button", "aria-label": "Zoom out", onclick: () => scale(1 / 1.4) }, "−"),
      h("button", { type: "button", "aria-label": "Fit the picture", onclick: () => svg.call(zoom.transform, d3.zoomIdentity) }, "⤢"));

    function wanted(edge) {
      return (!chosen.service || [edge.source, edge.destination].some((each) => each.toLowerCase().includes(chosen.service))) &&
        (!chosen.plane || edge.planes.includes(chosen.plane)) &&
        (!chosen.trust || edge.trusts.includes(chosen.trust)) &&
        (!chosen.show || (chosen.show === "wrong" ? wrong(edge) : edge[chosen.show]) > 0);
    }

    function redraw() {
      if (!width) return;
      const found = edges.filter(wanted);
      const picture = heaviest(found, Number(chosen.most));
      const hidden = found.length - picture.length;
      note.textContent = !found.length ? "No edge matches." :
        hidden ? `The ${page.count(picture.length)} heaviest of ${page.count(found.length)} edges; the table of calls has all.` :
        `${page.plural(picture.length, "edge")}${content.edges_total > edges.length ? `, of the ${page.count(edges.length)} heaviest in the run` : ""}.`;
      draw(place(picture, { width, height: 460 }));
    }

    function draw({ nodes, lines, labelled, width: wide, height: high }) {
      shown = lines;
      const box = { width: Math.max(wide, Math.min(width, 700)), height: Math.max(high, 200) };
      svg = d3.create("svg")
        .attr("viewBox", `${(wide - box.width) / 2} ${(high - box.height) / 2} ${box.width} ${box.height}`)
        .attr("role", "group").attr("aria-label", "Call graph. The arrow keys move from edge to edge.");
      const view = svg.append("g").attr("class", "view");
      const thick = d3.scaleSqrt([0, d3.max(lines, ({ edge }) => edge.published) || 1], [1.4, 9]);
      const curve = d3.line((point) => point.x, (point) => point.y).curve(d3.curveBasis);
      const head = (edge) => 7 + thick(edge.published);
      const path = ({ points, edge }) => curve(shaft(points, head(edge) * 0.8));
      const line = view.selectAll("g.edge").data(lines).join("g")
        .attr("class", ({ edge }) => ["edge", edge.refused ? "refused" : "", edge.undelivered ? "undelivered" : "",
          edge.trusts.includes("danger") ? "danger" : ""].join(" "))
        .attr("role", "button").attr("tabindex", (_, i) => (i ? -1 : 0))
        .attr("aria-label", ({ edge }) => told(edge)).attr("aria-pressed", ({ edge }) => edge === selected)
        .on("click", (_, { edge }) => select(edge)).on("keydown", (event, { edge }) => keyed(event, edge));
      line.append("title").text(({ edge }) => told(edge));
      line.append("path").attr("class", "grip").attr("d", path);
      line.append("path").attr("class", "volume").attr("d", path)
        .attr("stroke-width", ({ edge }) => thick(edge.published));
      line.append("path").attr("class", "head").attr("d", ({ points, edge }) => arrow(points, head(edge)));
      line.filter(({ edge }) => edge.undelivered).append("path").attr("class", "mark undelivered").attr("d", path);
      line.filter(({ edge }) => edge.refused).append("path").attr("class", "mark refused").attr("d", path);
      line.filter(({ edge }) => edge.trusts.includes("danger")).append("path").attr("class", "diamond").attr("d", function () {
        const volume = this.parentNode.querySelector(".volume");
        const { x, y } = volume.getPointAtLength(volume.getTotalLength() / 4);
        return `M${x},${y - 6}l6,6l-6,6l-6,-6Z`;
      });
      if (labelled) {
        line.filter(({ x }) => x !== undefined).append("text").attr("x", ({ x }) => x).attr("y", ({ y }) => y + 4)
          .attr("text-anchor", "middle").text(({ edge }) => short(edge.published));
      }
      const node = view.selectAll("g.node").data(nodes).join("g").attr("class", ({ service }) => (service.startsWith("(") ? "node absent" : "node"))
        .attr("transform", ({ x, y }) => `translate(${x},${y})`);
      node.append("title").text(({ service }) => page.printable(service));
      node.append("rect").attr("x", (each) => -each.text / 2).attr("y", -HEIGHT / 2).attr("width", (each) => each.text).attr("height", HEIGHT).attr("rx", 7);
      node.append("text").attr("text-anchor", "middle").attr("y", 4.5).text(({ label }) => label);
      svg.call(zoom).on("dblclick.zoom", null);
      frame.replaceChildren(svg.node());
      pick.replaceChildren(h("option", { value: "" }, "Choose…"),
        ...shown.map(({ edge }, i) => h("option", { value: i, selected: edge === selected }, page.cut(name(edge), 60))));
      if (selected && !shown.some(({ edge }) => edge === selected)) select(null);
    }

    function keyed(event, edge) {
      const i = shown.findIndex((each) => each.edge === edge);
      if (event.key === "Enter" || event.key === " ") select(edge);
      else if (event.key === "ArrowRight" || event.key === "ArrowDown") focus((i + 1) % shown.length);
      else if (event.key === "ArrowLeft" || event.key === "ArrowUp") focus((i + shown.length - 1) % shown.length);
      else return;
      event.preventDefault();
    }

    function focus(i) {
      const lines = svg.selectAll("g.edge").attr("tabindex", (_, place) => (place === i ? 0 : -1)).nodes();
      lines[i].focus();
    }

    function select(edge) {
      selected = edge;
      svg.selectAll("g.edge").attr("aria-pressed", (line) => line.edge === edge);
      pick.value = edge ? String(shown.findIndex((line) => line.edge === edge)) : "";
      details(edge);
    }

    new ResizeObserver(([entry]) => {
      const now = Math.round(entry.contentRect.width);
      const first = !width;
      const turned = now < NARROW !== width < NARROW;
      width = now;
      if (now && (first || turned)) requestAnimationFrame(redraw);
    }).observe(frame);
    return h("div", { class: "graph" }, controls, frame, h("div", { class: "under" }, note, buttons));
  };
})();

"use strict";
// The graph of components: laid out by dagre where that is quick, in columns by rank elsewhere; drawn by Cytoscape.js.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const COLOURS = { dependency: ["#dbeafe", "#1d4ed8"], both: ["#ede9fe", "#6d28d9"], dependant: ["#dcfce7", "#15803d"],
    independent: ["#f3f4f6", "#4b5563"] };
  const GAP = { column: 90, fold: 30, row: 14, part: 50, application: 90 };
  const FONT = { size: 12, line: 15, family: "system-ui, sans-serif" };
  const LISTED = 50; // entries of a list in the panel
  const SHOWN = 2; // pull requests in a box; the panel has all
  const QUICK = 60; // components that dagre lays out at once
  const BUDGET = 300; // milliseconds for dagre at the start; what is left is in columns
  const byId = new Map(data.components.map((one) => [one.id, one]));
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${FONT.size}px ${FONT.family}`;
  const sizes = new Map(data.components.map((one) => {
    const width = Math.max(...linesOf(one).map((line) => pen.measureText(line).width));
    return [one.id, { width: Math.max(80, Math.ceil(width) + 24), height: linesOf(one).length * FONT.line + 15 }];
  }));
  const size = (one) => sizes.get(one.id);

  // The name, and pull requests without what they wait for.
  function linesOf(one) {
    const shown = one.waiting.slice(0, SHOWN).map((label) => label.split(" (")[0]);
    const more = one.waiting.length - shown.length;
    return [one.name, ...shown, ...(more ? [`and ${more} more`] : [])];
  }

  // ---- places ----------------------------------------------------------------------------------------------------

  function byDagre(ids, edges) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "LR", ranker: "longest-path", nodesep: GAP.row, ranksep: GAP.column });
    graph.setDefaultEdgeLabel(() => ({}));
    ids.forEach((id) => graph.setNode(id, size(byId.get(id))));
    edges.forEach(([from, to]) => graph.setEdge(from, to));
    dagre.layout(graph);
    return new Map(ids.map((id) => [id, { x: graph.node(id).x, y: graph.node(id).y }]));
  }

  function inColumns(ids) {
    const columns = new Map();
    ids.forEach((id) => columns.set(byId.get(id).rank, [...(columns.get(byId.get(id).rank) || []), id]));
    const places = new Map();
    // Long columns are folded, so that the whole is about as wide as high.
    const most = Math.max(12, Math.ceil(Math.sqrt(ids.length * 3)));
    const folded = [...columns.keys()].sort((a, b) => a - b).flatMap((rank) => {
      const column = columns.get(rank);
      const length = Math.ceil(column.length / Math.ceil(column.length / most));
      return column.flatMap((_, at) => (at % length ? [] : [{ column: column.slice(at, at + length), gap: at ? GAP.fold : GAP.column }]));
    });
    let x = 0;
    for (const { column, gap } of folded) {
      if (x) x += gap;
      const width = Math.max(...column.map((id) => size(byId.get(id)).width));
      let y = -column.reduce((sum, id) => sum + size(byId.get(id)).height + GAP.row, 0) / 2;
      for (const id of column) {
        const { height } = size(byId.get(id));
        places.set(id, { x: x + width / 2, y: y + height / 2 });
        y += height + GAP.row;
      }
      x += width;
    }
    return places;
  }

  function boxOf(places) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [id, { x, y }] of places) {
      const { width, height } = size(byId.get(id));
      left = Math.min(left, x - width / 2); right = Math.max(right, x + width / 2);
      top = Math.min(top, y - height / 2); bottom = Math.max(bottom, y + height / 2);
    }
    return { left, top, width: right - left, height: bottom - top };
  }

  // Rows of parts beside each other, about as wide as high.
  function packed(parts, gap) {
    const boxes = parts.map(boxOf);
    const area = boxes.reduce((sum, box) => sum + (box.width + gap) * (box.height + gap), 0);
    const widest = Math.max(Math.sqrt(area * 1.6), ...boxes.map((box) => box.width));
    const whole = new Map();
    let [x, y, row] = [0, 0, 0];
    parts.forEach((places, at) => {
      const box = boxes[at];
      if (x > 0 && x + box.width > widest) { x = 0; y += row + gap; row = 0; }
      places.forEach((place, id) => whole.set(id, { x: place.x - box.left + x, y: place.y - box.top + y }));
      x += box.width + gap;
      row = Math.max(row, box.height);
    });
    return whole;
  }

  function connected(ids, edges) {
    const near = new Map(ids.map((id) => [id, []]));
    edges.forEach(([from, to]) => { near.get(from).push(to); near.get(to).push(from); });
    const seen = new Set();
    const parts = [];
    for (const id of ids) {
      if (seen.has(id)) continue;
      const part = [id];
      seen.add(id);
      for (const one of part) near.get(one).forEach((other) => { if (!seen.has(other)) { seen.add(other); part.push(other); } });
      parts.push(part);
    }
    return parts;
  }

  function laidOut(ids, most, budget) {
    const end = performance.now() + budget;
    const shown = new Set(ids);
    const edges = data.edges.filter(([from, to]) => shown.has(from) && shown.has(to));
    const applications = new Map();
    ids.forEach((id) => applications.set(byId.get(id).application, [...(applications.get(byId.get(id).application) || []), id]));
    const wholes = [];
    for (const members of applications.values()) {
      const own = new Set(members);
      const inside = edges.filter(([from, to]) => own.has(from) && own.has(to));
      const parts = connected(members, inside).map((part) => {
        const of = new Set(part);
        const quick = part.length > 1 && part.length <= most && performance.now() < end;
        return quick ? byDagre(part, inside.filter(([from]) => of.has(from))) : inColumns(part);
      });
      wholes.push(packed(parts, GAP.part));
    }
    return packed(wholes, GAP.application);
  }

  // ---- the drawing -----------------------------------------------------------------------------------------------

  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const places = laidOut(data.components.map((one) => one.id), QUICK, BUDGET);
  const elements = [
    ...data.applications.map((one) => ({ data: { id: one.id, label: one.title }, classes: "application", selectable: false })),
    ...data.components.map((one) => ({
      data: { id: one.id, parent: one.application, label: linesOf(one).join("\n"), ...size(one) },
      classes: `component ${one.role}${one.tested ? " tested" : ""}`, position: places.get(one.id), grabbable: true,
    })),
    ...data.edges.map(([from, to, circle]) => ({ data: { id: `${from} ${to}`, source: from, target: to }, classes: circle ? "circle" : "" })),
  ];
  const cy = cytoscape({
    container: document.getElementById("graph"), elements, layout: { name: "preset", fit: true, padding: 30 },
    minZoom: 0.02, maxZoom: 3, textureOnViewport: data.components.length > 500, hideEdgesOnViewport: data.edges.length > 2000,
    style: [
      { selector: ".component", style: { label: "data(label)", width: "data(width)", height: "data(height)", shape: "rectangle", color: "#111827",
        "text-wrap": "wrap", "text-valign": "center", "font-size": FONT.size, "font-family": FONT.family, "line-height": FONT.line / FONT.size, "border-width": 1, "min-zoomed-font-size": 6 } },
      ...Object.entries(COLOURS).map(([role, [fill, line]]) => ({ selector: `.${role}`, style: { "background-color": fill, "border-color": line } })),
      { selector: ".dependency", style: { "border-width": 4, "border-style": "double" } },
      { selector: ".dependant, .independent", style: { shape: "round-rectangle" } },
      { selector: ".independent", style: { "border-style": "dashed" } },
      { selector: ".tested", style: { "border-width": 3 } },
      { selector: ".application", style: { label: "data(label)", "background-opacity": 0, "border-width": 1, "border-color": dark ? "#4b5563" : "#d1d5db",
        color: dark ? "#f3f4f6" : "#111827", "font-size": 14, padding: 20, events: "no" } },
      { selector: "edge", style: { width: 1.2, "line-color": dark ? "#9ca3af" : "#6b7280", "target-arrow-color": dark ? "#9ca3af" : "#6b7280",
        "target-arrow-shape": "triangle", "curve-style": data.edges.length > 3000 ? "haystack" : "bezier", "arrow-scale": 0.8 } },
      { selector: ".circle", style: { "line-color": "#dc2626", "target-arrow-color": "#dc2626", width: 3 } },
      { selector: ".faded", style: { opacity: 0.12 } },
      { selector: ".component:selected", style: { "overlay-color": "#1d4ed8", "overlay-opacity": 0.2, "overlay-padding": 6 } },
    ],
  });
  window.krmMergeGraph = cy; // for a console
  document.body.dataset.ready = "true";

  // ---- the panel -------------------------------------------------------------------------------------------------

  const find = (id) => document.getElementById(id);
  const details = find("details");

  function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    return made;
  }

  function listOf(title, ids) {
    if (!ids.length) return [];
    const list = element("ul");
    ids.forEach((id) => {
      const item = element("li");
      const button = element("button", byId.get(id).name, { type: "button" });
      button.addEventListener("click", () => choose(id));
      item.append(button);
      list.append(item);
    });
    return [element("h2", title), list];
  }

  function choose(id) {
    cy.elements(":selected").unselect();
    const node = cy.getElementById(id);
    node.select();
    const one = byId.get(id);
    const focus = element("button", "Show only what it reaches", { type: "button" });
    focus.addEventListener("click", () => focusOn(id));
    const rows = [element("h2", one.name), element("p", one.described, { class: "quiet" }), focus];
    if (one.groups.length) rows.push(element("h2", "Groups"), element("p", one.groups.join(", ")));
    if (one.waiting.length) {
      const list = element("ul");
      one.waiting.forEach((label) => list.append(element("li", label)));
      rows.push(element("h2", "Pull requests"), list);
    }
    const depends = data.edges.filter(([, to]) => to === id).map(([from]) => from);
    const used = data.edges.filter(([from]) => from === id).map(([, to]) => to);
    details.replaceChildren(...rows, ...listOf("Depends on", depends), ...listOf("Depended on by", used));
    cy.animate({ center: { eles: node } }, { duration: 150 });
  }

  function reached(id, depth) {
    const found = new Map([[id, 0]]);
    for (const [ends, at] of [[0, 1], [1, 0]]) {
      const queue = [[id, 0]];
      const seen = new Set([id]);
      for (const [one, far] of queue) {
        if (far >= depth) continue;
        data.edges.filter((edge) => edge[ends] === one).forEach((edge) => {
          if (seen.has(edge[at])) return;
          seen.add(edge[at]);
          found.set(edge[at], far + 1);
          queue.push([edge[at], far + 1]);
        });
      }
    }
    return [...found.keys()];
  }

  function show(ids, where) {
    const shown = new Set(ids);
    cy.batch(() => {
      cy.nodes(".component").forEach((node) => {
        node.style("display", shown.has(node.id()) ? "element" : "none");
        if (shown.has(node.id())) node.position(where.get(node.id()));
      });
      cy.nodes(".application").forEach((node) => node.style("display", node.children().some((child) => shown.has(child.id())) ? "element" : "none"));
    });
    cy.fit(cy.nodes(":visible"), 30);
    find("all").hidden = shown.size === data.components.length;
  }

  function focusOn(id) {
    const ids = reached(id, Number(find("depth").value) || Infinity);
    show(ids, laidOut(ids, 150, 1500));
  }

  function highlight(matches) {
    cy.batch(() => {
      cy.elements().removeClass("faded");
      if (!matches) return;
      cy.nodes(".component").forEach((node) => { if (!matches(byId.get(node.id()))) node.addClass("faded"); });
      cy.edges().forEach((edge) => { if (edge.source().hasClass("faded") || edge.target().hasClass("faded")) edge.addClass("faded"); });
    });
  }

  cy.on("tap", "node.component", (event) => choose(event.target.id()));
  find("all").addEventListener("click", () => show(data.components.map((one) => one.id), places));
  find("search").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? data.components.filter((one) => words.every((word) => one.text.includes(word))) : [];
    const names = new Set(found.map((one) => one.id));
    highlight(words.length ? (one) => names.has(one.id) : null);
    find("found").replaceChildren(...(words.length
      ? [element("p", `${found.length} of ${data.components.length}`, { class: "quiet", role: "status" }), ...listOf("Found", found.slice(0, LISTED).map((one) => one.id))]
      : []));
  });
  find("search").addEventListener("keydown", (event) => {
    const first = find("found").querySelector("button");
    if (event.key === "Enter" && first) first.click();
  });
  const groups = find("group");
  data.groups.forEach((name) => groups.append(element("option", name, { value: name })));
  groups.addEventListener("change", () => highlight(groups.value ? (one) => one.groups.includes(groups.value) : null));
  groups.parentElement.hidden = !data.groups.length;
  const planned = data.components.flatMap((one) => one.waiting.map((label) => [one.id, label]));
  planned.slice(0, LISTED).forEach(([id, label]) => {
    const item = element("li");
    const button = element("button", byId.get(id).name, { type: "button" });
    button.addEventListener("click", () => choose(id));
    item.append(button, ` ${label}`);
    find("planned").append(item);
  });
  if (planned.length > LISTED) find("planned").append(element("li", `and ${planned.length - LISTED} more: search for them`, { class: "quiet" }));
  find("planned").parentElement.hidden = !planned.length;
  data.problems.forEach((text) => find("problems").append(element("li", text, { class: "error" })));
})();

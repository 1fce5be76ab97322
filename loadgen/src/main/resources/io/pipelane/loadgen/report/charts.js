"use strict";
// Elements, tables and charts of the page; knows nothing of what they show.
const root = document.getElementById("report");

function node(tag, attributes, ...children) {
  const svg = ["svg", "path", "line", "text", "circle", "g", "rect"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
                   : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

function number(value, digits) {
  if (value === undefined || value === null || !isFinite(value)) return "–";
  const places = digits ?? (Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1
    : Math.abs(value) >= 10 ? 2 : 3);
  return value.toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places});
}
const percent = share => Number.isFinite(share) ? number(100 * share, 2) + " %" : "–";

function table(headings, rows) {
  const texts = headings.map(heading => heading.startsWith("<"));
  const head = node("tr", {}, ...headings.map((heading, i) =>
    node("th", texts[i] ? {class: "text"} : {}, heading.replace("<", ""))));
  const body = rows.map(row => node("tr", {}, ...row.map((cell, i) =>
    node("td", texts[i] ? {class: "text"} : {}, cell))));
  return node("div", {class: "scroll"}, node("table", {}, head, ...body));
}

// ---- charts

function niceTicks(low, high, count) {
  const raw = (high - low || 1) / count;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw);
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step) ticks.push(t);
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  if (high - low < 1.2)
    return niceTicks(Math.pow(10, low), Math.pow(10, high), 5).filter(t => t > 0).map(Math.log10);
  for (let e = Math.floor(low); e <= Math.ceil(high); e++)
    for (const m of high - low > 2.5 ? [1] : [1, 2, 5]) {
      const t = e + Math.log10(m);
      if (t >= low - 1e-9 && t <= high + 1e-9) ticks.push(t);
    }
  return ticks;
}

/**
 * A line chart as wide as the page leaves room. series: {name, color, dash, points: [[x, y]], dots};
 * x and y: {label, text(v), log, ticks(low, high), zero}. marks: [[x, text]] are drawn along the
 * bottom, the limit as a line across.
 */
function chart(series, x, y, {marks = [], limit} = {}) {
  const width = Math.max(280, root.clientWidth - 66), height = width < 600 ? 260 : 330;
  const left = 58, right = 14, top = 12, bottom = 44;
  const map = (axis, v) => axis.log ? Math.log10(v) : v;
  const drawn = series.map(s => ({...s, points: s.points.filter(p =>
    isFinite(p[0]) && isFinite(p[1]) && (!y.log || p[1] > 0) && (!x.log || p[0] > 0))}))
    .filter(s => s.points.length);
  const holder = node("div", {class: "chart"});
  if (!drawn.length) {
    holder.append(node("p", {}, "Nothing was measured here."));
    return holder;
  }
  const range = (axis, i) => {
    const values = drawn.flatMap(s => s.points.map(p => map(axis, p[i])));
    if (i && limit) values.push(map(axis, limit));
    let low = Math.min(...values), high = Math.max(...values);
    if (axis.zero) low = Math.min(0, low);
    if (axis.log && high - low < 0.3) { low -= 0.15; high += 0.15; }
    if (low === high) high = low + 1;
    return [low, high + (axis.room ?? 0) * (high - low)];
  };
  const [x0, x1] = range(x, 0), [y0, y1] = range(y, 1);
  const px = v => left + (map(x, v) - x0) / (x1 - x0) * (width - left - right);
  const py = v => height - bottom - (map(y, v) - y0) / (y1 - y0) * (height - top - bottom);
  const svg = node("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label":
    `${y.label} against ${x.label}`});
  const unmap = (axis, t) => axis.log ? Math.pow(10, t) : t;
  for (const t of y.log ? logTicks(y0, y1) : niceTicks(y0, y1, 6)) {
    const at = py(unmap(y, t));
    svg.append(node("line", {class: "grid", x1: left, x2: width - right, y1: at, y2: at}),
      node("text", {x: left - 8, y: at + 4, "text-anchor": "end"}, y.text(unmap(y, t))));
  }
  for (const t of x.ticks ? x.ticks(x0, x1, width / 110) : niceTicks(x0, x1, width / 110)) {
    const at = px(unmap(x, t));
    svg.append(node("line", {class: "grid", x1: at, x2: at, y1: top, y2: height - bottom}),
      node("text", {x: at, y: height - bottom + 16, "text-anchor": "middle"}, x.text(unmap(x, t))));
  }
  svg.append(node("text", {x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle"},
    x.label), node("text", {x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle",
      transform: `rotate(-90 14 ${(top + height - bottom) / 2})`}, y.label));
  if (limit) svg.append(node("line", {class: "limit", x1: left, x2: width - right, y1: py(limit), y2: py(limit)}));
  for (const [at, text] of marks) {
    const mark = node("circle", {cx: px(at), cy: height - bottom - 5, r: 3.5, fill: "var(--cold)"});
    mark.append(node("title", {}, text));
    svg.append(mark);
  }
  for (const s of drawn) {
    const path = s.points.map((p, i) => `${i ? "L" : "M"}${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`);
    svg.append(node("path", {d: path.join(""), fill: "none", stroke: s.color, "stroke-width": 2,
      "stroke-linejoin": "round", "stroke-dasharray": s.dash || "none"}));
    if (s.dots || s.points.length === 1) for (const p of s.points)
      svg.append(node("circle", {cx: px(p[0]), cy: py(p[1]), r: 3.5, fill: s.color}));
  }
  const cursor = node("line", {class: "cursor", y1: top, y2: height - bottom, visibility: "hidden"});
  const tip = node("div", {class: "tip"});
  svg.append(cursor);
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect();
    const at = (event.clientX - box.left) * width / box.width;
    const near = drawn.map(s => [s, s.points.reduce((best, p) =>
      Math.abs(px(p[0]) - at) < Math.abs(px(best[0]) - at) ? p : best)]);
    const first = near.reduce((best, n) =>
      Math.abs(px(n[1][0]) - at) < Math.abs(px(best[1][0]) - at) ? n : best)[1][0];
    cursor.setAttribute("x1", px(first)); cursor.setAttribute("x2", px(first));
    cursor.setAttribute("visibility", "visible");
    tip.replaceChildren(node("b", {}, x.tip ? x.tip(first) : `${x.label}: ${x.text(first)}`),
      ...near.map(([s, p]) => node("div", {},
        node("span", {class: "swatch", style: `background:${s.color}`}), `${s.name}: ${y.tip(p[1])}`)));
    tip.style.display = "block";
    const room = box.width - (event.clientX - box.left) < tip.offsetWidth + 30;
    tip.style.left = (event.clientX - box.left + (room ? -tip.offsetWidth - 14 : 14)) + "px";
    tip.style.top = (event.clientY - box.top - 10) + "px";
  });
  svg.addEventListener("pointerleave", () => {
    tip.style.display = "none"; cursor.setAttribute("visibility", "hidden");
  });
  const legend = node("div", {class: "legend"}, ...drawn.map(s => node("span", {},
    node("i", {style: `border-color:${s.color};border-top-style:${s.dash ? "dashed" : "solid"}`}),
    s.name)));
  if (marks.length) legend.append(node("span", {}, node("span", {class: "swatch",
    style: "background:var(--cold);border-radius:50%"}), "the server waited for weights"));
  if (limit) legend.append(node("span", {}, node("i", {style: "border-color:var(--bad);border-top-style:dotted"}),
    `objective, ${y.tip(limit)}`));
  holder.append(legend, svg, tip);
  return holder;
}

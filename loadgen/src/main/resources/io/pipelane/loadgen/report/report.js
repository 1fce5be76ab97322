"use strict";
// Draws the page from the experiments' JSON. Times in the JSON are microseconds, shown as milliseconds.
const results = JSON.parse(document.getElementById("data").textContent);
const root = document.getElementById("report");
const color = i => `var(--c${i % 6})`;
const ms = us => us / 1000;

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
const percent = share => share === undefined ? "–" : number(100 * share, 2) + " %";

function table(headings, rows) {
  const texts = headings.map(heading => heading.startsWith("<"));
  const head = node("tr", {}, ...headings.map((heading, i) =>
    node("th", texts[i] ? {class: "text"} : {}, heading.replace("<", ""))));
  const body = rows.map(row => node("tr", {}, ...row.map((cell, i) =>
    node("td", texts[i] ? {class: "text"} : {}, cell))));
  return node("div", {class: "scroll"}, node("table", {}, head, ...body));
}

function named(index, text) {
  if (results.length < 2) return text;
  return node("span", {class: "name"}, node("span", {class: "swatch", style: `background:${color(index)}`}), text);
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
 * A line chart. series: {name, color, dash, points: [[x, y]], dots}; x and y: {label, text(v),
 * log, ticks(low, high), zero}. marks: [[x, text]] are drawn along the bottom.
 */
function chart(series, x, y, marks) {
  const width = 1060, height = 330, left = 64, right = 16, top = 12, bottom = 44;
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
  for (const t of x.ticks ? x.ticks(x0, x1) : niceTicks(x0, x1, 9)) {
    const at = px(unmap(x, t));
    svg.append(node("line", {class: "grid", x1: at, x2: at, y1: top, y2: height - bottom}),
      node("text", {x: at, y: height - bottom + 16, "text-anchor": "middle"}, x.text(unmap(x, t))));
  }
  svg.append(node("text", {x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle"},
    x.label), node("text", {x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle",
      transform: `rotate(-90 14 ${(top + height - bottom) / 2})`}, y.label));
  for (const [at, text] of marks || []) {
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
  svg.addEventListener("mousemove", event => {
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
  svg.addEventListener("mouseleave", () => {
    tip.style.display = "none"; cursor.setAttribute("visibility", "hidden");
  });
  const legend = node("div", {class: "legend"}, ...drawn.map(s => node("span", {},
    node("i", {style: `border-color:${s.color};border-top-style:${s.dash ? "dashed" : "solid"}`}),
    s.name)));
  if (marks && marks.length) legend.append(node("span", {}, node("span", {class: "swatch",
    style: "background:var(--cold);border-radius:50%"}), "the server waited for weights"));
  holder.append(legend, svg, tip);
  return holder;
}

const latencyAxis = {label: "latency, ms", log: true, room: 0.04,
  text: v => number(v, v < 0.1 ? 3 : v < 1 ? 2 : v < 10 ? 1 : 0),
  tip: v => number(v) + " ms"};

// ---- what is shown

const loads = [...new Set(results.flatMap(r => r.steps.map(s => s.load)))];
let load = loads[loads.length - 1], runIndex = 0;
const shown = () => results.map((result, index) => {
  const step = result.steps.find(s => s.load === load);
  return step && {result, index, step, run: step.runs[Math.min(runIndex, step.runs.length - 1)]};
}).filter(s => s);
const label = (item, text) => results.length > 1 ? `${item.result.name} ${text}` : text;

function percentiles() {
  const series = [];
  for (const item of shown()) {
    const total = item.run.total, count = Math.max(1, total.answered);
    const points = curve => curve.map(([p, us]) => [1 / Math.max(1 - p / 100, 0.5 / count), ms(us)]);
    series.push({name: label(item, "response time"), color: color(item.index),
      points: points(total.response_curve)});
    if (item.step.request_rate !== undefined) series.push({name: label(item, "service time"),
      color: color(item.index), dash: "5 4", points: points(total.service_curve)});
  }
  const text = v => number(100 * (1 - 1 / v), Math.max(0, Math.round(Math.log10(v)) - 2)) + " %";
  return chart(series, {label: "percentile of requests", log: true, text, tip: text,
    ticks: (low, high) => niceTicks(0, Math.floor(high), Math.floor(high)).map(Math.round)}, latencyAxis);
}

function overTime() {
  const series = [], marks = [], middle = s => s.start_seconds + s.seconds / 2;
  const axis = {label: "seconds since the measurement began", text: v => number(v, v % 1 ? 1 : 0)};
  for (const item of shown()) {
    const slices = item.run.slices.filter(s => s.count > 0);
    const line = (text, key, dash) => series.push({name: label(item, text), color: color(item.index),
      dash, points: slices.map(s => [middle(s), ms(s[key])])});
    if (results.length === 1) {
      series.push({name: "maximum", color: color(1), points: slices.map(s => [middle(s), ms(s.max)])});
    }
    line("p99", "p99"); line("median", "p50", "5 4");
    for (const s of slices) if (s.cold > 0)
      marks.push([middle(s), `${s.cold} of ${s.count} answers waited for weights`]);
  }
  return chart(series, axis, latencyAxis, marks);
}

function answersOverTime() {
  const series = [];
  for (const item of shown()) {
    // a last slice that is cut short makes no rate
    const whole = item.run.slices.filter(s => s.seconds > 0.99 * item.run.slices[0].seconds);
    const line = (name, key, c, dash) => series.push({name: label(item, name), color: c, dash,
      points: whole.map(s => [s.start_seconds + s.seconds / 2, s[key] / s.seconds])});
    line("answers/s", "answers", color(item.index));
    if (item.run.slices.some(s => s.errors > 0)) line("errors/s", "errors", "var(--bad)", "2 3");
  }
  return chart(series, {label: "seconds since the measurement began", text: v => number(v, v % 1 ? 1 : 0)},
    {label: "per second", zero: true, room: 0.08, text: v => number(v, v % 1 ? 1 : 0), tip: v => number(v)});
}

function sweep() {
  const series = [];
  results.forEach((result, index) => {
    const line = (name, key, dash) => series.push({name: results.length > 1 ? `${result.name} ${name}` : name,
      color: color(index), dash, dots: true, points: result.steps.map(s =>
        [s.summary.answers_per_second.mean, ms(s.summary[key].mean)])});
    line("p99", "p99_us"); line("median", "p50_us", "5 4");
  });
  return chart(series, {label: "answers per second", zero: true, text: v => number(v, v % 1 ? 1 : 0)}, latencyAxis);
}

function interval(estimate, divisor) {
  const spread = estimate.half_width_95 === undefined ? ""
    : ` ± ${number(estimate.half_width_95 / divisor)}`;
  return number(estimate.mean / divisor) + spread;
}

function summary() {
  const slo = results.some(r => r.objective_us !== undefined);
  const base = results.length > 1;
  const keys = base ? ["p50", "p99"] : ["p50", "p90", "p99", "p99.9"];
  const first = name => results[0].steps.find(s => s.load === name) || results[0].steps[0];
  const rows = results.flatMap((result, index) => result.steps.map(step => {
    const s = step.summary, reference = first(step.load).summary;
    const errors = step.runs.reduce((sum, run) => sum + run.total.errors, 0);
    const ratio = key => number(s[key].mean / reference[key].mean, 2) + " ×";
    const cells = [named(index, results.length > 1 ? result.name : step.load)];
    if (base) cells.push(step.load);
    cells.push(interval(s.answers_per_second, 1), ...keys.map(key => interval(s[key + "_us"], 1000)),
      number(errors, 0));
    if (slo) cells.push(percent(step.runs[0].total.attainment), number(step.runs[0].total.goodput));
    if (base) cells.push(ratio("answers_per_second"), ratio("p50_us"), ratio("p99_us"));
    cells.push([s.stable ? "" : "unstable", s.generator_was_the_bottleneck ? "generator" : ""]
      .filter(t => t).join(", ") || "sound");
    return cells;
  }));
  return table([base ? "<result" : "<load", ...(base ? ["<load"] : []), "answers/s",
    ...keys.map(key => key + " ms"), "errors", ...(slo ? ["in time", "goodput/s"] : []),
    ...(base ? ["answers", "p50", "p99"] : []), "verdict"], rows);
}

/** What servers tell of where a request's time went, by what the protocol calls it. */
const serverParts = {queue: "queue ms", stall: "stall ms", compute_input: "input ms",
  compute_infer: "execute ms", compute_output: "output ms"};

/** A table of models, or of classes of models. */
function models(kind) {
  const parts = shown().map(item => ({...item, run: {...item.run, models: item.run[kind] || []}}));
  const any = key => parts.some(p => p.run.models.some(m => m[key]));
  const cold = any("cold_response_time_us");
  const rows = parts.flatMap(item => item.run.models.map(m => {
    const r = m.response_time_us, cells = [named(item.index, m.model)];
    cells.push(number(m.answered, 0), number(m.errors, 0), number(m.answers_per_second),
      number(ms(r.mean)), number(ms(r.p50)), number(ms(r.p99)), number(ms(r["p99.9"])), number(ms(r.max)));
    if (m.attainment !== undefined) cells.push(percent(m.attainment));
    if (cold) {
      const c = m.cold_response_time_us, w = m.warm_response_time_us;
      cells.push(c ? percent(c.count / Math.max(1, c.count + w.count)) : "–",
        c && c.count ? number(ms(c.p50)) : "–", w && w.count ? number(ms(w.p50)) : "–");
    }
    return cells;
  }));
  const slo = parts.some(p => p.run.models.some(m => m.attainment !== undefined));
  return table([kind === "models" ? "<model" : "<class", "answered", "errors", "answers/s", "mean ms", "p50", "p99", "p99.9", "max",
    ...(slo ? ["in time"] : []), ...(cold ? ["cold", "cold p50", "warm p50"] : [])], rows);
}

/** Where the server says that its time went; nothing where no server does. */
function insideTheServer() {
  const rows = shown().flatMap(item => item.run.models.filter(m => m.server && m.server.inferences)
    .map(m => [item.index, m.model, m.server]));
  if (!rows.length) return "";
  const told = Object.keys(serverParts).filter(k => rows.some(r => r[2].mean_us[k] !== undefined));
  return section("Inside the server",
    "What its statistics say: means of the inferences that each part happened to.",
    table(["<model", "inferences", "rows a run", ...told.map(k => serverParts[k])],
      rows.map(([index, model, server]) => [named(index, model), number(server.inferences, 0),
        number(server.inferences / Math.max(1, server.executions), 1),
        ...told.map(k => server.mean_us[k] === undefined ? "–" : number(ms(server.mean_us[k])))])));
}

function notes() {
  const made = [];
  for (const result of results) {
    const who = results.length > 1 ? result.name + ": " : "";
    for (const step of result.steps) step.runs.forEach((run, i) => {
      const where = (result.steps.length > 1 ? step.load + ": " : "")
        + (step.runs.length > 1 ? `run ${i + 1}: ` : "");
      for (const text of run.bottlenecks) made.push(node("div", {class: "note bad"},
        `${who}${where}the load generator was the bottleneck: ${text}`));
      if (run.stability && !run.stability.stable) made.push(node("div", {class: "note warn"},
        `${who}${where}unstable after ${run.stability.windows} windows`));
      for (const error of run.total.error_kinds) made.push(node("div", {class: "note bad"},
        `${who}${where}${error.count} × ${error.kind}: ${error.first_message}`));
      for (const text of run.warnings) made.push(node("div", {class: "note warn"}, who + where + text));
    });
  }
  return made.slice(0, 12);
}

function tiles() {
  const item = shown()[0];
  if (results.length > 1 || !item) return node("div");
  const total = item.run.total, r = total.response_time_us;
  const tile = (value, text) => node("div", {class: "tile"}, node("b", {}, value), node("span", {}, text));
  return node("div", {class: "tiles"}, tile(number(total.answers_per_second), "answers per second"),
    tile(number(ms(r.p50)) + " ms", "median response"), tile(number(ms(r.p99)) + " ms", "p99 response"),
    tile(number(ms(r.max)) + " ms", "longest response"),
    tile(number(total.errors, 0), `errors of ${number(total.answered + total.errors, 0)}`),
    total.attainment === undefined ? null
      : tile(percent(total.attainment), `within ${number(ms(item.result.objective_us), 0)} ms`));
}

function provenance() {
  const row = (name, get) => node("tr", {}, node("td", {}, name),
    ...results.map(r => node("td", {class: "text wrap"}, get(r))));
  const head = results.length > 1 ? node("tr", {}, node("th", {}, ""),
    ...results.map((r, i) => node("th", {class: "text"}, named(i, r.name)))) : null;
  return node("div", {class: "scroll"}, node("table", {}, head,
    row("begun", r => r.started), row("server", r => `${r.server.url} ${r.server.name} ${r.server.version}`),
    row("load generator", r => `${r.generator.version}, commit ${r.generator.commit}, ${r.machine.java}`),
    row("its machine", r => `${r.machine.processor}, ${r.machine.cores} cores, ${r.machine.operating_system}`),
    row("its GPUs", r => r.machine.gpus.join("; ") || "none seen"),
    row("seed", r => String(r.seed)),
    row("repeat it", r => node("code", {}, "bin/loadgen " + r.arguments.join(" ")))));
}

function section(title, text, content) {
  return node("section", {}, node("h2", {}, title), text ? node("p", {}, text) : null, content);
}

function choice(text, options, value, change) {
  const select = node("select", {}, ...options.map(([v, name]) => {
    const option = node("option", {value: v}, name);
    if (v === value) option.selected = true;
    return option;
  }));
  select.addEventListener("change", () => { change(select.value); draw(); });
  return node("label", {}, text + " ", select);
}

function draw() {
  const runs = Math.max(...shown().map(s => s.step.runs.length), 1);
  const controls = node("div", {class: "controls"},
    loads.length > 1 ? choice("Load", loads.map(l => [l, l]), load, v => { load = v; }) : null,
    runs > 1 ? choice("Run", [...Array(runs).keys()].map(i => [i, String(i + 1)]), runIndex,
      v => { runIndex = Number(v); }) : null);
  const title = results.length > 1 ? "Load tests side by side" : "Load test of " + results[0].name;
  document.title = title;
  const several = results.some(r => r.steps.length > 1);
  root.replaceChildren(node("h1", {}, title),
    node("p", {}, results.length > 1 ? "Ratios are to the first one." : results[0].steps[0].load
      + (several ? " and other loads" : "")),
    ...notes(), controls, tiles(),
    section("Summary", "Response times count from when a request was meant to leave.", summary()),
    several ? section("Throughput against latency", null, sweep()) : "",
    section("Latency by percentile",
      "Service time counts from when a request did leave; what lies between is waiting for a connection.",
      percentiles()),
    section("Latency over time", "By the time that requests were meant to leave.", overTime()),
    section("Answers over time", null, answersOverTime()),
    section("Models", null, models("models")), insideTheServer(),
    shown().some(item => (item.run.classes || []).length)
      ? section("Classes of models", null, models("classes")) : "",
    section("Where this comes from", null, provenance()));
}

draw();

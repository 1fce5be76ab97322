"use strict";
// Draws the page from the experiments' JSON. Times in the JSON are microseconds, shown as milliseconds.
const results = JSON.parse(document.getElementById("data").textContent);
const color = i => `var(--c${i % 6})`;
const ms = us => us === null ? NaN : us / 1000; // of no answers there is no time

function named(index, text) {
  if (results.length < 2) return text;
  return node("span", {class: "name"}, node("span", {class: "swatch", style: `background:${color(index)}`}), text);
}

const latencyAxis = {label: "latency, ms", log: true, room: 0.04,
  text: v => number(v, v < 0.1 ? 3 : v < 1 ? 2 : v < 10 ? 1 : 0),
  tip: v => number(v) + " ms"};

const loads = [...new Set(results.flatMap(r => r.steps.map(s => s.load)))];
let load = loads[loads.length - 1], chosenRun;
const objective = () => results.every(r => r.objective_us === results[0].objective_us)
  && results[0].objective_us ? ms(results[0].objective_us) : undefined;

/** Whether the results have loads in common, so that what one lacks was not measured. */
const common = loads.some(l => results.every(r => r.steps.some(s => s.load === l)));

/** The step of a result for a load of another: the same; without common loads the one at the same place. */
function alike(result, name, position) {
  return result.steps.find(s => s.load === name) || (common ? undefined : result.steps[position]);
}

const stepsShown = () => results.map((result, index) => {
  const places = results.map(r => r.steps.findIndex(s => s.load === load));
  return {result, index, step: alike(result, load, places.find(place => place >= 0))};
}).filter(item => item.step);

/** Runs by their numbers: those of servers in turn with the same number are of one round. */
const numbered = step => new Map(step.runs.map((run, i) => [run.run ?? i + 1, run]));
const runNumbers = () => [...new Set(stepsShown().flatMap(item => [...numbered(item.step).keys()]))]
  .sort((a, b) => a - b);

/** What is drawn of each result; of one that lacks the chosen run, nothing. */
function shown() {
  const numbers = runNumbers(), chosen = numbers.includes(chosenRun) ? chosenRun : numbers[0];
  return stepsShown().map(item => ({...item, run: numbered(item.step).get(chosen)}))
    .filter(item => item.run);
}
const label = (item, text) => results.length < 2 ? text
  : `${item.result.name}${item.step.load === load ? "" : ", " + item.step.load}: ${text}`;

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
    ticks: (low, high) => niceTicks(0, Math.floor(high), Math.floor(high)).map(Math.round)}, latencyAxis,
    {limit: objective()});
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
  return chart(series, axis, latencyAxis, {marks, limit: objective()});
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
    const line = (name, key, dash) => series.push({name: results.length > 1 ? `${result.name}: ${name}` : name,
      color: color(index), dash, dots: true, points: result.steps.map(s =>
        [s.summary.answers_per_second.mean, ms(s.summary[key].mean)])});
    line("p99", "p99_us"); line("median", "p50_us", "5 4");
  });
  return chart(series, {label: "answers per second", zero: true, text: v => number(v, v % 1 ? 1 : 0)}, latencyAxis,
    {limit: objective()});
}

function interval(estimate, divisor) {
  if (estimate.mean === null) return "–";
  const spread = estimate.half_width_95 === undefined ? ""
    : ` ± ${number(estimate.half_width_95 / divisor)}`;
  return number(estimate.mean / divisor) + spread;
}

/** How many times one step's figures are another's, of the runs that both have: mean, and spread. */
function multiple(step, reference, figure) {
  const others = numbered(reference);
  const ratios = [...numbered(step)].filter(([n]) => others.has(n))
    .map(([n, run]) => figure(run.total) / figure(others.get(n).total));
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  if (!(mean > 0 && isFinite(mean))) return "–";
  if (ratios.length < 2 || step === reference) return number(mean, 2) + " ×";
  return node("span", {}, number(mean, 2) + " ×", node("small", {class: "spread"},
    `${number(Math.min(...ratios), 2)} to ${number(Math.max(...ratios), 2)}`));
}

function summary() {
  const slo = results.some(r => r.objective_us !== undefined);
  const base = results.length > 1;
  const keys = base ? ["p50", "p99"] : ["p50", "p90", "p99", "p99.9"];
  const rows = results.flatMap((result, index) => result.steps.map((step, position) => {
    const s = step.summary, reference = alike(results[0], step.load, position);
    const errors = step.runs.reduce((sum, run) => sum + run.total.errors, 0);
    const ratio = figure => reference ? multiple(step, reference, figure) : "–";
    const cells = [named(index, results.length > 1 ? result.name : step.load)];
    if (base) cells.push(step.load);
    cells.push(interval(s.answers_per_second, 1), ...keys.map(key => interval(s[key + "_us"], 1000)),
      number(errors, 0));
    const mean = key => step.runs.reduce((sum, run) => sum + (run.total[key] ?? NaN), 0) / step.runs.length;
    if (slo) cells.push(...(result.objective_us === undefined ? ["–", "–"]
      : [percent(mean("attainment")), number(mean("goodput"))]));
    if (base) cells.push(...[total => total.answers_per_second,
      total => ms(total.response_time_us.p50), total => ms(total.response_time_us.p99)].map(ratio));
    cells.push([s.stable ? "" : "unstable", s.generator_was_the_bottleneck ? "generator" : ""]
      .filter(t => t).join(", ") || "sound");
    return cells;
  }));
  return table([base ? "<result" : "<load", ...(base ? ["<load"] : []), "answers/s",
    ...keys.map(key => key + " ms"), "errors", ...(slo ? ["in time", "goodput/s"] : []),
    ...(base ? ["answers", "p50", "p99"] : []), "verdict"], rows);
}

/** What searches have found, a line for each result that is one. */
function found() {
  return results.filter(r => r.highest_load !== undefined).map(r => node("p", {class: "found"},
    (results.length > 1 ? r.name + ": " : "") + (r.highest_load > 0
      ? "The highest load that holds the limit: " + r.highest_load_name + "."
      : "Not even the lowest load holds the limit.")));
}

/** What servers tell of where a request's time went, by what the protocol calls it. */
const serverParts = {queue: "queue ms", stall: "stall ms", compute_input: "input ms",
  compute_infer: "execute ms", compute_output: "output ms"};

/** A table of models, or of classes of models. */
function models(kind) {
  const parts = shown().map(item => ({...item, run: {...item.run, models: item.run[kind] || []}}));
  const any = key => parts.some(p => p.run.models.some(m => m[key]));
  const cold = any("cold_response_time_us");
  const slo = parts.some(p => p.run.models.some(m => m.attainment !== undefined));
  const rows = parts.flatMap(item => item.run.models.map(m => {
    const r = m.response_time_us, cells = [named(item.index, m.model)];
    cells.push(number(m.answered, 0), number(m.errors, 0), number(m.answers_per_second),
      number(ms(r.mean)), number(ms(r.p50)), number(ms(r.p99)), number(ms(r["p99.9"])), number(ms(r.max)));
    if (slo) cells.push(percent(m.attainment));
    if (cold) {
      const c = m.cold_response_time_us, w = m.warm_response_time_us;
      cells.push(c ? percent(c.count / Math.max(1, c.count + w.count)) : "–",
        c && c.count ? number(ms(c.p50)) : "–", w && w.count ? number(ms(w.p50)) : "–");
    }
    return cells;
  }));
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
    "What its statistics say: means over the inferences that each part happened to."
      + (told.includes("stall") ? " Execution includes the stall." : ""),
    table(["<model", "inferences", "rows a run", ...told.map(k => serverParts[k])],
      rows.map(([index, model, server]) => [named(index, model), number(server.inferences, 0),
        number(server.inferences / Math.max(1, server.executions), 1),
        ...told.map(k => server.mean_us[k] ? number(ms(server.mean_us[k])) : "–")])));
}

function notes() {
  const made = [];
  for (const result of results) {
    const who = results.length > 1 ? result.name + ": " : "";
    for (const failure of result.failures || []) made.push(node("div", {class: "note bad"},
      `${who}${failure.load}: run ${failure.run} could not be measured: ${failure.reason}`));
    for (const step of result.steps) numbered(step).forEach((run, n) => {
      const where = (result.steps.length > 1 ? step.load + ": " : "")
        + (step.runs.length > 1 || n > 1 ? `run ${n}: ` : "");
      for (const text of run.bottlenecks) made.push(node("div", {class: "note bad"},
        `${who}${where}the load generator was the bottleneck: ${text}`));
      if (run.stability && !run.stability.stable) made.push(node("div", {class: "note warn"},
        `${who}${where}unstable after ${run.stability.windows} windows`));
      for (const error of run.total.error_kinds) made.push(node("div", {class: "note bad"},
        `${who}${where}${error.count} × ${error.kind}: ${error.first_message}`));
      for (const text of run.warnings) made.push(node("div", {class: "note warn"}, who + where + text));
    });
  }
  const more = made.length - 12;
  return more < 1 ? made : [...made.slice(0, 12), node("p", {}, `and ${more} more such notes`)];
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

/** An argument as a shell takes it. */
const quoted = argument => /^[\w@%+=:,./-]+$/.test(argument) ? argument
  : "'" + argument.replaceAll("'", "'\\''") + "'";

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
    row("repeat it", r => node("code", {}, "bin/loadgen " + r.arguments.map(quoted).join(" ")))));
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
  const runs = runNumbers();
  const controls = node("div", {class: "controls"},
    loads.length > 1 ? choice("Load", loads.map(l => [l, l]), load, v => { load = v; }) : null,
    runs.length > 1 ? choice("Run", runs.map(n => [n, String(n)]), chosenRun,
      v => { chosenRun = Number(v); }) : null);
  const title = results.length > 1 ? "Load tests side by side" : "Load test of " + results[0].name;
  document.title = title;
  const several = results.some(r => r.steps.length > 1);
  root.replaceChildren(node("h1", {}, title),
    node("p", {}, results.length > 1 ? "Ratios are to the first one: geometric mean of the runs that both have, below it smallest to largest." : results[0].steps[0].load
      + (several ? " and other loads" : "")),
    ...notes(), controls, tiles(),
    section("Summary", "Response times count from when a request was meant to leave.",
      node("div", {}, ...found(), summary())),
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

let drawnWidth = 0;
function drawAgain() {
  if (root.clientWidth !== drawnWidth) {
    drawnWidth = root.clientWidth;
    draw();
  }
}
addEventListener("resize", drawAgain);
drawAgain();

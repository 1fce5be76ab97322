// The table of models.

import { children, element, say, style } from "./dom.js";
import { bytes, figure, timeText } from "./format.js";
import { key } from "./rates.js";

const GOLDEN_ANGLE = 137.508;
const STATES = { READY: "good", LOADING: "busy", UNLOADING: "busy", UNAVAILABLE: "bad" };

/** A hue for each model, by its place among all. */
export function hues(models) {
  return new Map(models.map((model, i) => [key(model), ((200 + i * GOLDEN_ANGLE) % 360).toFixed(0)]));
}

const SORTS = {
  name: null,
  size: (row) => row.model.weights?.bytes ?? 0,
  rate: (row) => row.rates.rate,
  mean: (row) => row.rates.mean ?? 0,
  p99: (row) => row.rates.p99 ?? 0,
  stall: (row) => row.rates.stall ?? 0,
  pending: (row) => row.model.requests?.pending ?? 0,
};

class Row {
  constructor() {
    this.swatch = element("i", { className: "swatch" });
    this.name = element("span");
    this.reason = element("span", { className: "reason" });
    this.state = element("span");
    this.kind = element("td", { className: "kind" });
    this.bar = element("div", { className: "prefix" });
    this.share = element("span", { className: "share" });
    this.numbers = Array.from({ length: 6 }, () => element("td", { className: "number" }));
    this.element = element("tr", {},
      element("td", { className: "name" }, this.swatch, this.name, this.reason),
      element("td", {}, this.state),
      this.kind,
      element("td", { className: "wide" }, this.bar, this.share),
      ...this.numbers);
  }

  show(model, rates, hue) {
    this.model = model;
    this.rates = rates;
    style(this.element, "--hue", hue);
    say(this.name, model.version ? `${model.name} / ${model.version}` : model.name);
    const notes = model.notes ?? [];
    say(this.reason, model.reason || notes.join("; "));
    this.element.title = [model.reason, ...notes].filter((text) => text).join("\n");
    say(this.kind, model.class ?? "");
    say(this.state, model.state.toLowerCase());
    this.state.className = `pill ${STATES[model.state]}`;
    this.#showPrefix(model.weights, model.replicas ?? []);
    const texts = [
      model.weights ? bytes(model.weights.bytes) : "",
      rates.rate > 0 ? figure(rates.rate) : "–",
      timeText(rates.mean),
      timeText(rates.p99),
      timeText(rates.stall),
      model.requests ? String(model.requests.pending) : "–",
    ];
    this.numbers.forEach((cell, i) => say(cell, texts[i]));
  }

  #showPrefix(weights, replicas) {
    const groups = weights ? weights.group_bytes : [];
    let begin = 0;
    const shares = groups.map((length) => {
      const resident = Math.min(Math.max(weights.resident_bytes - begin, 0), length);
      begin += length;
      return [length / weights.bytes, resident / length];
    });
    children(this.bar, shares,
      () => element("i", {}, element("b", { className: "filled" })),
      (group, [width, filled]) => {
        style(group, "flex-grow", width.toFixed(4));
        style(group.firstElementChild, "width", `${(100 * filled).toFixed(1)}%`);
      });
    this.bar.classList.toggle("arriving", Boolean(weights?.arriving));
    say(this.share, weights ? [weights, ...replicas].map(described).join("; ") : "");
  }
}

function described(weights) {
  const share = Math.min(1, weights.bytes ? weights.resident_bytes / weights.bytes : 1);
  const parts = [`${Math.round(100 * share)} % on ${weights.device}`];
  if (weights.in_place_bytes > 0) {
    const copied = weights.in_place_copied_bytes > 0 ? ", copied" : "";
    parts.push(`${bytes(weights.in_place_bytes)} read in place${copied}`);
  }
  if (weights.class === "offline" && weights.resident_bytes > 0) {
    parts.push("offline");
  }
  if (weights.running > 0) {
    parts.push(`${weights.running} running`);
  }
  return parts.join(", ");
}

/** Takes charge of the table; answers the function that updates it. */
export function models(table, filter, count) {
  const rows = new Map();
  const body = table.tBodies[0];
  let sort = "name";
  for (const head of table.querySelectorAll("th[data-sort]")) {
    head.firstElementChild.addEventListener("click", () => {
      sort = head.dataset.sort;
      table.querySelector("th[aria-sort]").removeAttribute("aria-sort");
      head.setAttribute("aria-sort", SORTS[sort] ? "descending" : "ascending");
      arrange();
    });
  }
  filter.addEventListener("input", arrange);

  function arrange() {
    const wanted = filter.value.toLowerCase();
    const shown = [...rows.values()].filter((row) => row.model.name.toLowerCase().includes(wanted));
    const value = SORTS[sort];
    if (value) {
      shown.sort((a, b) => value(b) - value(a));
    }
    const elements = shown.map((row) => row.element);
    if (elements.length !== body.rows.length || elements.some((e, i) => e !== body.rows[i])) {
      body.replaceChildren(...elements);
    }
  }

  return (state, rates, colours) => {
    const before = new Map(rows);
    rows.clear();
    for (const model of state.models) {
      const name = key(model);
      const row = before.get(name) ?? new Row();
      row.show(model, rates.models.get(name), colours.get(name));
      rows.set(name, row);
    }
    const ready = state.models.filter((model) => model.state === "READY").length;
    say(count, `${ready} of ${state.models.length} ready`);
    arrange();
  };
}

// The table of models: which are shown, and in what order.

import { arrange, say } from "./dom.js";
import { key } from "./rates.js";
import { Row } from "./row.js";

const GOLDEN_ANGLE = 137.508;

/** So many rows are built at once; of others it is waited for that they come near what is seen. */
const FIRST_ROWS = 20;

/** Rows as far from what is seen are brought up to date, so that scrolling finds them ready. */
const NEAR = "200px";

/** As many rows are laid out each by itself, and only near what is seen; fewer cost nothing. */
const MANY_ROWS = 100;

const hueAt = (place) => String(Math.round((200 + place * GOLDEN_ANGLE) % 360));

/** A hue for each model, by its place among all. */
export function hues(models) {
  return new Map(models.map((model, i) => [key(model), hueAt(i)]));
}

/** What needs a look comes first. */
const STATES = ["UNAVAILABLE", "LOADING", "UNLOADING", "READY"];

/** What rows are ordered by, the largest first but for what is ascending by nature; names are in order already. */
const SORTS = {
  name: null,
  state: (row) => -STATES.indexOf(row.model.state),
  size: (row) => row.model.weights?.bytes ?? 0,
  rate: (row) => row.rates.rate,
  mean: (row) => row.rates.mean ?? 0,
  p99: (row) => row.rates.p99 ?? 0,
  stall: (row) => row.rates.stall ?? 0,
  pending: (row) => row.model.requests?.pending ?? 0,
};
const ASCENDING = new Set(["name", "state"]);

/** What is looked for in: name, version, state and class. */
function text(model) {
  return `${key(model)} ${model.state} ${model.class ?? ""}`.toLowerCase();
}

/** The choice of rows, kept in the address so that a reload or a link has it. */
class Choice {
  read() {
    const told = new URLSearchParams(location.hash.slice(1));
    this.filter = told.get("filter") ?? "";
    this.sort = Object.hasOwn(SORTS, told.get("sort")) ? told.get("sort") : "name";
    this.reversed = told.has("reversed");
    return this;
  }

  /** Throws where a browser finds that the address changes too often; the next time has all of it. */
  write() {
    const told = new URLSearchParams();
    if (this.filter) {
      told.set("filter", this.filter);
    }
    if (this.sort !== "name") {
      told.set("sort", this.sort);
    }
    if (this.reversed) {
      told.set("reversed", "");
    }
    const hash = told.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }
}

/** Takes charge of the table; answers the function that updates it. */
export function models(table, filter, count) {
  const rows = new Map();
  const rowOf = new WeakMap();
  const body = table.tBodies[0];
  const choice = new Choice();
  const view = new IntersectionObserver(
    (changes) => changes.forEach((change) => {
      rowOf.get(change.target).isNear = change.isIntersecting;
    }),
    { root: table.parentElement, rootMargin: NEAR });

  for (const head of table.querySelectorAll("th[data-sort]")) {
    head.firstElementChild.addEventListener("click", () => {
      const { sort } = head.dataset;
      choice.reversed = choice.sort === sort && !choice.reversed;
      choice.sort = sort;
      show();
      choice.write();
    });
  }
  filter.addEventListener("input", () => {
    choice.filter = filter.value;
    show();
    choice.write();
  });
  addEventListener("hashchange", choose);
  choose();

  function choose() {
    filter.value = choice.read().filter;
    show();
  }

  function show() {
    for (const head of table.querySelectorAll("th[data-sort]")) {
      const order = ASCENDING.has(head.dataset.sort) === choice.reversed ? "descending" : "ascending";
      const told = head.dataset.sort === choice.sort ? order : null;
      if (head.ariaSort !== told) {
        head.ariaSort = told;
      }
    }
    const words = choice.filter.toLowerCase().split(/\s+/);
    const shown = [...rows.values()].filter((row) => {
      const among = text(row.model);
      return words.every((word) => among.includes(word));
    });
    const value = SORTS[choice.sort];
    if (value) {
      shown.sort((a, b) => value(b) - value(a));
    }
    if (choice.reversed) {
      shown.reverse();
    }
    body.classList.toggle("many", shown.length >= MANY_ROWS);
    arrange(body, shown.map((row) => row.element));
    const ready = [...rows.values()].filter((row) => row.model.state === "READY").length;
    say(count, `${ready} of ${rows.size} ready${choice.filter.trim() ? `, ${shown.length} shown` : ""}`);
  }

  return (state, rates, colours) => {
    const before = new Map(rows);
    rows.clear();
    for (const model of state.models) {
      const name = key(model);
      let row = before.get(name);
      if (!row) {
        row = new Row(rows.size < FIRST_ROWS);
        rowOf.set(row.element, row);
        view.observe(row.element);
      }
      before.delete(name);
      row.take(model, rates.models.get(name), colours.get(name));
      rows.set(name, row);
    }
    before.forEach((gone) => view.unobserve(gone.element));
    show();
  };
}

// A model's row in the table.

import { children, element, kind, say, style } from "./dom.js";
import { atMost, bytes, figure, timeText } from "./format.js";

const STATES = { READY: "good", LOADING: "busy", UNLOADING: "busy", UNAVAILABLE: "bad" };

/** What a note says of a folder whose content is not what answers: that is shown like a reason. */
const REFUSED = "by now is refused";

const cell = (className, ...inside) => element("td", { className, role: "cell" }, ...inside);

/** Has its name from the start; the other cells are built, and brought up to date, while it is near what is seen. */
export class Row {
  constructor(near) {
    this.near = near;
    this.swatch = element("i", { className: "swatch" });
    this.name = element("span");
    this.reason = element("span", { className: "reason" });
    this.head = cell("name", this.swatch, this.name, this.reason);
    this.element = element("tr", { role: "row" }, this.head);
  }

  /** Takes what the row is to show. */
  take(model, rates, hue) {
    this.model = model;
    this.rates = rates;
    this.hue = hue;
    if (this.near) {
      this.#show();
    } else if (!this.name.firstChild) {
      this.#showName();
    }
  }

  /** Whether the row is near what is seen; elsewhere a screen reader has its name alone, for the rest grows old. */
  set isNear(near) {
    if (near === this.near) {
      return;
    }
    this.near = near;
    if (near) {
      this.#show();
    }
    for (const part of [...[...this.head.children].slice(2), ...[...this.element.cells].slice(1)]) {
      part.ariaHidden = near ? null : "true";
    }
  }

  #showName() {
    const { name, version } = this.model;
    say(this.name, version ? `${name} / ${version}` : name);
  }

  #build() {
    this.state = element("span");
    this.kind = cell("kind");
    this.bar = element("div", { className: "prefix" });
    this.share = element("span", { className: "share" });
    this.numbers = ["number more", "number", "number more", "number", "number more", "number"]
      .map((name) => cell(name));
    this.element.append(cell("", this.state), this.kind, cell("wide", this.bar, this.share), ...this.numbers);
    [...this.element.cells].forEach((each, i) => {
      each.ariaColIndex = String(i + 1);
    });
  }

  #show() {
    if (!this.state) {
      this.#build();
    }
    const { model, rates } = this;
    this.#showName();
    style(this.element, "--hue", this.hue);
    const notes = model.notes ?? [];
    const reasons = [model.reason, ...notes.filter((note) => note.includes(REFUSED))].filter((text) => text);
    say(this.reason, reasons.join("; "));
    kind(this.reason, model.state === "UNAVAILABLE" ? "reason bad" : "reason busy");
    this.#showNotes(notes.filter((note) => !note.includes(REFUSED)));
    say(this.kind, model.class ?? "");
    say(this.state, model.state.toLowerCase());
    kind(this.state, `pill ${STATES[model.state]}`);
    this.#showPrefix(model.weights, model.replicas ?? []);
    const texts = [
      model.weights ? bytes(model.weights.bytes) : "",
      rates.rate > 0 ? figure(rates.rate) : "–",
      timeText(rates.mean),
      atMost(rates.p99).join(" ").trim(),
      timeText(rates.stall),
      model.requests ? String(model.requests.pending) : "–",
    ];
    this.numbers.forEach((number, i) => say(number, texts[i]));
  }

  /** Notes are there for who asks: they open by mouse, touch and keyboard. */
  #showNotes(notes) {
    if (notes.length === 0) {
      this.notes?.remove();
      this.notes = undefined;
      return;
    }
    if (!this.notes) {
      this.notes = element("details", {}, element("summary"), element("ul"));
      this.head.append(this.notes);
    }
    const [summary, list] = this.notes.children;
    say(summary, notes.length === 1 ? "1 note" : `${notes.length} notes`);
    children(list, notes, () => element("li"), say);
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
        style(group, "flex-grow", String(Number(width.toFixed(4))));
        style(group.firstElementChild, "width", `${Number((100 * filled).toFixed(1))}%`);
      });
    kind(this.bar, weights?.arriving ? "prefix arriving" : "prefix");
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

// What each device's memory holds, and what moves.

import { children, element, kind, say, style } from "./dom.js";
import { bytes, figure } from "./format.js";
import { key } from "./rates.js";
import { Squares } from "./squares.js";

/** More pages than this share their squares. */
const MOST_SQUARES = 800;

/** Facts that are told in a sentence. */
const LONG = new Set(["Because", "Offline evictions", "Multiprocessors of its own"]);

/** A budget's kinds; what none of them takes is free. */
class Budget {
  constructor(parent, name, kinds) {
    this.kinds = kinds;
    this.title = element("h3");
    this.name = name;
    this.stack = element("div", { className: "stack" });
    this.legend = element("div", { className: "legend" });
    parent.append(element("div", { className: "budget" }, this.title, this.stack, this.legend));
  }

  show(whole, taken) {
    say(this.title, `${this.name}: ${bytes(whole)}`);
    const free = Math.max(0, whole - Object.values(taken).reduce((a, b) => a + b, 0));
    children(this.stack, this.kinds, () => element("i"), (part, [name]) => {
      kind(part, name);
      style(part, "width", `${Number(((100 * taken[name]) / whole).toFixed(2))}%`);
    });
    children(this.legend, [...this.kinds, ["free", "free"]],
      () => element("span", {}, element("i"), element("span"), element("b")),
      (entry, [of, name]) => {
        kind(entry.children[0], of);
        say(entry.children[1], `${name} `);
        say(entry.children[2], bytes(of === "free" ? free : taken[of]));
      });
  }
}

class Device {
  constructor() {
    this.name = element("h2");
    this.about = element("span", { className: "quiet" });
    this.pagesTitle = element("h3");
    this.pages = new Squares();
    this.ledger = element("div", { className: "ledger" });
    this.weights = new Budget(this.ledger, "Memory for weights", [["weights", "lent"]]);
    this.working = new Budget(this.ledger, "Working memory",
      [["constants", "sessions"], ["states", "states"], ["lanes", "lanes"]]);
    this.facts = element("dl", { className: "facts" });
    this.values = new Map();
    for (const name of ["Switches", "Moved", "Fetched ahead", "Pages evicted", "In its queue",
      "Running", "Replicas", "Sessions", "Estimate error", "State", "Because", "Offline share",
      "Offline running", "Runs that made way", "Offline evictions", "Multiprocessors of its own"]) {
      const value = element("dd");
      this.values.set(name, value);
      this.facts.append(element("div", { className: LONG.has(name) ? "long" : "" },
        element("dt", { textContent: name }), value));
    }
    this.element = element("div", { className: "device" },
      element("div", { className: "title" }, this.name, this.about),
      this.pagesTitle, this.pages.element,
      this.ledger, this.facts);
  }

  show(device, rates, models, colours) {
    say(this.name, `Device ${device.name}`);
    say(this.about, about(device));
    const { runs, share, told } = pages(device, models, colours);
    say(this.pagesTitle, `Pages of ${bytes(device.page_bytes)}`
      + (share > 1 ? `, ${share} to a square` : "")
      + (device.shared_bytes > 0 ? `; sharing saves ${bytes(device.shared_bytes)}` : ""));
    this.pages.show(runs, told);
    this.weights.show(device.capacity_bytes, { weights: device.lent_bytes });
    this.working.show(device.working_bytes, {
      constants: device.constant_bytes, states: device.state_bytes, lanes: device.lane_bytes,
    });
    const running = models.reduce((sum, model) => sum + on(model, device.name).running, 0);
    const texts = {
      "Switches": `${figure(rates.switches)} /s`,
      "Moved": `${bytes(Math.round(rates.moved))}/s`,
      "Fetched ahead": `${bytes(Math.round(rates.ahead))}/s`,
      "Pages evicted": `${figure(rates.evicted)} /s`,
      "In its queue": String(device.waiting),
      "Running": String(running),
      "Replicas": String(device.replicas),
      "Sessions": String(device.sessions),
      "Estimate error": `${figure(100 * device.estimate_error)} %`,
      "State": device.sharing.state,
      "Because": device.sharing.reason || "it has not been looked at",
      "Offline share": `${Math.round(100 * device.sharing.offline_share)} %`,
      "Offline running": String(device.sharing.offline_running),
      "Runs that made way": String(device.sharing.offline_made_way),
      "Offline evictions": evictions(device.sharing.evictions),
      "Multiprocessors of its own": multiprocessors(device.sharing.multiprocessors),
    };
    this.values.forEach((value, name) => {
      say(value, texts[name]);
      value.parentElement.hidden = texts[name] === "";
    });
  }

  close() {
    this.element.remove();
    this.pages.close();
  }
}

function about(device) {
  const parts = [];
  if (!device.usable) {
    parts.push(`lost; others answered ${device.rerouted} of its requests`);
  }
  if (device.framework_bytes > 0) {
    parts.push(`libraries take ${bytes(device.framework_bytes)} beside both budgets`);
  }
  if (device.offline_job) {
    const job = device.offline_job;
    const speed = Math.round(100 * job.predicted_throughput);
    const source = job.by === "predictor" ? "as jobs like it have reached" : "by the time that online requests leave";
    parts.push(`offline job ${job.id} of ${job.model}, expected at ${speed} % of the speed that it has alone,`
      + ` ${source}`);
  }
  return parts.join(", ");
}

/** How often overload has stopped offline work, and how long that took. */
function evictions(of) {
  const milliseconds = (nanos) => `${(nanos / 1e6).toFixed(2)} ms`;
  return of.stops === 0
    ? "none"
    : `${of.stops}, stood after ${milliseconds(of.longest_stop_ns)} at most`
      + `, memory back in ${milliseconds(of.longest_memory_ns)}`;
}

/** How large offline work's share of the multiprocessors is, and what has become of it; empty where none is tried. */
function multiprocessors(share) {
  if (share.state === "off") {
    return "";
  }
  const size = share.percent > 0 ? `${share.percent} %, ${share.state}` : share.state;
  if (share.offline_with === undefined) {
    return size;
  }
  const percent = (value) => `${Math.round(100 * value)} %`;
  return `${size}: offline at ${percent(share.offline_with)} of its speed,`
    + ` at ${percent(share.offline_without)} without;`
    + ` online ${share.online_slowdown.toFixed(2)} times as long`;
}

/** What a device has of a model, if anything. */
function on(model, name) {
  return model.weights?.device === name
    ? model.weights
    : model.replicas?.find((weights) => weights.device === name);
}

/** Who has each page; models in the order of their names, then what no model here accounts for. */
function pages(device, models, colours) {
  const total = Math.max(1, Math.round(device.capacity_bytes / device.page_bytes));
  const share = Math.ceil(total / MOST_SQUARES);
  const runs = [];
  let end = 0;
  let squares = 0;
  const fill = (pages, run) => {
    end += pages;
    const count = Math.max(0, Math.round(end / share) - squares);
    squares += count;
    if (count > 0) {
      runs.push({ ...run, count });
    }
  };
  const lanes = Math.round(device.lane_borrowed_bytes / device.page_bytes);
  const lent = Math.round(device.lent_bytes / device.page_bytes) - lanes;
  const held = models.map((model) => {
    const weights = on(model, device.name);
    return Math.round((weights.resident_bytes + weights.in_place_copied_bytes) / device.page_bytes);
  });
  const sum = held.reduce((a, b) => a + b, 0);
  // A page that models share is lent once and counted with each: all of them together get its square.
  const part = sum > lent ? lent / sum : 1;
  models.forEach((model, i) => fill(held[i] * part, {
    kind: "model",
    owner: `${model.name} / ${model.version}: ${held[i]} pages`,
    hue: colours.get(key(model)),
  }));
  const others = lent - Math.round(sum * part);
  fill(others, { kind: "other", owner: `other models: ${others} pages` });
  fill(lanes, { kind: "other", owner: `lanes: ${lanes} pages` });
  fill(total - lent - lanes, { kind: "free", owner: "" });
  const holding = held.filter((count) => count > 0).length;
  return { runs, share, told: `${lent + lanes} of ${total} pages are lent; ${holding} models here hold some` };
}

/** Takes charge of the devices; answers the function that updates them. */
export function devices(parent) {
  const shown = new Map();
  return (state, rates, colours) => {
    for (const [name, gone] of shown) {
      if (state.devices.every((device) => device.name !== name)) {
        gone.close();
        shown.delete(name);
      }
    }
    for (const device of state.devices) {
      if (!shown.has(device.name)) {
        shown.set(device.name, new Device());
        parent.append(shown.get(device.name).element);
      }
      const models = state.models.filter((model) => on(model, device.name));
      shown.get(device.name).show(device, rates.devices.get(device.name), models, colours);
    }
  };
}

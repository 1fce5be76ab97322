// The figures of the moment, each with the last two minutes that the page was seen.

import { element, say } from "./dom.js";
import { atMost, bytes, figure, time } from "./format.js";

const POINTS = 120;
const SVG = "http://www.w3.org/2000/svg";

class Tile {
  #values = [];

  constructor(parent, name, read) {
    this.read = read;
    this.number = element("span", { textContent: "–" });
    this.unit = element("small");
    this.chart = document.createElementNS(SVG, "svg");
    this.chart.setAttribute("viewBox", `0 0 ${POINTS - 1} 30`);
    this.chart.setAttribute("preserveAspectRatio", "none");
    this.area = this.#path("area");
    this.line = this.#path("line");
    parent.append(
      element("div", { className: "tile" },
        element("div", { className: "name", textContent: name }),
        element("div", { className: "value" }, this.number, this.unit),
        this.chart));
  }

  #path(kind) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", kind);
    this.chart.append(path);
    return path;
  }

  show(state, rates) {
    const [value, [number, unit]] = this.read(state, rates);
    say(this.number, number);
    say(this.unit, unit);
    this.#values.push(value ?? 0);
    if (this.#values.length > POINTS) {
      this.#values.shift();
    }
    const top = Math.max(...this.#values) || 1;
    const first = POINTS - this.#values.length;
    const points = this.#values.map((v, i) => `${first + i},${Math.round(290 - (270 * v) / top) / 10}`);
    this.line.setAttribute("d", `M${points.join("L")}`);
    this.area.setAttribute("d", `M${first},30L${points.join("L")}L${POINTS - 1},30Z`);
  }
}

const total = (values) => values.reduce((a, b) => a + b, 0);
const ofDevices = (rates, name) => total([...rates.devices.values()].map((device) => device[name]));

function rate(value) {
  return [value, [figure(value), "/s"]];
}

/** Makes the tiles; answers the function that updates them. */
export function tiles(parent) {
  const all = [
    new Tile(parent, "Requests", (_, rates) => rate(rates.all.rate)),
    new Tile(parent, "Mean latency", (_, rates) => [rates.all.mean, time(rates.all.mean)]),
    new Tile(parent, "p99 latency", (_, rates) => [rates.all.p99, atMost(rates.all.p99)]),
    new Tile(parent, "Stall per request", (_, rates) => [rates.all.stall, time(rates.all.stall)]),
    new Tile(parent, "Switches", (_, rates) => rate(ofDevices(rates, "switches"))),
    new Tile(parent, "Weights moved", (_, rates) => {
      const moved = ofDevices(rates, "moved") + ofDevices(rates, "ahead");
      const [number, unit] = bytes(Math.round(moved)).split(" ");
      return [moved, [number, `${unit}/s`]];
    }),
    new Tile(parent, "In queues", (state) => {
      const waiting = total(state.devices.map((device) => device.waiting));
      return [waiting, [figure(waiting), ""]];
    }),
    new Tile(parent, "Failures", (_, rates) => rate(rates.all.failures)),
  ];
  return (state, rates) => all.forEach((tile) => tile.show(state, rates));
}

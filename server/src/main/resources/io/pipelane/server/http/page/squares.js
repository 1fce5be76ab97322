// A device's pages as squares, drawn: there are hundreds, and any may change with every state.

import { element, tip } from "./dom.js";

const SIDE = 13;
const PITCH = SIDE + 2;

const dark = matchMedia("(prefers-color-scheme: dark)");

function filled(hue) {
  return dark.matches ? `oklch(72% 0.12 ${hue})` : `oklch(62% 0.14 ${hue})`;
}

/** Runs of squares, one behind the other: each has a count, an owner's text, and a hue or none. */
export class Squares {
  #runs = [];
  #drawn = "";
  #width = 0;
  #columns = 1;
  #colours = {};
  #gone = new AbortController();

  constructor() {
    this.element = element("canvas", { className: "pages", role: "img" });
    this.element.addEventListener("pointermove", (event) => tip(this.element, this.#ownerAt(event)));
    new ResizeObserver(() => requestAnimationFrame(() => this.#measure())).observe(this.element);
    dark.addEventListener("change", () => this.#measure(true), { signal: this.#gone.signal });
  }

  /** Nothing holds on to them any more. */
  close() {
    this.#gone.abort();
  }

  /** @param told what the squares say, in words */
  show(runs, told) {
    this.#runs = runs;
    this.element.ariaLabel = told;
    const drawn = runs.map(({ count, kind, hue }) => `${count} ${hue ?? kind}`).join();
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      this.#draw();
    }
  }

  #ownerAt({ offsetX, offsetY }) {
    const column = Math.min(this.#columns - 1, Math.floor(offsetX / PITCH));
    let left = Math.floor(offsetY / PITCH) * this.#columns + column;
    return this.#runs.find(({ count }) => (left -= count) < 0)?.owner ?? "";
  }

  /** Asks for what needs the page laid out; drawing does not. */
  #measure(anew = false) {
    const { clientWidth: width } = this.element;
    if (width !== this.#width || anew) {
      this.#width = width;
      this.#columns = Math.max(1, Math.floor((width + PITCH - SIDE) / PITCH));
      const { color, outlineColor } = getComputedStyle(this.element);
      this.#colours = { other: color, free: outlineColor };
      this.#draw();
    }
  }

  /** Does nothing before the width is known. */
  #draw() {
    if (this.#width === 0) {
      return;
    }
    const canvas = this.element;
    const scale = devicePixelRatio;
    const all = this.#runs.reduce((sum, { count }) => sum + count, 0);
    const height = Math.ceil(all / this.#columns) * PITCH;
    if (canvas.width !== Math.round(this.#width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(this.#width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, this.#width, height);
    let at = 0;
    for (const { count, kind, hue } of this.#runs) {
      pen.fillStyle = this.#colours[kind] ?? filled(hue);
      for (const end = at + count; at < end; at++) {
        pen.fillRect((at % this.#columns) * PITCH, Math.floor(at / this.#columns) * PITCH, SIDE, SIDE);
      }
    }
  }
}

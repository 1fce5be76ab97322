// The processes that models run in.

import { children, element, say } from "./dom.js";
import { bytes } from "./format.js";

const MOST_NAMES = 8;
const STATES = { ACTIVE: "good", OFFLINE: "good", STANDBY: "busy" };

function row() {
  return element("tr", {},
    element("td"), element("td", {}, element("span")), element("td"),
    ...Array.from({ length: 3 }, () => element("td", { className: "number" })), element("td"));
}

function models(worker) {
  const names = worker.models.map(({ name, version, sessions }) =>
    `${name}/${version}${sessions > 1 ? ` ×${sessions}` : ""}`);
  const hidden = Math.max(0, names.length - MOST_NAMES) + worker.more_models;
  return [...names.slice(0, MOST_NAMES), ...(hidden > 0 ? [`${hidden} more`] : [])].join(", ");
}

function show(line, worker) {
  const cells = line.cells;
  say(cells[0], `${worker.id}, process ${worker.pid}`);
  const state = cells[1].firstElementChild;
  say(state, worker.state.toLowerCase());
  state.className = `pill ${STATES[worker.state] ?? ""}`;
  say(cells[2], worker.device);
  say(cells[3], String(worker.sessions));
  say(cells[4], bytes(worker.memory_bytes));
  say(cells[5], bytes(worker.device_bytes));
  say(cells[6], models(worker));
}

/** Takes charge of the section; answers the function that updates it. */
export function workers(section, note) {
  const body = section.querySelector("tbody");
  return ({ workers: overview }) => {
    section.hidden = overview.workers.length === 0;
    say(note, `${overview.started} started, ${overview.lost} lost`
      + (overview.last_loss ? `; the last: ${overview.last_loss}` : ""));
    children(body, overview.workers, row, show);
  };
}

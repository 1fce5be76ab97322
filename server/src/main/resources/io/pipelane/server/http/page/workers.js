// The processes that models run in.

import { children, element, say } from "./dom.js";
import { bytes } from "./format.js";

const STATES = { ACTIVE: "good", OFFLINE: "good", STANDBY: "busy" };

function row() {
  return element("tr", {},
    element("td"), element("td", {}, element("span")), element("td"),
    ...Array.from({ length: 3 }, () => element("td", { className: "number" })));
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

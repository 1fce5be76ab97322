// The jobs that the server knows, asked for while there are any.

import { children, element, kind, say } from "./dom.js";
import { credentials } from "./feed.js";

const MOST_ROWS = 50;

/** In the order in which they are shown. */
const STATES = { RUNNING: "good", QUEUED: "busy", FAILED: "bad", DONE: "", CANCELLED: "" };

function row() {
  return element("tr", {},
    element("td", { className: "name" }, element("span"), element("span", { className: "reason" })),
    element("td", {}, element("span")), element("td", { className: "number" }),
    element("td", { className: "number" }));
}

function show(line, job) {
  const [what, state, rows, progress] = line.cells;
  say(what.children[0], `${job.model} / ${job.version}`);
  say(what.children[1], job.reason ? `${job.id}: ${job.reason}` : job.id);
  kind(what.children[1], job.state === "FAILED" ? "reason bad" : "reason");
  say(state.firstElementChild, job.state.toLowerCase());
  kind(state.firstElementChild, `pill ${STATES[job.state]}`);
  const failed = job.items_failed > 0 ? `, ${job.items_failed} of them errors` : "";
  say(rows, `${job.items_done}${job.items === undefined ? "" : ` of ${job.items}`}${failed}`);
  say(progress, `${Math.floor(100 * job.progress)} %`);
}

/** By state, and the latest first. */
function arranged(jobs) {
  const order = Object.keys(STATES);
  return jobs.toReversed().sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}

/** Takes charge of the section; answers the function that updates it. */
export function jobs(section, note) {
  const body = section.querySelector("tbody");
  let asking = false;

  async function ask() {
    asking = true;
    try {
      const response = await fetch("v2/jobs", { headers: credentials() });
      const known = response.ok ? (await response.json()).jobs : [];
      section.hidden = known.length === 0;
      const more = known.length - MOST_ROWS;
      say(note, `${known.length}${more > 0 ? `, ${more} of them not shown` : ""}`);
      children(body, arranged(known).slice(0, MOST_ROWS), row, show);
    } catch {
      // The page says by the stream that the server is not reached.
    } finally {
      asking = false;
    }
  }

  return (state) => {
    if (state.jobs === 0) {
      section.hidden = true;
    } else if (!asking) {
      ask();
    }
  };
}

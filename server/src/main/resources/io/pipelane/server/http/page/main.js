// Puts the page together.

import { devices } from "./devices.js";
import { kind, say } from "./dom.js";
import { follow, hasKey, useKey } from "./feed.js";
import { jobs } from "./jobs.js";
import { hues, models } from "./models.js";
import { Window } from "./rates.js";
import { requests } from "./request.js";
import { tiles } from "./tiles.js";
import { workers } from "./workers.js";

const at = (id) => document.getElementById(id);

const WORDS = {
  live: ["live", "good"],
  offline: ["offline", "bad"],
  refused: ["refused", "busy"],
  key: ["needs an API key", "busy"],
};

const recent = new Window();
const views = [
  tiles(at("tiles")),
  models(at("models"), at("filter"), at("model-count")),
  devices(at("devices")),
  requests(at("request"), at("request-model"), at("request-inputs"), at("send"), at("request-note"),
    at("answer")),
  jobs(at("jobs"), at("job-note")),
  workers(at("workers"), at("worker-note")),
];

const keyForm = at("key-form");
const keyOpen = at("key-open");
let status = "";
let asked = false;

/** The keyboard's place goes to the form with it, and does not vanish with it. */
function showKeyForm() {
  const place = document.activeElement;
  const appears = keyForm.hidden;
  keyForm.hidden = status !== "key" && !asked;
  keyOpen.hidden = status === "key" || !hasKey();
  keyOpen.ariaExpanded = String(asked);
  at("key-forget").hidden = !hasKey();
  if (keyForm.hidden && keyForm.contains(place)) {
    (keyOpen.hidden ? at("filter") : keyOpen).focus();
  } else if (!keyForm.hidden && appears && (place === document.body || place === keyOpen)) {
    at("key").focus();
  }
}

function goOnWith(key) {
  at("key").value = "";
  asked = false;
  useKey(key);
  showKeyForm();
}

keyForm.addEventListener("submit", (event) => {
  event.preventDefault();
  goOnWith(at("key").value.trim());
});
at("key-forget").addEventListener("click", () => goOnWith(""));
keyOpen.addEventListener("click", () => {
  asked = !asked;
  showKeyForm();
});

let latest;

/** States that come between two frames are shown as one. */
function show() {
  const { state, rates } = latest;
  latest = undefined;
  const colours = hues(state.models);
  say(at("version"), state.version);
  views.forEach((view) => view(state, rates, colours));
}

follow(
  (state) => {
    if (!latest) {
      requestAnimationFrame(show);
    }
    latest = { state, rates: recent.add(state) };
  },
  (heard, reason) => {
    status = heard;
    const [word, manner] = WORDS[status];
    say(at("status"), reason && (status === "refused" || hasKey()) ? reason : word);
    kind(at("status"), `pill ${manner}`);
    showKeyForm();
  });

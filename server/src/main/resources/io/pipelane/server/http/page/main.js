// Puts the page together.

import { devices } from "./devices.js";
import { kind, say } from "./dom.js";
import { follow, hasKey, useKey } from "./feed.js";
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
  workers(at("workers"), at("worker-note")),
];

const keyForm = at("key-form");
let status = "";
let asked = false;

function showKeyForm() {
  keyForm.hidden = status !== "key" && !asked;
  at("key-open").hidden = status === "key" || !hasKey();
  at("key-open").ariaExpanded = String(asked);
  at("key-forget").hidden = !hasKey();
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
at("key-open").addEventListener("click", () => {
  asked = !asked;
  showKeyForm();
  if (asked) {
    at("key").focus();
  }
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

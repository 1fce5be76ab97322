// Puts the page together.

import { devices } from "./devices.js";
import { say } from "./dom.js";
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

at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(at("key").value.trim());
  at("key").value = "";
});

follow(
  (state) => {
    const rates = recent.add(state);
    const colours = hues(state.models);
    say(at("version"), state.version);
    views.forEach((show) => show(state, rates, colours));
  },
  (status, reason) => {
    const [word, kind] = WORDS[status];
    say(at("status"), reason && (status === "refused" || hasKey()) ? reason : word);
    at("status").className = `pill ${kind}`;
    at("key-form").hidden = status !== "key";
  });

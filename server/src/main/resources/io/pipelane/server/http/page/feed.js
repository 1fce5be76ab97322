// The server's events, read as a stream so that an API key can be sent along.

import { key as nameOf } from "./rates.js";

const RETRY_MILLIS = 2000;

/** States come every second; a connection that brings none for so long has died unheard. */
const SILENCE_MILLIS = 10_000;
const KEY = "pipelane-api-key";

/** Ends when a try at a connection is to be given up for the next one. */
let current = new AbortController();

let key = stored();

/** What the tab's storage has; a browser may refuse it to the page. */
function stored() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** Puts the key into the tab's storage; answers whether the page finds it there when it starts anew. */
function store() {
  try {
    sessionStorage.setItem(KEY, key);
    return true;
  } catch {
    return false;
  }
}

/** The header fields that let a request in. */
export function credentials() {
  return key ? { Authorization: `Bearer ${key}` } : {};
}

export function hasKey() {
  return Boolean(key);
}

/**
 * Goes on with another key, or with none for an empty one. The page starts anew after a key, so that nothing stays of
 * what that one let in; but not where this would lose the new key.
 */
export function useKey(other) {
  const had = hasKey();
  key = other;
  const finds = store() || !key;
  if (had && finds) {
    location.reload();
  } else {
    current.abort();
  }
}

document.addEventListener("visibilitychange", () => current.abort());

/**
 * Tells every state that the server sends, and in a word how the connection does, with the server's
 * reason where it refuses; never ends. While nobody sees the page there is no connection.
 */
export async function follow(onState, onStatus) {
  for (;;) {
    current = new AbortController();
    const { signal } = current;
    const ended = new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (!document.hidden) {
      await listen(signal, onState, onStatus);
      setTimeout(() => current.signal === signal && current.abort(), RETRY_MILLIS);
    }
    await ended;
  }
}

/** Until the connection ends. */
async function listen(signal, onState, onStatus) {
  const silence = new AbortController();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MILLIS);
  };
  try {
    heard();
    const response = await fetch("v2/pipelane/changes",
      { headers: credentials(), signal: AbortSignal.any([signal, silence.signal]) });
    if (response.ok) {
      onStatus("live");
      await read(response.body, heard, onState);
      onStatus("offline");
    } else {
      const needsKey = response.status === 401 || response.status === 403;
      onStatus(needsKey ? "key" : "refused", await reason(response));
    }
  } catch {
    if (!signal.aborted) {
      onStatus("offline");
    }
  } finally {
    clearTimeout(timer);
  }
}

/** What an answer says of an error; empty where it says nothing. */
async function reason(response) {
  try {
    return (await response.json()).error ?? "";
  } catch {
    return "";
  }
}

async function read(body, heard, onState) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let state;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    heard();
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    if (events.length > 0) {
      state = events.reduce(following, state);
      onState(state);
    }
  }
}

/** The state that an event makes of the one before; "changes" has those models alone that have changed. */
function following(before, event) {
  const field = (name) => event.split("\n").find((line) => line.startsWith(name)).slice(name.length);
  const state = JSON.parse(field("data: "));
  if (field("event: ") === "changes") {
    const changed = new Map(state.models.map((model) => [nameOf(model), model]));
    state.models = before.models.map((model) => changed.get(nameOf(model)) ?? model);
  }
  return state;
}

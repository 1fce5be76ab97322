// What happened lately: differences between counts of one state and those of some seconds before.

const WINDOW_MILLIS = 5000;

/** Between states further apart nobody listened. */
const MOST_APART_MILLIS = 10_000;

/** Keeps the states of a window. */
export class Window {
  #states = [];

  /** Adds a state; answers what has happened since the oldest one kept. */
  add(state) {
    const last = this.#states.at(-1);
    const restarted = state.started_ms !== last?.started_ms;
    const missed = state.time_ms - last?.time_ms > MOST_APART_MILLIS;
    if (restarted || missed) {
      this.#states = [];
    }
    this.#states.push(state);
    while (this.#states.length > 2 && state.time_ms - this.#states[0].time_ms > WINDOW_MILLIS) {
      this.#states.shift();
    }
    return new Rates(this.#states[0], state);
  }
}

/** What happened between two states. */
export class Rates {
  constructor(before, now) {
    this.seconds = (now.time_ms - before.time_ms) / 1e3;
    this.limits = now.duration_limits_us;
    this.models = new Map();
    const earlier = new Map(before.models.map((model) => [key(model), model.requests]));
    const lately = [];
    for (const model of now.models) {
      // Counts of a version that was not listed then may be those of hours.
      const counts = earlier.has(key(model))
        ? difference(earlier.get(key(model)), model.requests)
        : undefined;
      lately.push(counts);
      this.models.set(key(model), this.#requests(counts));
    }
    const devices = new Map(before.devices.map((device) => [device.name, device]));
    this.devices = new Map(
      now.devices.map((device) => [device.name, this.#device(devices.get(device.name), device)]));
    this.all = this.#requests(sum(lately));
  }

  #per(count) {
    return this.seconds > 0 ? count / this.seconds : 0;
  }

  #requests(counts) {
    if (!counts) {
      return { rate: 0, failures: 0, mean: null, p99: null, stall: null, queue: null };
    }
    const count = counts.success;
    const mean = (name) => (count > 0 ? counts[name] / count / 1e9 : null);
    return {
      rate: this.#per(count),
      failures: this.#per(counts.failure),
      mean: mean("request_ns"),
      queue: mean("queue_ns"),
      stall: mean("stall_ns"),
      p99: this.#atMost(0.99, counts.durations, counts.request_ns),
    };
  }

  #device(before, now) {
    const since = (name) => this.#per(now[name] - (before ? before[name] : now[name]));
    return {
      switches: since("switches"),
      moved: since("moved_bytes"),
      ahead: since("fetched_ahead_bytes"),
      evicted: since("evicted_pages"),
    };
  }

  /**
   * What a quantile is at most: the limit of its bucket, or less where the durations' sum does not allow that many as
   * long, each of the others being no shorter than the lower limit of its own.
   */
  #atMost(share, counts, nanoseconds) {
    const total = counts.reduce((a, b) => a + b, 0);
    const rank = Math.ceil(share * total);
    let below = 0;
    let least = 0;
    for (let i = 0; i < counts.length; i++) {
      const low = i === 0 ? 0 : this.limits[i - 1];
      if (counts[i] > 0 && rank <= below + counts[i]) {
        least += (rank - 1 - below) * low;
        const mean = (nanoseconds / 1e3 - least) / (total - rank + 1);
        return Math.min(this.limits[i] ?? Infinity, Math.max(low, mean)) / 1e6;
      }
      below += counts[i];
      least += counts[i] * low;
    }
    return null;
  }
}

export function key(model) {
  return `${model.name}/${model.version}`;
}

const COUNTS = ["success", "failure", "request_ns", "queue_ns", "stall_ns"];

/** What has been added to a version's counts; nothing where no answer was. */
function difference(before, now) {
  if (!now || (before && now.success === before.success && now.failure === before.failure)) {
    return undefined;
  }
  const added = (later, earlier) => Math.max(0, later - (earlier ?? 0));
  const counts = Object.fromEntries(COUNTS.map((name) => [name, added(now[name], before?.[name])]));
  counts.durations = now.durations.map((d, i) => added(d, before?.durations[i]));
  return counts;
}

/** The counts of all versions together. */
function sum(versions) {
  const known = versions.filter((counts) => counts);
  if (known.length === 0) {
    return undefined;
  }
  const total = (read) => known.reduce((all, counts) => all + read(counts), 0);
  const counts = Object.fromEntries(COUNTS.map((name) => [name, total((of) => of[name])]));
  counts.durations = known[0].durations.map((_, i) => total((of) => of.durations[i]));
  return counts;
}

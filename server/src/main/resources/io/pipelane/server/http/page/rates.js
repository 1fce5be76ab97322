// What happened lately: differences between counts of one state and those of some seconds before.

const WINDOW_MILLIS = 5000;

/** Keeps the states of a window. */
export class Window {
  #states = [];

  /** Adds a state; answers what has happened since the oldest one kept. */
  add(state) {
    const restarted = this.#states.length > 0 && state.started_ms !== this.#states[0].started_ms;
    if (restarted) {
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
    for (const model of now.models) {
      this.models.set(key(model), this.#requests(earlier.get(key(model)), model.requests));
    }
    const devices = new Map(before.devices.map((device) => [device.name, device]));
    this.devices = new Map(
      now.devices.map((device) => [device.name, this.#device(devices.get(device.name), device)]));
    this.all = this.#requests(sum(before.models), sum(now.models));
  }

  #per(count) {
    return this.seconds > 0 ? count / this.seconds : 0;
  }

  #requests(before, now) {
    if (!now) {
      return { rate: 0, failures: 0, mean: null, p50: null, p99: null, stall: null, queue: null };
    }
    const since = (name) => now[name] - (before ? before[name] : 0);
    const count = since("success");
    const mean = (name) => (count > 0 ? since(name) / count / 1e9 : null);
    const durations = now.durations.map((d, i) => d - (before ? before.durations[i] : 0));
    return {
      rate: this.#per(count),
      failures: this.#per(since("failure")),
      mean: mean("request_ns"),
      queue: mean("queue_ns"),
      stall: mean("stall_ns"),
      p50: this.#quantile(durations, 0.5),
      p99: this.#quantile(durations, 0.99),
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

  /** Between the limits of its bucket a quantile is taken to grow evenly. */
  #quantile(counts, share) {
    const total = counts.reduce((a, b) => a + b, 0);
    if (total === 0) {
      return null;
    }
    let left = share * total;
    for (let i = 0; i < counts.length; i++) {
      if (left <= counts[i] && counts[i] > 0) {
        const low = i === 0 ? 0 : this.limits[i - 1];
        const high = i < this.limits.length ? this.limits[i] : low;
        return (low + (high - low) * (left / counts[i])) / 1e6;
      }
      left -= counts[i];
    }
    return null;
  }
}

export function key(model) {
  return `${model.name}/${model.version}`;
}

/** The counts of all models together. */
function sum(models) {
  const total = { success: 0, failure: 0, request_ns: 0, queue_ns: 0, stall_ns: 0, durations: [] };
  for (const { requests } of models) {
    if (requests) {
      for (const name of ["success", "failure", "request_ns", "queue_ns", "stall_ns"]) {
        total[name] += requests[name];
      }
      requests.durations.forEach((d, i) => {
        total.durations[i] = (total.durations[i] ?? 0) + d;
      });
    }
  }
  return total.durations.length > 0 ? total : undefined;
}

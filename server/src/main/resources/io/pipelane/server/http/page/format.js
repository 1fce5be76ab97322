// Figures as people read them.

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A number with about three digits; whole ones stay whole. */
export function figure(value) {
  if (Number.isInteger(value) && value < 100) {
    return String(value);
  }
  return value >= 100 ? WHOLE.format(value) : value.toPrecision(value >= 10 ? 3 : 2);
}

export function bytes(count) {
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < SIZES.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : figure(value)} ${SIZES[unit]}`;
}

/** A time as number and unit; nothing where there is none. */
export function time(seconds) {
  if (seconds === null) {
    return ["–", ""];
  }
  if (seconds < 1e-6) {
    return ["0", "ms"];
  }
  if (seconds < 1e-3) {
    return [figure(seconds * 1e6), "µs"];
  }
  return seconds < 1 ? [figure(seconds * 1e3), "ms"] : [figure(seconds), "s"];
}

/** A time that another one does not exceed. */
export function atMost(seconds) {
  const [number, unit] = time(seconds);
  return [seconds === null ? number : `≤ ${number}`, unit];
}

export function timeText(seconds) {
  return time(seconds).join(" ").trim();
}

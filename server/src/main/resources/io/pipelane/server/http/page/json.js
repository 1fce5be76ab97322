// JSON whose integers stay what they are written as, those included that no number here can be.

/** So many digits as no number may hold, with neither point nor exponent: fractions are read the quick way. */
const LONG_INTEGER = /(?<![\d.])\d{16,}(?![\d.eE])/;

/** As JSON.parse reads a text, but integers that a number would change are of type bigint. */
export function parse(text) {
  if (!LONG_INTEGER.test(text)) {
    return JSON.parse(text);
  }
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source)
      ? BigInt(context.source)
      : value);
}

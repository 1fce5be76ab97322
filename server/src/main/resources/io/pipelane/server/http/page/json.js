// JSON whose integers stay what they are written as, those included that no number here can be.

/** As JSON.parse reads a text, but integers that a number would change are of type bigint. */
export function parse(text) {
  if (!/\d{16}/.test(text)) {
    return JSON.parse(text);
  }
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source)
      ? BigInt(context.source)
      : value);
}

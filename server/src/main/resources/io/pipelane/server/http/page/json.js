// JSON whose integers stay what they are written as, those included that no number here can be.

/** So many digits as no number may hold, with neither point nor exponent: fractions are read the quick way. */
const LONG_INTEGER = /(?<![\d.])\d{16,}(?![\d.eE])/;

/** A string, or a long integer outside strings. */
const PIECE = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/**
 * As JSON.parse reads a text, but integers that a number would change are of type bigint. They are put into strings
 * first, since not every browser tells a reviver how a number is written.
 */
export function parse(text) {
  if (!LONG_INTEGER.test(text)) {
    return JSON.parse(text);
  }
  const mark = `${Math.random()}:`; // No string of the text begins with it.
  const marked = text.replace(PIECE, (piece) =>
    piece.startsWith('"') || Number.isSafeInteger(Number(piece)) ? piece : `"${mark}${piece}"`);
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value);
}

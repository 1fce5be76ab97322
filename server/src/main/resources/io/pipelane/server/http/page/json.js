// JSON whose integers stay what they are written as, those included that no number here can be.

/** So many digits as no number may hold, with neither point nor exponent: fractions are read the quick way. */
const LONG_INTEGER = /(?<![\d.])\d{16,}(?![\d.eE])/;

/** An escaped character, the begin or end of a string, or a long integer. */
const PIECE = /\\.|"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/**
 * As JSON.parse reads a text, but integers that a number would change are of type bigint. They are put into strings
 * first, since not every browser tells a reviver how a number is written.
 */
export function parse(text) {
  if (!LONG_INTEGER.test(text)) {
    return JSON.parse(text);
  }
  const mark = `${Math.random()}:`; // No string of the text begins with it.
  let inString = false;
  const marked = text.replace(PIECE, (piece) => {
    if (piece === '"') {
      inString = !inString;
    } else if (!inString && !Number.isSafeInteger(Number(piece))) {
      return `"${mark}${piece}"`;
    }
    return piece;
  });
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value);
}

package io.pipelane.loadgen.zoo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.SplittableRandom;

/**
 * Draws the values of weights. They depend on the seed and the weight's name alone, so another seed
 * gives a variant of the same structure, and a model's file is the same whenever it is written.
 */
final class WeightSource {
  private static final int CHUNK = 1 << 20;
  private static final int FRACTION_BITS = 24;
  private static final float FRACTION_UNIT = 0x1p-24f;

  private final long seed;
  private final ByteBuffer chunk = ByteBuffer.allocate(CHUNK).order(ByteOrder.LITTLE_ENDIAN);

  WeightSource(long seed) {
    this.seed = seed;
  }

  /** Receives the first {@code length} of some bytes, which are valid during the call. */
  interface Sink {
    void write(byte[] bytes, int length) throws IOException;
  }

  /** Hands over a weight's values as ONNX stores them, little-endian, in pieces. */
  void draw(Weight weight, Sink sink) throws IOException {
    SplittableRandom random =
        new SplittableRandom(seed * 0x9E3779B97F4A7C15L + hash(weight.name()));
    float low = weight.values().low();
    float unit = (weight.values().high() - low) * FRACTION_UNIT;
    for (long left = weight.elements(); left > 0; ) {
      int count = (int) Math.min(left, CHUNK / Float.BYTES);
      fill(random, count, low, unit);
      sink.write(chunk.array(), count * Float.BYTES);
      left -= count;
    }
  }

  /** Each random number serves two values. */
  private void fill(SplittableRandom random, int count, float low, float unit) {
    for (int i = 0; i < count; i += 2) {
      long bits = random.nextLong();
      chunk.putFloat(i * Float.BYTES, low + unit * (bits >>> (Long.SIZE - FRACTION_BITS)));
      if (i + 1 < count) {
        int lower = (int) bits >>> (Integer.SIZE - FRACTION_BITS);
        chunk.putFloat((i + 1) * Float.BYTES, low + unit * lower);
      }
    }
  }

  /** FNV-1a, 64 bits wide: {@link String#hashCode} would give some names the same values. */
  private static long hash(String name) {
    long hash = 0xcbf29ce484222325L;
    for (int i = 0; i < name.length(); i++) {
      hash = (hash ^ name.charAt(i)) * 0x100000001b3L;
    }
    return hash;
  }
}

package io.pipelane.loadgen.zoo.graph;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.SplittableRandom;

/**
 * The source of weights' values, which are drawn. They depend on the seed and the weight's name
 * alone, so another seed gives a variant of the same structure, and a model's file is the same
 * whenever it is written.
 */
public final class WeightSource {
  /** Values at a time; even, and more than any group. */
  private static final int CHUNK = 1 << 18;

  private static final int FRACTION_BITS = 24;
  private static final float FRACTION_UNIT = 0x1p-24f;

  private final long seed;
  private final float[] values = new float[CHUNK];
  private final ByteBuffer bytes =
      ByteBuffer.allocate(CHUNK * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);

  public WeightSource(long seed) {
    this.seed = seed;
  }

  /** A receiver of the first {@code length} of some bytes, which are valid during the call. */
  interface Sink {
    void write(byte[] bytes, int length) throws IOException;
  }

  /** Hands over a weight's values as ONNX stores them, little-endian, in pieces. */
  void draw(Weight weight, Sink sink) throws IOException {
    SplittableRandom random =
        new SplittableRandom(seed * 0x9E3779B97F4A7C15L + hash(weight.name()));
    Range range = weight.values();
    int group = Math.max(1, range.group());
    int piece = CHUNK / group * group;
    for (long left = weight.elements(); left > 0; ) {
      int count = (int) Math.min(left, piece);
      fill(random, range, count);
      for (int first = 0; range.group() > 0 && first < count; first += group) {
        centre(first, first + group);
      }
      bytes.asFloatBuffer().put(values, 0, count);
      sink.write(bytes.array(), count * Float.BYTES);
      left -= count;
    }
  }

  /** Each random number serves two values. */
  private void fill(SplittableRandom random, Range range, int count) {
    float low = range.low();
    float unit = (range.high() - low) * FRACTION_UNIT;
    for (int i = 0; i < count; i += 2) {
      long bits = random.nextLong();
      values[i] = low + unit * (bits >>> (Long.SIZE - FRACTION_BITS));
      values[i + 1] = low + unit * ((int) bits >>> (Integer.SIZE - FRACTION_BITS));
    }
  }

  private void centre(int first, int end) {
    double sum = 0;
    for (int i = first; i < end; i++) {
      sum += values[i];
    }
    float mean = (float) (Range.CENTRING * sum / (end - first));
    for (int i = first; i < end; i++) {
      values[i] -= mean;
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

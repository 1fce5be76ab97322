package io.pipelane.lanes;

import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.Random;

/** Weights that are an array. */
public final class BytesSource implements WeightSource {
  private final byte[] bytes;

  public BytesSource(byte[] bytes) {
    this.bytes = bytes;
  }

  /** Random bytes, the same for the same seed. */
  public static BytesSource random(int size, long seed) {
    byte[] bytes = new byte[size];
    new Random(seed).nextBytes(bytes);
    return new BytesSource(bytes);
  }

  public byte[] bytes() {
    return bytes;
  }

  @Override
  public long byteSize() {
    return bytes.length;
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    MemorySegment.copy(
        MemorySegment.ofArray(bytes), offset, destination, 0, destination.byteSize());
  }

  @Override
  public void close() {}
}

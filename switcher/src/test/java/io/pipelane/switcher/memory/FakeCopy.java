package io.pipelane.switcher.memory;

import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;

/** A copy to a fake device, which the test has carried out. */
record FakeCopy(
    WeightSource source,
    long sourceOffset,
    FakeDevice.Range range,
    long rangeOffset,
    int bytes,
    FakeEvent event) {
  FakeCopy(
      WeightSource source, long sourceOffset, FakeDevice.Range range, long rangeOffset, int bytes) {
    this(source, sourceOffset, range, rangeOffset, bytes, new FakeEvent());
  }

  void carryOut() {
    byte[] content = new byte[bytes];
    source.read(sourceOffset, MemorySegment.ofArray(content));
    for (int i = 0; i < bytes; i++) {
      range.put(rangeOffset + i, content[i]);
    }
  }
}

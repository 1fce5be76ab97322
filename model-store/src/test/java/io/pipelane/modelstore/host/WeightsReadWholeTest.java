package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class WeightsReadWholeTest {
  private static final int BYTES = 1_000;

  private final List<String> done = new ArrayList<>();
  private final WeightSource weights = new WeightsReadWhole(model -> new Noted()).open(model());

  private final class Noted implements WeightSource {
    @Override
    public long byteSize() {
      return BYTES;
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      done.add("read " + offset + "+" + destination.byteSize());
    }

    @Override
    public Optional<MemorySegment> memory() {
      return Optional.of(MemorySegment.NULL);
    }

    @Override
    public boolean isInMemory(long offset, long bytes) {
      return bytes < BYTES;
    }

    @Override
    public void bringIntoMemory(long offset, long bytes) {
      done.add("bring " + offset + "+" + bytes);
    }

    @Override
    public void close() {
      done.add("close");
    }
  }

  private static ImportedModel model() {
    Plan plan =
        new Plan(
            "structure",
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            BYTES,
            0,
            0,
            Padding.notApplicable("there is nothing to pad"),
            Batching.notApplicable("there is nothing to run together"),
            false,
            0,
            false,
            List.of());
    Path nowhere = Path.of("nowhere");
    return new ImportedModel(new ModelVersion("m", 1), plan, nowhere, nowhere);
  }

  @Test
  void read_theFirstTime_allIsBroughtIntoMemoryBefore() {
    MemorySegment target = Arena.ofAuto().allocate(10);
    weights.read(20, target);
    weights.read(30, target);
    weights.close();
    assertEquals(List.of("bring 0+1000", "read 20+10", "read 30+10", "close"), done);
  }

  @Test
  void memory_isThereOnceAllIs() {
    assertFalse(weights.isInMemory(0, 10));
    assertEquals(Optional.empty(), weights.memory());
    weights.bringIntoMemory(0, 10);
    assertTrue(weights.isInMemory(0, 10));
    assertEquals(Optional.of(MemorySegment.NULL), weights.memory());
  }
}

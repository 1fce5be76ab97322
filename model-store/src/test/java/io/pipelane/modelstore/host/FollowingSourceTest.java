package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is in memory of weights that are on their way there. */
@Timeout(60)
class FollowingSourceTest {
  private static final int BYTES = 1_000;

  private final Filling filling = new Filling();
  private final NotedSource file = new NotedSource();
  private final FollowingSource source = new FollowingSource(filling, file, Optional::empty);

  /** A file none of which is in memory, and what was brought there. */
  private static final class NotedSource implements WeightSource {
    final List<String> brought = new ArrayList<>();

    @Override
    public long byteSize() {
      return BYTES;
    }

    @Override
    public void read(long offset, MemorySegment destination) {}

    @Override
    public boolean isInMemory(long offset, long bytes) {
      return !brought.isEmpty();
    }

    @Override
    public void bringIntoMemory(long offset, long bytes) {
      brought.add(offset + "+" + bytes);
    }

    @Override
    public void close() {}
  }

  @Test
  void isInMemory_isSoAsFarAsItHasCome() {
    assertFalse(source.isInMemory(0, 10));
    filling.begun(Arena.ofAuto().allocate(BYTES));
    filling.came(0, 100);
    assertTrue(source.isInMemory(90, 10));
    assertFalse(source.isInMemory(90, 11));
  }

  @Test
  void bringIntoMemory_waitsForWhoeverLoadsIt() throws Exception {
    FutureTask<Void> task = new FutureTask<>(() -> source.bringIntoMemory(90, 20), null);
    Thread thread = Thread.ofPlatform().start(task);
    while (thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    filling.begun(Arena.ofAuto().allocate(BYTES));
    filling.came(0, 100);
    assertFalse(task.isDone());
    filling.came(100, 200);
    task.get();
    assertEquals(List.of(), file.brought, "the disk is read once");
  }

  @Test
  void bringIntoMemory_nothingIsKept_readsTheFile() {
    filling.end();
    source.bringIntoMemory(90, 20);
    assertEquals(List.of("90+20"), file.brought);
    assertTrue(source.isInMemory(90, 20));
  }

  @Test
  void bringIntoMemory_interrupted_readsTheFile() {
    Thread.currentThread().interrupt();
    source.bringIntoMemory(0, 10);
    assertTrue(Thread.interrupted());
    assertEquals(List.of("0+10"), file.brought);
  }
}

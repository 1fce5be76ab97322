package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.StructureRange;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of sessions that grow in a run, in ten MiB of working memory. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // build() fills the fields.
class SessionPoolTest extends SessionsFixture {
  private final EphemeralRegion lane = lanes.regions().getFirst();
  private final Growing factory = new Growing();
  private final SessionPool pool =
      new SessionPool(table, factory, device.persistent(), System::nanoTime);
  private final List<String> closed = new ArrayList<>();
  private final ImportedModel ready = model("ready");
  private StructureRange readyRange;
  private Session readySession;

  private final class Growing implements SessionFactory {
    long bytes;
    @Nullable Session latest;

    @Override
    public boolean boundToLane() {
      return true;
    }

    @Override
    public ModelSession gated(
        ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
      Session session = new Session(model.version().model(), bytes);
      latest = session;
      return session;
    }

    @Override
    public String runtimeVersion() {
      return "none";
    }

    @Override
    public void close() {}
  }

  private final class Session extends NeverRun {
    private final String name;
    private final long leastBytes;
    long bytes;

    Session(String name, long bytes) {
      this.name = name;
      this.leastBytes = bytes;
      this.bytes = bytes;
    }

    @Override
    public long frameworkBytes() {
      return bytes;
    }

    @Override
    public void shrink() {
      bytes = leastBytes;
    }

    @Override
    public void close() {
      closed.add(name);
    }
  }

  /** One that was asked for, of five MiB, and one that stands ready, of three. */
  @BeforeEach
  void build() {
    ImportedModel asked = model("asked");
    factory.bytes = 5 * MIB;
    pool.giveBack(pool.take(asked, join(asked), lane, Priority.ONLINE));
    readyRange = join(ready);
    factory.bytes = 3 * MIB;
    pool.buildAhead(ready, readyRange, lane, Priority.ONLINE);
    readySession = Objects.requireNonNull(factory.latest);
    assertEquals(2 * MIB, lanes.freeBytes());
  }

  private PooledSession takeReady() {
    return Objects.requireNonNull(pool.takeReady(readyRange, lane));
  }

  @Test
  void runAhead_growsIntoWhatIsFree_andKeepsIt() {
    PooledSession session = takeReady();
    readySession.bytes = 5 * MIB;
    pool.giveBackReady(session);
    assertEquals(0, lanes.freeBytes());
    assertEquals(List.of(), closed);
  }

  @Test
  void runAhead_growsBeyondWhatIsFree_doesWithLess_andNobodyGivesWay() {
    PooledSession session = takeReady();
    readySession.bytes = 6 * MIB;
    pool.giveBackReady(session);
    assertEquals(2 * MIB, lanes.freeBytes());
    assertEquals(List.of(), closed);
  }

  @Test
  void runThatWasAskedFor_growsBeyondWhatIsFree_hasOthersGiveWay() {
    PooledSession session = pool.take(ready, readyRange, lane, Priority.ONLINE);
    readySession.bytes = 6 * MIB;
    pool.giveBack(session);
    assertEquals(4 * MIB, lanes.freeBytes());
    assertEquals(List.of("asked"), closed);
  }

  @Test
  void takeReady_theSessionHasLeft_buildsNone() {
    table.evictIdle(5 * MIB);
    assertEquals(List.of("ready"), closed);
    assertNull(pool.takeReady(readyRange, lane));
    assertEquals(5 * MIB, lanes.freeBytes());
  }
}

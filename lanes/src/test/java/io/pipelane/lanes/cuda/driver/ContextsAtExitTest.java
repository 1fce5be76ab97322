package io.pipelane.lanes.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process that ends with contexts open. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ContextsAtExitTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  private final List<Thread> hooks = new ArrayList<>();
  private final List<String> done = new CopyOnWriteArrayList<>();

  private ContextsAtExit contexts(Duration longest) {
    return new ContextsAtExit(hooks::add, longest);
  }

  private final class Context implements ContextsAtExit.Held {
    private final String name;
    private final CountDownLatch computes;

    Context(String name, CountDownLatch computes) {
      this.name = name;
      this.computes = computes;
    }

    @Override
    public void finish() {
      try {
        computes.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      done.add(name + " has finished");
    }

    @Override
    public void release() {
      done.add(name + " is released");
    }
  }

  private Context idle(String name) {
    return new Context(name, new CountDownLatch(0));
  }

  private void exit() throws InterruptedException {
    for (Thread hook : hooks) {
      hook.start();
      hook.join();
    }
  }

  @Test
  void exit_contextsAreOpen_allFinishBeforeAnyIsReleased() throws Exception {
    ContextsAtExit contexts = contexts(LONG);
    Context closed = idle("closed");
    contexts.opened(closed);
    contexts.opened(idle("a"));
    contexts.opened(idle("a"));
    contexts.closed(closed);
    assertEquals(1, hooks.size());
    exit();
    assertEquals(
        List.of("a has finished", "a has finished", "a is released", "a is released"), done);
  }

  @Test
  void requireGoesOn_isRefusedFromTheEndOn() throws Exception {
    ContextsAtExit contexts = contexts(LONG);
    contexts.opened(idle("a"));
    assertDoesNotThrow(contexts::requireGoesOn);
    exit();
    StatusException refused = assertThrows(StatusException.class, contexts::requireGoesOn);
    assertEquals(Status.CANCELLED, refused.status());
    assertThrows(StatusException.class, () -> contexts.opened(idle("b")));
  }

  @Test
  void exit_deviceIsNotDone_leavesIt() throws Exception {
    ContextsAtExit contexts = contexts(Duration.ofMillis(20));
    contexts.opened(new Context("endless", new CountDownLatch(1)));
    exit();
    assertEquals(List.of(), done);
  }

  @Test
  void exit_anOwnerSeesToIt_doesNothing() throws Exception {
    ContextsAtExit contexts = contexts(LONG);
    contexts.opened(idle("a"));
    contexts.leaveToOwner();
    exit();
    assertEquals(List.of(), done);
    assertDoesNotThrow(contexts::requireGoesOn);
  }
}

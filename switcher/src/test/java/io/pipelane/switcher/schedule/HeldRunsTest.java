package io.pipelane.switcher.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HeldRunsTest {
  private static final class End implements ResultHandler {
    final CompletableFuture<StatusException> error = new CompletableFuture<>();

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void completed(InferenceTimings timings) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void failed(StatusException failure) {
      error.complete(failure);
    }
  }

  /** Before the run itself begins, too: whoever holds the weights would hold them for ever. */
  @Test
  void submit_memoryIsShortForTheRun_itsCallerIsTold() {
    OutOfMemoryError shortage = new OutOfMemoryError("on demand");
    HeldRuns runs = new HeldRuns(1);
    for (int i = 0; i < 2; i++) {
      End end = new End();
      runs.submit(
          new Answer(new ModelVersion("m", 1), end),
          () -> {
            throw shortage;
          });
      StatusException error = end.error.join();
      assertEquals(Status.INTERNAL, error.status());
      assertSame(shortage, error.getCause());
    }
    assertTrue(runs.join(Duration.ofSeconds(30)));
  }
}

package io.pipelane.server.hosts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LocalLoadTest {
  private static final InferenceRequest REQUEST =
      new InferenceRequest(new ModelVersion("m", 1), List.of(), List.of());

  private final List<ResultHandler> running = new ArrayList<>();
  private @Nullable StatusException refusal;
  private int lanes = 2;
  private boolean usable = true;
  private @Nullable StatusException failure;
  private final InferenceService devices =
      new InferenceService() {
        @Override
        public Ticket submit(InferenceRequest request, ResultHandler handler) {
          if (refusal != null) {
            throw refusal;
          }
          running.add(handler);
          return Ticket.ENDED;
        }

        @Override
        public boolean isUsable() {
          return usable;
        }
      };
  private final LocalLoad load = new LocalLoad(devices, _ -> 100, () -> lanes);

  private void submit(InferenceRequest request) {
    InferenceService.Ticket _ = load.submit(request, new Nothing());
  }

  private static InferenceTimings took(long executeNanos, long stallNanos) {
    return new InferenceTimings(0, stallNanos, executeNanos);
  }

  @Test
  void wait_isNothingWhileALaneIsFree_thenWhatAllLanesHaveToDo() {
    submit(REQUEST);
    running.removeFirst().completed(took(1_300, 300));
    assertEquals(1_000, load.runNanos());
    submit(REQUEST);
    assertEquals(0, load.waitNanos());
    submit(REQUEST);
    assertEquals((1_100 + 1_000) / 2, load.waitNanos());
    submit(REQUEST);
    assertEquals((1_100 + 1_000 + 1_000) / 2, load.waitNanos());
    running.removeFirst().failed(new StatusException(Status.CANCELLED, "gone"));
    running.removeFirst().completed(took(1_000, 0));
    assertEquals(0, load.waitNanos());
    running.removeFirst().completed(took(1_000, 0));
    assertEquals(0, load.waitNanos());
  }

  @Test
  void lostDevice_leavesFewerLanes() {
    submit(REQUEST);
    assertEquals(0, load.waitNanos());
    lanes = 1;
    assertEquals(100, load.waitNanos());
    assertEquals(1, load.lanes());
  }

  @Test
  void whatIsRefusedOrOffline_countsNothing() {
    submit(REQUEST.offline());
    submit(REQUEST.offline());
    refusal = new StatusException(Status.UNAVAILABLE, "full");
    assertThrows(StatusException.class, () -> submit(REQUEST));
    assertThrows(StatusException.class, () -> submit(REQUEST));
    assertEquals(0, load.waitNanos());
  }

  @Test
  void failureOfADevice_isTheHosts_onceNoDeviceIsLeft() {
    StatusException lost = new StatusException(Status.DEVICE_FAILURE, "the GPU is lost");
    for (InferenceRequest request : List.of(REQUEST, REQUEST.offline())) {
      usable = true;
      submit(request);
      running.removeFirst().failed(lost);
      assertEquals(Status.DEVICE_FAILURE, failed().status());
      usable = false;
      submit(request);
      running.removeFirst().failed(lost);
      assertEquals(Status.UNAVAILABLE, failed().status());
      assertNotNull(failed().retryAfter());
      submit(request);
      running.removeFirst().failed(new StatusException(Status.CANCELLED, "gone"));
      assertEquals(Status.CANCELLED, failed().status());
      refusal = lost;
      StatusException refused = assertThrows(StatusException.class, () -> submit(request));
      assertEquals(Status.UNAVAILABLE, refused.status());
      refusal = null;
    }
    assertEquals(0, load.waitNanos());
  }

  private StatusException failed() {
    return Objects.requireNonNull(failure, "nothing has failed");
  }

  /** Keeps the latest failure; nobody wants the results. */
  private final class Nothing implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return MemorySegment.NULL;
    }

    @Override
    public void completed(InferenceTimings timings) {}

    @Override
    public void failed(StatusException error) {
      failure = error;
    }
  }
}

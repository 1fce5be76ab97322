package io.pipelane.server.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.KeptByAnotherVersion;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The content before, as long as sequences that began with it may go on. */
class EarlierContentsTest {
  private static final ModelVersion FIRST = new ModelVersion("m", 1);
  private static final ModelVersion SECOND = FIRST.nextEdition();
  private static final long MINUTE = Duration.ofMinutes(1).toNanos();

  private final AtomicLong now = new AtomicLong();
  private final EarlierContents earlier = new EarlierContents(now::get);
  private final List<ModelVersion> asked = new ArrayList<>();

  EarlierContentsTest() {
    earlier.keep(FIRST, SECOND);
  }

  /** A receiver that no answer comes to. */
  private static final class Nobody implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      throw new AssertionError("nothing runs");
    }

    @Override
    public void completed(InferenceTimings timings) {}

    @Override
    public void failed(StatusException error) {}
  }

  private static InferenceRequest step(boolean start) {
    return new InferenceRequest(
        SECOND,
        List.of(),
        List.of(),
        OptionalLong.empty(),
        Priority.ONLINE,
        Optional.of(new SequenceStep("s", start, false)));
  }

  private static Hold refusing(StatusException refusal) {
    return (_, _) -> {
      throw refusal;
    };
  }

  private Ticket submit(InferenceRequest request, StatusException refusal) {
    return earlier.submit(
        request,
        new Nobody(),
        refusing(refusal),
        (passed, _) -> {
          asked.add(passed.model());
          return Ticket.ENDED;
        });
  }

  private static StatusException refusal(Status status) {
    return new StatusException(status, "no");
  }

  @Test
  void stepThatTheLatestDoesNotKnow_goesToTheOneBefore() {
    assertSame(Ticket.ENDED, submit(step(false), refusal(Status.INVALID_ARGUMENT)));
    assertEquals(List.of(FIRST), asked);
  }

  @Test
  void whatBeginsAnew_orIsRefusedForAnotherReason_staysRefused() {
    StatusException unknown = refusal(Status.INVALID_ARGUMENT);
    assertSame(unknown, assertThrows(StatusException.class, () -> submit(step(true), unknown)));
    StatusException full = refusal(Status.UNAVAILABLE);
    assertSame(full, assertThrows(StatusException.class, () -> submit(step(false), full)));
    StatusException elsewhere = KeptByAnotherVersion.refusal(SECOND, new ModelVersion("m", 2));
    assertSame(
        elsewhere, assertThrows(StatusException.class, () -> submit(step(false), elsewhere)));
    assertEquals(List.of(), asked);
  }

  @Test
  void refusalOfTheOneBefore_isTold_unlessItHasJustLeft() {
    StatusException unknown = refusal(Status.INVALID_ARGUMENT);
    StatusException full = refusal(Status.UNAVAILABLE);
    assertSame(full, bothRefuse(unknown, full));
    assertSame(unknown, bothRefuse(unknown, refusal(Status.NOT_FOUND)));
  }

  private StatusException bothRefuse(StatusException latest, StatusException before) {
    return assertThrows(
        StatusException.class,
        () -> earlier.submit(step(false), new Nobody(), refusing(latest), refusing(before)));
  }

  @Test
  void oneWithoutAStepForAMinute_isIdle() {
    now.set(MINUTE - 1);
    Ticket _ = submit(step(false), refusal(Status.INVALID_ARGUMENT));
    now.set(2 * MINUTE - 2);
    assertFalse(earlier.isIdleBeside(SECOND), "a step came");
    assertEquals(List.of(), earlier.idle());
    now.set(2 * MINUTE - 1);
    assertTrue(earlier.isIdleBeside(SECOND));
    assertEquals(List.of(SECOND), earlier.idle());
    assertEquals(Optional.of(FIRST), earlier.remove(SECOND));
    assertEquals(Optional.empty(), earlier.remove(SECOND));
    assertFalse(earlier.isIdleBeside(SECOND));
  }
}

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
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The content before, as long as sequences that began with it may go on. */
class EarlierContentsTest {
  private static final ModelVersion FIRST = new ModelVersion("m", 1);
  private static final ModelVersion SECOND = FIRST.nextEdition();
  private static final long MINUTE = Duration.ofMinutes(1).toNanos();

  private final AtomicLong now = new AtomicLong();
  private final List<ModelVersion> asked = new ArrayList<>();
  private final Set<String> kept = new HashSet<>();
  private final EarlierContents earlier = new EarlierContents(new Kept(), now::get);

  EarlierContentsTest() {
    earlier.keep(FIRST, SECOND);
  }

  /** The sequences that the first content has, by their names. */
  private final class Kept implements EarlierContents.Sequences {
    @Override
    public boolean areOf(ModelVersion content) {
      return content.equals(FIRST) && !kept.isEmpty();
    }

    @Override
    public void end(ModelVersion content, SequenceStep step) {
      assertEquals(FIRST, content);
      boolean _ = kept.remove(step.id());
    }
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
  void whatBeginsAnew_endsInTheOneBefore_whateverBecomesOfItsStep() {
    kept.addAll(List.of("s", "t"));
    Ticket _ = submit(step(false), refusal(Status.INVALID_ARGUMENT));
    assertEquals(Set.of("s", "t"), kept);
    StatusException full = refusal(Status.INSUFFICIENT_MEMORY);
    assertSame(full, assertThrows(StatusException.class, () -> submit(step(true), full)));
    assertEquals(Set.of("t"), kept);
  }

  @Test
  void oneWithoutSequences_isIdle_onceThoseThatWereBeginningWouldBeThere() {
    now.set(MINUTE - 1);
    assertFalse(earlier.isIdleBeside(SECOND), "some may be about to begin");
    kept.add("s");
    now.set(10 * MINUTE);
    assertFalse(earlier.isIdleBeside(SECOND), "a step may come, or be under way");
    assertEquals(List.of(), earlier.idle());
    kept.clear();
    assertTrue(earlier.isIdleBeside(SECOND));
    assertEquals(List.of(SECOND), earlier.idle());
    assertEquals(Optional.of(FIRST), earlier.remove(SECOND));
    assertEquals(Optional.empty(), earlier.remove(SECOND));
    assertFalse(earlier.isIdleBeside(SECOND));
  }
}

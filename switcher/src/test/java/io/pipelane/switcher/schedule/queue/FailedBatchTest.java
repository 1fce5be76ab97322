package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class FailedBatchTest extends BatchFixture {
  @Test
  void failed_eachRunsAgainAlone() {
    Answer first = submit(1);
    Answer second = submit(2);
    QueuedRequest batch = take();
    assertEquals(2, rows(batch));

    batch.handler().failed(new StatusException(Status.INVALID_ARGUMENT, "an index is too large"));
    assertEquals(List.of(), ended);
    queue.close();
    QueuedRequest alone = take();
    assertEquals(1, rows(alone));
    alone.handler().failed(new StatusException(Status.INVALID_ARGUMENT, "an index is too large"));
    run(take());

    assertEquals(List.of(-1, 2), ended);
    assertEquals(Status.INVALID_ARGUMENT, first.failure);
    assertArrayEquals(new float[] {4}, second.values);
    assertEquals(null, queue.take());
    assertEquals(1, queue.overview().failedBatches());
  }

  /** Its members are asked elsewhere at once, and this device is asked nothing more. */
  @Test
  void failed_withItsDevice_isToldToAll() {
    queue.repeatWhile(() -> false);
    Answer first = submit(1);
    Answer second = submit(2);
    take().handler().failed(new StatusException(Status.DEVICE_FAILURE, "it is lost"));
    assertEquals(List.of(-1, -2), ended);
    assertEquals(Status.DEVICE_FAILURE, first.failure);
    assertEquals(Status.DEVICE_FAILURE, second.failure);
    queue.close();
    assertNull(queue.take());
  }

  @Test
  void failed_forWantOfMemory_smallerBatchesAreTried() {
    for (int i = 1; i <= 4; i++) {
      submit(i);
    }
    QueuedRequest batch = take();
    assertEquals(4, rows(batch));
    batch.handler().failed(new StatusException(Status.INSUFFICIENT_MEMORY, "too large"));
    for (int i = 0; i < 4; i++) {
      run(take());
    }
    for (int i = 1; i <= 4; i++) {
      submit(i);
    }
    assertEquals(2, rows(take()));
  }

  /** One's caller goes, and the model with the other's: it is told to ask for what follows. */
  @Test
  void cancelled_nobodyWantsTheBatch_eachIsToldItsOwnReason() {
    Answer first = new Answer(1);
    Answer second = new Answer(2);
    QueuedRequest cancelled = queue.submit(offline(1), first);
    queue.submit(offline(2), second);
    QueuedRequest batch = take();
    assertEquals(2, rows(batch));

    queue.leave(MODEL);
    cancelled.cancel();
    batch.handler().failed(assertThrows(StatusException.class, batch::requireWanted));

    assertEquals(List.of(-1, -2), ended);
    assertEquals(Status.CANCELLED, first.failure);
    assertEquals(Status.UNAVAILABLE, second.failure);
  }

  private static InferenceRequest offline(float value) {
    return request(1, value, OptionalLong.empty(), Priority.OFFLINE, "y");
  }
}

package io.pipelane.server.access;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.net.CapturedLog;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RefusedCredentialsTest {
  private final AtomicLong clock = new AtomicLong(-5);
  private final RefusedCredentials refused = new RefusedCredentials(clock::get);

  @Test
  void refusals_areToldOnceAMinuteWithTheirNumber() {
    try (CapturedLog log = new CapturedLog()) {
      for (int i = 0; i < 3; i++) {
        refuse();
      }
      clock.addAndGet(RefusedCredentials.PAUSE.toNanos() - 1);
      refuse();
      assertEquals(List.of(1L), counts(log));
      clock.addAndGet(1);
      refuse();
      assertEquals(List.of(1L, 4L), counts(log));
    }
  }

  private void refuse() {
    refused.add(new StatusException(Status.UNAUTHENTICATED, "the API key is not known"));
  }

  private static List<Long> counts(CapturedLog log) {
    return log.texts(RefusedCredentials.class).stream()
        .map(text -> Long.parseLong(text.replaceAll("\\D", "")))
        .toList();
  }
}

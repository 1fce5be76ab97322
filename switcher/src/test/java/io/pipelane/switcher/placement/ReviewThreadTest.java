package io.pipelane.switcher.placement;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReviewThreadTest {
  @Test
  void aLookThatFails_isFollowedByOthers() {
    AtomicInteger looks = new AtomicInteger();
    Runnable review =
        () -> {
          switch (looks.incrementAndGet()) {
            case 1 -> throw new IllegalStateException("on purpose");
            case 2 -> throw new OutOfMemoryError("on purpose");
            default -> {}
          }
        };
    try (ReviewThread _ = new ReviewThread("failing", review, Duration.ofMillis(1))) {
      TestMembers.await(() -> looks.get() >= 4);
    }
  }
}

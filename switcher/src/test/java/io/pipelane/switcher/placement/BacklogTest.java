package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import org.junit.jupiter.api.Test;

class BacklogTest {
  private final Backlog backlog = new Backlog(2);

  @Test
  void waitNanos_whileALaneIsFree_isNothing() {
    backlog.came(Priority.ONLINE, 100);
    assertEquals(0, backlog.waitNanos(Priority.ONLINE));
  }

  @Test
  void waitNanos_withoutAFreeLane_isSharedByTheLanes() {
    backlog.came(Priority.ONLINE, 100);
    backlog.came(Priority.ONLINE, 300);
    assertEquals(200, backlog.waitNanos(Priority.ONLINE));
    backlog.left(Priority.ONLINE, 100);
    assertEquals(0, backlog.waitNanos(Priority.ONLINE));
  }

  @Test
  void waitNanos_onlinePassesOffline() {
    backlog.came(Priority.OFFLINE, 1000);
    backlog.came(Priority.OFFLINE, 1000);
    assertEquals(0, backlog.waitNanos(Priority.ONLINE));
    backlog.came(Priority.ONLINE, 10);
    assertEquals(1005, backlog.waitNanos(Priority.OFFLINE));
    assertEquals(3, backlog.requests());
  }
}

package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertNull;

import io.pipelane.lanes.descriptors.UnixSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What needs no device: nobody is given anything. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PageHandoverTest {
  private static final int NO_KIND = 9;

  @Test
  @SuppressWarnings("NullAway") // Pages are looked for once the question is understood.
  void peerThatSaysNothing_keepsNobodyFromAnAnswer() {
    try (PageHandover handover = new PageHandover(null, null, null);
        UnixSocket _ = UnixSocket.connect(handover.name());
        UnixSocket asking = UnixSocket.connect(handover.name())) {
      asking.sendNumbers(NO_KIND, 0, 1);
      assertNull(asking.receive());
    }
  }
}

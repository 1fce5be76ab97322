package io.pipelane.server.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OpenPartsTest {
  private final OpenParts parts = new OpenParts();
  private final List<String> closed = new ArrayList<>();

  private AutoCloseable part(String name) {
    return () -> closed.add(name);
  }

  @Test
  void close_closesTheLatestFirst() {
    AutoCloseable _ = parts.add(part("device"));
    AutoCloseable _ = parts.add(part("server"));
    parts.close();
    assertEquals(List.of("server", "device"), closed);
    assertTrue(parts.isEmpty());
  }

  @Test
  void add_toldToStop_refusesAndClosesThatPartWithTheOthers() {
    AutoCloseable _ = parts.add(part("device"));
    parts.stop();
    StatusException refused = assertThrows(StatusException.class, () -> parts.add(part("workers")));
    assertEquals(Status.CANCELLED, refused.status());
    parts.closeAfter(refused);
    assertEquals(List.of("workers", "device"), closed);
  }
}

package io.pipelane.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class WorkersCommandTest {
  private final ObjectNode worker = new ObjectMapper().createObjectNode();
  private final ArrayNode models = worker.putArray("models");

  private void built(String name, int sessions) {
    models.addObject().put("name", name).put("version", "1").put("sessions", sessions);
  }

  @Test
  void models_areListedWithTheirSessionsWhereThereAreSeveral() {
    assertEquals("", WorkersCommand.models(worker));
    built("a", 1);
    built("b", 4);
    assertEquals("a/1, b/1 x4", WorkersCommand.models(worker));
  }

  @Test
  void models_thatAreMany_areCounted() {
    for (int i = 0; i < 10; i++) {
      built("m" + i, 1);
    }
    worker.put("more_models", 30);
    assertEquals(
        "m0/1, m1/1, m2/1, m3/1, m4/1, m5/1, m6/1, m7/1, 32 more", WorkersCommand.models(worker));
  }
}

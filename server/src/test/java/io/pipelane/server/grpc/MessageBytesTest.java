package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.net.ScantMemory;
import org.junit.jupiter.api.Test;

class MessageBytesTest {
  @Test
  void messageWithoutRoom_isRefusedForNow() {
    ModelInferResponse message = ModelInferResponse.newBuilder().setId("7".repeat(200)).build();
    StatusException refusal =
        assertThrows(StatusException.class, () -> MessageBytes.of(message, new ScantMemory(100)));
    assertEquals(Status.UNAVAILABLE, refusal.status());
  }
}

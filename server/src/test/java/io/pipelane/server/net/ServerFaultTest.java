package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class ServerFaultTest {
  @Test
  void reasonThatAnOperationGives_isAnsweredAsItIs() {
    StatusException reason = new StatusException(Status.NOT_FOUND, "no model");
    assertSame(reason, ServerFault.unlessSaid(reason));
    assertSame(reason, ServerFault.unlessSaid(new CompletionException(reason)));
  }

  @Test
  void whatNobodyForesaw_isAnsweredWithoutItsDetails() {
    Exception cause = new IllegalStateException("secret");
    StatusException fault = ServerFault.unlessSaid(new CompletionException(cause));
    assertEquals(Status.INTERNAL, fault.status());
    assertEquals("a fault of the server (IllegalStateException)", fault.getMessage());
    assertSame(cause, fault.getCause());
  }
}

package io.pipelane.server.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pipelane.config.StatusException;
import io.pipelane.server.protocol.inference.RequestTimeout;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RequestTimeoutTest {
  private static long micros(String json) {
    ByteBuf bytes = Unpooled.copiedBuffer("{}" + json, StandardCharsets.UTF_8).readerIndex(2);
    long micros = RequestTimeout.microsIn(bytes);
    assertEquals(2, bytes.readerIndex());
    return micros;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "{\"inputs\":[{\"timeout\":3}],\"parameters\":{\"a\":\"b\",\"timeout\":20}}; 20",
        "{\"parameters\":{\"timeout\":7},\"inputs\":[[1],{\"parameters\":{\"timeout\":9}}]}; 7",
        "{\"inputs\":[{\"parameters\":{\"timeout\":9}}]}; 0",
        "{\"parameters\":null,\"id\":\"timeout\",\"timeout\":5}; 0",
        "{\"inputs\":[; 0"
      })
  void timeout_isTheRequestsOwn(String json, long micros) {
    assertEquals(micros, micros(json));
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "\"1\"", "1.5", "1e30"})
  void valueThatIsNoTimeout_isRefused(String value) {
    assertThrows(
        StatusException.class, () -> micros("{\"parameters\":{\"timeout\":" + value + "}}"));
  }

  @Test
  void textThatIsNoRequest_isRefused() {
    assertThrows(StatusException.class, () -> micros("[\"timeout\"]"));
  }
}

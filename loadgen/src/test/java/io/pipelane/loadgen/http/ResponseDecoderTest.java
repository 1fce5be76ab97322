package io.pipelane.loadgen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pipelane.loadgen.result.Warmth;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ResponseDecoderTest {
  private static final String SEVERAL =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
          + "HTTP/1.1 100 Continue\r\n\r\n"
          + "HTTP/1.1 503 Service Unavailable\r\ncontent-length:4 \r\nConnection: Close\r\n\r\nfull"
          + "HTTP/1.1 204 No Content\r\n\r\n"
          + "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n"
          + "INFERENCE-HEADER-CONTENT-LENGTH: 3\r\n\r\n"
          + "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
          + "HTTP/1.0 200 OK\nContent-Length: 0\n\n";

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 7, 11, 64, 10_000})
  void decode_anyFragments_sameResponses(int fragment) throws Exception {
    ResponseDecoder decoder = new ResponseDecoder(true);
    List<String> responses = new ArrayList<>();
    byte[] bytes = SEVERAL.getBytes(StandardCharsets.ISO_8859_1);
    for (int from = 0; from < bytes.length; from += fragment) {
      ByteBuf in = Unpooled.wrappedBuffer(bytes, from, Math.min(fragment, bytes.length - from));
      while (in.isReadable()) {
        if (decoder.decode(in)) {
          responses.add(describe(decoder));
        }
      }
    }

    assertEquals(
        List.of(
            "200 json=-1 closing=false hello",
            "503 json=-1 closing=true full",
            "204 json=-1 closing=false ",
            "200 json=3 closing=false abc0123456789",
            "200 json=-1 closing=true "),
        responses);
  }

  @ParameterizedTest
  @CsvSource({"'', UNTOLD", "Pipelane-Stall-Us: 0, WARM", "pipelane-stall-us:1250, COLD"})
  void decode_stallHeader_saysWhetherTheModelWasCold(String header, Warmth expected)
      throws Exception {
    ResponseDecoder decoder = new ResponseDecoder(false);
    String head = header.isEmpty() ? "" : header + "\r\n";

    assertTrue(decoder.decode(bytes("HTTP/1.1 200 OK\r\n" + head + "Content-Length: 0\r\n\r\n")));

    assertEquals(expected, decoder.warmth());
  }

  @Test
  void decode_bodiesUnwanted_keepsThoseOfErrors() throws Exception {
    ResponseDecoder decoder = new ResponseDecoder(false);

    assertTrue(decoder.decode(bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")));
    assertEquals("200 json=-1 closing=false ", describe(decoder));
    assertTrue(decoder.decode(bytes("HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad")));
    assertEquals("400 json=-1 closing=false bad", describe(decoder));
  }

  @Test
  void decodeEnd_lengthNotAnnounced_completes() throws Exception {
    ResponseDecoder decoder = new ResponseDecoder(true);

    assertFalse(decoder.decode(bytes("HTTP/1.1 200 OK\r\n\r\nto the end")));
    assertTrue(decoder.decodeEnd());
    assertEquals("200 json=-1 closing=true to the end", describe(decoder));
  }

  @Test
  void decodeEnd_insideBody_doesNotComplete() throws Exception {
    ResponseDecoder decoder = new ResponseDecoder(true);

    assertFalse(decoder.decode(bytes("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")));
    assertFalse(decoder.decodeEnd());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/2 200 OK\r\n",
        "HTTP/1.1 2x0 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"
      })
  void decode_malformed_refused(String response) {
    assertThrows(
        MalformedResponseException.class, () -> new ResponseDecoder(true).decode(bytes(response)));
  }

  @Test
  void decode_bytesThatActOnATerminal_areNotRepeated() {
    MalformedResponseException refused =
        assertThrows(
            MalformedResponseException.class,
            () -> new ResponseDecoder(true).decode(bytes("\u0000\u001b[2Jgone\r\n")));

    assertEquals("not an HTTP/1.x response: \" [2jgone\"", refused.getMessage());
  }

  @Test
  void decode_endlessHead_refused() {
    ByteBuf endless = bytes("HTTP/1.1 200 OK\r\n" + "x: y\r\n".repeat(20_000));

    MalformedResponseException refused =
        assertThrows(
            MalformedResponseException.class, () -> new ResponseDecoder(true).decode(endless));
    assertTrue(String.valueOf(refused.getMessage()).contains("65536"));
  }

  private static ByteBuf bytes(String text) {
    return Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
  }

  private static String describe(ResponseDecoder decoder) {
    return "%d json=%d closing=%s %s"
        .formatted(
            decoder.status(),
            decoder.jsonBytes(),
            decoder.isClosing(),
            StandardCharsets.ISO_8859_1.decode(decoder.body()));
  }
}

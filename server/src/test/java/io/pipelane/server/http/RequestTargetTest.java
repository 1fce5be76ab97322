package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Keys;
import io.pipelane.server.http.message.RequestTarget;
import io.pipelane.server.net.Backends;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Targets of every form, and the hosts that requests name. */
class RequestTargetTest {
  @ParameterizedTest
  @CsvSource({
    "/v2, /v2,",
    "http://127.0.0.1:8000/v2?a=b, /v2?a=b, 127.0.0.1:8000",
    "HTTPS://host/http://other/, /http://other/, host",
    "http://host, /, host",
    "http://host?a=/b, /?a=/b, host",
    "http:///v2, http:///v2,",
    "ftp://host/v2, ftp://host/v2,",
    "*, *,"
  })
  void target_isPathAndAuthority(String target, String path, @Nullable String authority) {
    assertEquals(new RequestTarget(path, authority), RequestTarget.of(target));
  }

  private static Reply ask(String target, String fields) {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send("GET " + target + " HTTP/1.1\r\n" + fields + "\r\n");
      return conversation.onlyReply();
    }
  }

  @Test
  void wholeAddress_isAsItsPath() {
    assertEquals(
        ask("/v2", "Host: 127.0.0.1\r\n").text(),
        ask("http://127.0.0.1:8000/v2", "Host: 127.0.0.1:8000\r\n").text());
  }

  /** Names of other servers are refused on the loopback address. */
  @Test
  void wholeAddress_saysTheHost() {
    assertEquals(403, ask("http://evil.example/v2", "Host: localhost\r\n").status());
    assertEquals(200, ask("http://localhost/v2", "Host: evil.example\r\n").status());
  }

  @Test
  void severalHosts_areRefused() {
    Reply reply = ask("/v2", "Host: localhost\r\nHost: evil.example\r\n");
    assertEquals(400, reply.status());
    assertTrue(reply.text().contains("several Host fields"), reply.text());
    assertEquals(400, ask("/v2", "Host: localhost\r\nHost: localhost\r\n").status());
  }

  /** Of a server, too, that does not know its names. */
  @ParameterizedTest
  @ValueSource(
      strings = {"a b", "localhost:x", "[::1", "user@localhost", "a/b", "local\"host", "a:1:2"})
  void hostThatIsNone_isRefused(String host, @TempDir Path folder) throws IOException {
    assertRefused(host, ask("/v2", "Host: " + host + "\r\n"));
    try (AccessControl access = Keys.of(folder, Keys.usual());
        Conversation conversation =
            new Conversation(
                Backends.of(FakeCatalog.usual(), EchoService.inline(), access), Runnable::run)) {
      conversation.send("GET /v2 HTTP/1.1\r\nX-API-Key: manage\r\nHost: front.example:80\r\n\r\n");
      conversation.send("GET /v2 HTTP/1.1\r\nX-API-Key: manage\r\nHost: " + host + "\r\n\r\n");
      assertEquals(200, conversation.replies().getFirst().status());
      assertRefused(host, conversation.replies().getLast());
    }
  }

  private static void assertRefused(String host, Reply reply) {
    assertEquals(400, reply.status(), reply.text());
    String message = "Host '%s' is not a host".formatted(host);
    assertTrue(
        reply.text().replace("\\\"", "'").contains(message.replace("\"", "'")), reply.text());
  }

  @Test
  void noHost_isRefused_butInHttp10() {
    for (String target : new String[] {"/v2", "http://localhost/v2", "/nothing"}) {
      Reply reply = ask(target, "");
      assertEquals(400, reply.status());
      assertTrue(reply.text().contains("no Host field; send one"), reply.text());
    }
    try (Conversation conversation = Conversation.usual()) {
      conversation.send("GET /v2 HTTP/1.0\r\n\r\n");
      assertEquals(200, conversation.onlyReply().status());
    }
  }
}

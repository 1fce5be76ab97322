package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Keys;
import io.pipelane.server.http.message.ForeignPages;
import io.pipelane.server.net.Backends;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What pages have browsers send to a server on the loopback address. */
class ForeignPagesTest {
  private static final String UNLOAD = "POST /v2/repository/models/echo/unload HTTP/1.1\r\n";
  private static final int UNKNOWN_MODEL = 404;

  private static int ask(Conversation conversation, String start, String fields) {
    conversation.send(start + fields + "Content-Length: 0\r\n\r\n");
    return conversation.replies().getLast().status();
  }

  private static int ask(String start, String fields) {
    try (Conversation conversation = Conversation.usual()) {
      return ask(conversation, start, fields);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Origin: http://evil.example",
        "Origin: http://localhost:3000",
        "Origin: http://localhost",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site\r\nOrigin: http://localhost:3000"
      })
  void requestOfAnotherSitesPage_changesNothing(String fields) {
    String head = "Host: localhost:8000\r\n" + fields + "\r\n";
    assertEquals(403, ask(UNLOAD, head));
    assertEquals(200, ask("GET /v2 HTTP/1.1\r\n", head));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "Origin: http://localhost:8000\r\n",
        "Origin: http://LOCALHOST:8000\r\n",
        "Sec-Fetch-Site: same-origin\r\nOrigin: https://front.example\r\n",
        "Sec-Fetch-Site: none\r\n"
      })
  void requestOfTheServersOwnPage_orOfNone_isTaken(String fields) {
    assertEquals(UNKNOWN_MODEL, ask(UNLOAD, "Host: localhost:8000\r\n" + fields));
  }

  @ParameterizedTest
  @CsvSource({
    "localhost, 200",
    "LocalHost:8000, 200",
    "a.localhost:8000, 200",
    "127.0.0.1:8000, 200",
    "192.0.2.1, 200",
    "[::1]:8000, 200",
    "evil.example, 403",
    "evil.example:8000, 403",
    "localhost.evil.example, 403",
    "127.0.0.1.evil.example:8000, 403"
  })
  void nameThatCannotBeTheServers_isRefused(String host, int status) {
    assertEquals(status, ask("GET /v2 HTTP/1.1\r\n", "Host: " + host + "\r\n"));
  }

  @Test
  void hostsOfOneConnection_areEachChecked() {
    try (Conversation conversation = Conversation.usual()) {
      for (String host : List.of("localhost", "evil.example", "localhost")) {
        int expected = host.equals("localhost") ? 200 : 403;
        String fields = "Host: " + host + "\r\n";
        assertEquals(expected, ask(conversation, "GET /v2 HTTP/1.1\r\n", fields));
      }
    }
  }

  @Test
  void serverThatNeedsAKey_asksForNothingElse(@TempDir Path folder) throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        Conversation conversation =
            new Conversation(
                Backends.of(FakeCatalog.usual(), EchoService.inline(), access), Runnable::run)) {
      String fields = "Host: front.example\r\nOrigin: https://app.example\r\nX-API-Key: manage\r\n";
      assertEquals(UNKNOWN_MODEL, ask(conversation, UNLOAD, fields));
    }
  }

  @Test
  void serverThatIsNotLocal_hasNamesThatItDoesNotKnow() {
    new ForeignPages("0.0.0.0", List.of(), false).checkHost("front.example");
    ForeignPages local = new ForeignPages("127.0.0.1", List.of(), false);
    assertThrows(StatusException.class, () -> local.checkHost("front.example"));
  }

  private static void checkOrigin(ForeignPages pages, String origin, @Nullable String site) {
    HttpHeaders headers = new DefaultHttpHeaders().set("origin", origin);
    if (site != null) {
      headers.set("sec-fetch-site", site);
    }
    pages.checkOrigin(HttpMethod.POST, headers, "backend:8000");
  }

  @Test
  void pagesBehindAProxyThatChangesTheHost_areTheServersOwn_whereTheirOriginIsNamed() {
    ForeignPages pages =
        new ForeignPages(
            "127.0.0.1",
            List.of(URI.create("http://Models.example:80/"), URI.create("https://m.example:8443")),
            false);
    pages.checkHost("models.example");
    pages.checkHost("m.example:1");
    checkOrigin(pages, "http://models.example", null);
    checkOrigin(pages, "https://m.example:8443", null);
    checkOrigin(pages, "https://m.example:8443", "cross-site");
    for (String other :
        List.of(
            "https://models.example",
            "http://models.example:8080",
            "https://m.example",
            "http://evil.example",
            "null")) {
      StatusException error =
          assertThrows(StatusException.class, () -> checkOrigin(pages, other, null));
      assertEquals(Status.PERMISSION_DENIED, error.status());
      assertThrows(StatusException.class, () -> checkOrigin(pages, other, "cross-site"));
    }
    assertThrows(StatusException.class, () -> pages.checkHost("evil.example"));
  }
}

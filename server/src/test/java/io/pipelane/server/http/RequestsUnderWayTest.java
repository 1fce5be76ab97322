package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Keys;
import io.pipelane.server.net.Backends;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A key that may have one request under way: from its head on, until it ends, however it does. */
@Timeout(60)
class RequestsUnderWayTest {
  private static final String KEY = "Authorization: Bearer one\r\n";
  private static final String EVENTS = "GET /v2/pipelane/events";
  private static final String INFER = "POST /v2/models/echo/infer";

  @TempDir Path folder;

  private void with(Consumer<Conversation> client) throws IOException {
    String entry = Keys.entry("one", "roles: [infer, manage, observe], concurrent-requests: 1");
    try (AccessControl access = Keys.of(folder, entry);
        Conversation conversation =
            new Conversation(
                Backends.of(FakeCatalog.usual(), EchoService.inline(), access), Runnable::run)) {
      client.accept(conversation);
    }
  }

  private static Reply besides(Conversation conversation) {
    try (Conversation other = Conversation.beside(conversation)) {
      return other.send(Requests.head("GET /v2/models/echo", KEY)).onlyReply();
    }
  }

  private static String head(String request, String fields) {
    return Requests.head(request, KEY + fields);
  }

  @Test
  void requestWhoseBodyIsComing_isUnderWay() throws IOException {
    with(
        conversation -> {
          conversation.send(head(INFER, "Content-Length: 100\r\n"));
          assertEquals(429, besides(conversation).status());
          conversation.send(" ".repeat(100));
          assertEquals(400, conversation.onlyReply().status());
          assertEquals(200, besides(conversation).status());
        });
  }

  @Test
  void streamOfEvents_isUnderWayUntilItsClientGoes() throws IOException {
    with(
        conversation -> {
          conversation.send(head(EVENTS, ""));
          assertEquals(429, besides(conversation).status());
          conversation.disconnect();
          assertEquals(200, besides(conversation).status());
        });
  }

  /** It is not asked for its body. */
  @Test
  void requestThatIsOneTooMany_isRefusedByItsHead() throws IOException {
    with(
        conversation -> {
          conversation.send(head(INFER, "Content-Length: 100\r\n"));
          try (Conversation other = Conversation.beside(conversation)) {
            other.send(head(INFER, "Content-Length: 900000\r\nExpect: 100-continue\r\n"));
            assertEquals(429, other.onlyReply().status());
          }
        });
  }

  record End(String name, Consumer<Conversation> client) {
    @Override
    public String toString() {
      return name;
    }
  }

  static List<End> ends() {
    return List.of(
        new End("head refused", c -> c.send(head("POST /v2/models/echo/nothing", ""))),
        new End("no such model", c -> c.send(head("GET /v2/models/none", ""))),
        new End("no body", c -> c.send(head(INFER, ""))),
        new End("head of events", c -> c.send(head("HEAD /v2/pipelane/events", ""))),
        new End("gone from events", c -> c.send(head(EVENTS, "")).disconnect()),
        new End("too large by its head", c -> c.send(head(INFER, "Content-Length: 99999999\r\n"))),
        new End(
            "too large as it comes",
            c -> {
              c.send(head(INFER, "Transfer-Encoding: chunked\r\n"));
              c.send("200001\r\n" + "x".repeat(0x200001));
            }),
        new End(
            "malformed chunk",
            c -> c.send(head(INFER, "Transfer-Encoding: chunked\r\n") + "x\r\n")),
        new End(
            "not compressed as it says",
            c -> c.send(head(INFER, "Content-Encoding: gzip\r\nContent-Length: 4\r\n") + "none")),
        new End(
            "upload refused",
            c -> c.send(head("PUT /v2/repository/models/a/versions/x", "Content-Length: 9\r\n"))),
        new End(
            "upload too large",
            c ->
                c.send(
                    head(
                        "PUT /v2/repository/models/a/versions/1",
                        "Content-Length: " + Long.MAX_VALUE + "\r\n"))),
        new End(
            "gone before its body",
            c -> c.send(head(INFER, "Content-Length: 100\r\n")).disconnect()),
        new End(
            "gone within its body",
            c -> c.send(head(INFER, "Content-Length: 100\r\n") + "{").disconnect()),
        new End(
            "gone instead of going on",
            c ->
                c.send(head(INFER, "Content-Length: 100\r\nExpect: 100-continue\r\n"))
                    .disconnect()),
        new End(
            "too slow",
            c -> {
              c.send(head(INFER, "Content-Length: 100\r\n"));
              c.channel.pipeline().fireUserEventTriggered(new RequestPace.TooSlow());
            }),
        new End(
            "server stops",
            c -> {
              c.send(head(INFER, "Content-Length: 100\r\n"));
              c.channel.pipeline().fireUserEventTriggered(new HttpConnection.Draining());
            }));
  }

  @ParameterizedTest
  @MethodSource("ends")
  void request_isUnderWayNoMoreHoweverItEnds(End end) throws IOException {
    with(
        conversation -> {
          try (Conversation other = Conversation.beside(conversation)) {
            end.client.accept(other);
            assertEquals(200, besides(conversation).status());
          }
          assertEquals(200, besides(conversation).status());
          assertEquals(0, conversation.activity.running());
        });
  }
}

package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.codec.http.HttpMethod;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.protocol.ProductVersion;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whole conversations, to the last byte: what stands in files beside this test, lines of the client
 * with {@code > } in front, then those of the server with {@code < }.
 */
class TranscriptTest {
  private static final List<String> NAMES =
      List.of(
          "config",
          "error",
          "health",
          "hosts",
          "index",
          "infer",
          "jobs",
          "load",
          "logging",
          "metadata",
          "options",
          "page",
          "repository",
          "samples",
          "state",
          "sharedmemory",
          "stats",
          "trace",
          "unload",
          "versions",
          "workers");

  static List<String> names() {
    return NAMES;
  }

  private static String file(String name) throws IOException {
    try (InputStream stream =
        TranscriptTest.class.getResourceAsStream("transcripts/" + name + ".txt")) {
      assertTrue(stream != null, name + " is missing");
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static String lines(String transcript, String mark) {
    StringBuilder text = new StringBuilder();
    transcript
        .lines()
        .filter(line -> line.startsWith(mark))
        .forEach(line -> text.append(line.substring(mark.length()).stripLeading()).append("\r\n"));
    return text.toString();
  }

  @ParameterizedTest
  @MethodSource("names")
  void conversation_isAsWritten(String name) throws IOException {
    String transcript = file(name);
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.loading.complete(null);
    try (Conversation conversation = new Conversation(catalog, EchoService.inline())) {
      conversation.send(lines(transcript, ">").stripTrailing().concat("\r\n\r\n"));
      String answered = new String(conversation.received(), StandardCharsets.UTF_8);
      assertEquals(
          lines(transcript, "<").strip(),
          answered
              .replace(ProductVersion.get(), "VERSION")
              .replaceAll("(?<!\n)HTTP/1\\.1 ", "\r\nHTTP/1.1 ")
              .replaceAll("Content-Length: \\d+\r\n", "")
              .replaceAll("\"([a-z_]*(ns|ms))\":\\d+", "\"$1\":0")
              .replaceAll("(\"durations\":)\\[[0-9,]*]", "$1[]")
              .lines()
              .map(String::stripLeading)
              .reduce("", (all, line) -> all + line + "\r\n")
              .strip(),
          () -> "what was answered:\n" + answered);
    }
  }

  @Test
  void everyRoute_hasATranscript() throws IOException {
    Set<Class<?>> routes = RouteKinds.all();
    for (String name : NAMES) {
      for (String line :
          file(name).lines().filter(l -> l.matches("> [A-Z]+ /(?!nothing).*")).toList()) {
        String[] parts = line.split(" ", -1);
        ResourcePaths.find(parts[2])
            .route(HttpMethod.valueOf(parts[1]))
            .ifPresent(route -> routes.remove(route.getClass()));
      }
    }
    // Scrapes and streams have tests of their own.
    assertEquals(
        Set.of(Route.Metrics.class, Route.Events.class, Route.Changes.class, Route.Upload.class),
        routes);
  }
}

package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.hosts.BareHost.Received;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which host a request goes to, of those that have its model. */
@Timeout(60)
class ForwardingChoiceTest extends ForwardingFixture {
  @Test
  void modelThatIsHere_isAskedElsewhereWhileThatIsSooner() throws Exception {
    registry.has(first.url(), "echo", 2, false, Duration.ZERO);
    String here = ask(infer("echo", ECHO)).body();
    assertTrue(here.contains("\"y_x\""), here);
    stallNanos = 1_000_000_000;
    first.then("200 OK", OK).then("503 Service Unavailable", "{}");
    assertEquals(OK, ask(infer("echo", ECHO)).body());
    assertEquals(here, ask(infer("echo", ECHO)).body(), "answered here after all");
    first.close();
    assertEquals(here, ask(infer("echo", ECHO)).body());
    assertEquals(here, ask(infer("echo", ECHO)).body());
    assertEquals(2, first.received.size());
    assertEquals(1, hosts.counts().suspect());
  }

  @Test
  void otherVersionElsewhere_isNotWhatThisHostWouldAnswerWith() throws Exception {
    stallNanos = 1_000_000_000;
    registry.has(first.url(), "echo", 3, false, Duration.ZERO);
    assertTrue(ask(infer("echo", ECHO)).body().contains("y_x"));
    assertEquals(0, first.received.size());
    first.then("200 OK", OK);
    HttpRequest.Builder named =
        request("/v2/models/echo/versions/3/infer").POST(BodyPublishers.ofString(ECHO));
    assertEquals(OK, ask(named).body());
  }

  @Test
  void otherContentElsewhere_isNotWhatThisHostWouldAnswerWith() throws Exception {
    stallNanos = 1_000_000_000;
    catalog.hasContent("echo", "0123456789abcdef");
    assertTrue(registry.word().contains(",\"#0123456789ab\"]"), registry.word());
    registry.has(first.url(), "echo", 2, false, Duration.ZERO, "fedcba987654");
    assertTrue(ask(infer("echo", ECHO)).body().contains("y_x"));
    registry.has(second.url(), "echo", 2, false, Duration.ofMillis(5), "0123456789ab");
    second.then("200 OK", OK);
    assertEquals(OK, ask(infer("echo", ECHO)).body());
    assertEquals(0, first.received.size());
  }

  @Test
  void versionThatIsChosenHere_isWhatOthersAreAskedFor() throws Exception {
    stallNanos = 1_000_000_000;
    catalog.label("echo", "good", 1);
    registry.has(first.url(), "echo", 1, false, Duration.ZERO);
    registry.has(second.url(), "echo", 2, false, Duration.ZERO);
    first.then("200 OK", OK);
    second.then("200 OK", OK);
    HttpRequest.Builder labelled = request("/v2/models/echo/versions/good/infer");
    assertEquals(OK, ask(labelled.POST(BodyPublishers.ofString(ECHO))).body());
    assertEquals(OK, ask(infer("echo", ECHO)).body());
    assertEquals(
        List.of("POST /v2/models/echo/versions/1/infer HTTP/1.1"),
        first.received.stream().map(Received::line).toList());
    assertEquals(
        List.of("POST /v2/models/echo/versions/2/infer HTTP/1.1"),
        second.received.stream().map(Received::line).toList());
  }

  @Test
  void labelOfAModelThatIsElsewhere_isLookedUpThere() throws Exception {
    bothHave("far", false);
    first.then("200 OK", OK);
    HttpRequest.Builder labelled = request("/v2/models/far/versions/good/infer");
    assertEquals(OK, ask(labelled.POST(BodyPublishers.ofString(ECHO))).body());
    assertEquals(
        "POST /v2/models/far/versions/good/infer HTTP/1.1", first.received.getFirst().line());
    HttpRequest.Builder wrong = request("/v2/models/far/versions/0/infer");
    assertEquals(404, ask(wrong.POST(BodyPublishers.ofString(ECHO))).statusCode());
    assertEquals(1, first.received.size() + second.received.size());
  }
}

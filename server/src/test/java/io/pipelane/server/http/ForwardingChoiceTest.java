package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.hosts.BareHost.Received;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
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

  /** A service whose runs are said to have taken a second. */
  private record Slow(EchoService echo) implements InferenceService {
    @Override
    public Ticket submit(InferenceRequest request, ResultHandler handler) {
      return echo.submit(request, new SlowRun(handler));
    }
  }

  private record SlowRun(ResultHandler handler) implements ForwardingHandler {
    @Override
    public void completed(InferenceTimings timings) {
      handler.completed(new InferenceTimings(0, 0, Duration.ofSeconds(1).toNanos()));
    }
  }

  /** Where the second is best answered is asked only once the first counts among what is here. */
  @Test
  void secondOfTwoThatComeTogether_isForwarded_asTheFirstHasTheLane() throws Exception {
    server.close();
    hosts = registry.hosts();
    EchoService echo = EchoService.inline();
    LocalLoad load = new LocalLoad(new Slow(echo), _ -> 0, () -> 1);
    server = start(Transport.AUTO, load, Backends.of(catalog, load));
    registry.has(first.url(), "echo", 2, false, Duration.ZERO);
    assertEquals(200, ask(infer("echo", ECHO)).statusCode());
    first.then("200 OK", OK);
    echo.holds = true;
    String length = "Content-Length: " + ECHO.length() + "\r\n";
    String asking = Requests.head("POST /v2/models/echo/infer", length) + ECHO;
    String last =
        Requests.head("POST /v2/models/echo/infer", length + "Connection: close\r\n") + ECHO;
    try (echo;
        Socket client = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort())) {
      client.getOutputStream().write((asking + last).getBytes(StandardCharsets.US_ASCII));
      while (echo.pending.size() + first.received.size() < 2) {
        Thread.onSpinWait();
      }
      assertEquals(1, first.received.size(), "both are here");
      echo.pending.removeFirst().complete();
      String answers =
          new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      int here = answers.indexOf("\"y_x\"");
      assertTrue(here > 0 && answers.indexOf(OK) > here, answers);
    }
  }
}

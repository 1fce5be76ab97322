package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.hosts.BareHost;
import io.pipelane.server.hosts.ClosedPort;
import io.pipelane.server.hosts.FakeRegistry;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.OutgoingTls;
import io.pipelane.server.net.Transport;
import java.lang.foreign.Arena;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a client hears of hosts that refuse, break off, are full or not there. */
@Timeout(60)
class ForwardingFailureTest extends ForwardingFixture {
  @ParameterizedTest
  @ValueSource(strings = {"503 Service Unavailable", "404 Not Found", "401 U", "403 F"})
  void refusal_isTakenToAnotherHost_andPassedOnWhenNobodyDoesBetter(String status)
      throws Exception {
    bothHave("far", false);
    first.then(status, "{\"error\":\"one\"}");
    second.then("200 OK", OK);
    assertEquals(OK, ask("far").body());
    first.then(status, "{\"error\":\"two\"}");
    second.then(status, "{\"error\":\"three\"}", "Retry-After: 3");
    HttpResponse<String> answer = ask("far");
    assertEquals("{\"error\":\"three\"}", answer.body());
    assertEquals("3", answer.headers().firstValue("Retry-After").orElse(""));
    assertEquals(2, counted(first, "refused"));
    assertEquals(0, hosts.counts().suspect());
  }

  @ParameterizedTest
  @CsvSource({"503, 401, 503", "503, 404, 503", "404, 503, 503", "404, 403, 404", "401, 404, 404"})
  void refusalThatTellsMost_isPassedOn(String one, String other, int told) throws Exception {
    bothHave("far", false);
    first.then(one + " R", "{\"error\":\"one\"}");
    second.then(other + " R", "{\"error\":\"other\"}");
    assertEquals(told, ask("far").statusCode());
  }

  @Test
  void sequenceWhoseOwnerHasNotTheModelAnyMore_goesToTheNext_andToNobodyElseWhileItHas()
      throws Exception {
    bothHave("far", true);
    for (BareHost each : List.of(first, second)) {
      each.then("404 Not Found", "{}").then("503 Busy", "{}");
    }
    assertEquals(404, ask("far").statusCode());
    assertEquals(List.of(1, 1), List.of(first.received.size(), second.received.size()));
    assertEquals(503, ask("far").statusCode());
    assertEquals(3, first.received.size() + second.received.size());
  }

  @Test
  void requestThatOneHostHasNoMemoryToBegin_isTakenToAnother() throws Exception {
    bothHave("far", false);
    first.then("507 I", "{\"error\":\"one\"}", "Pipelane-Not-Run: 1");
    second.then("200 OK", OK);
    assertEquals(OK, ask("far").body());
    first.then("507 I", "{\"error\":\"two\"}", "Pipelane-Not-Run: 1");
    second.then("404 N", "{\"error\":\"three\"}");
    HttpResponse<String> answer = ask("far");
    assertEquals("{\"error\":\"two\"}", answer.body());
    assertTrue(answer.headers().firstValue("Pipelane-Not-Run").isEmpty());
    assertEquals(2, counted(first, "refused"));
  }

  @Test
  void hostWithoutMemoryForARequest_saysToHostsAloneThatItHasNotBegun() throws Exception {
    EchoService full = EchoService.holding();
    Backend backend = Backends.of(catalog, new LocalLoad(full, _ -> 0, () -> 1));
    TransferMemory transfers = new TransferMemory(Arena.ofAuto().allocate(1 << 20));
    try (HttpServer other = HttpServer.start(settings(Transport.AUTO), backend, transfers)) {
      URI url = URI.create(other.url());
      stallNanos = 1_000_000_000;
      registry.has(url, "echo", 2, false, Duration.ZERO);
      CompletableFuture<HttpResponse<String>> run =
          client.sendAsync(infer("echo", ECHO).build(), BodyHandlers.ofString());
      while (full.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      full.pending.getFirst().fail();
      assertEquals(507, run.get().statusCode(), "it may have run");
      full.refusal = new StatusException(Status.INSUFFICIENT_MEMORY, "there is less");
      assertEquals(200, ask(infer("echo", ECHO)).statusCode());
      HttpResponse<String> direct =
          ask(
              HttpRequest.newBuilder(url.resolve("/v2/models/echo/infer"))
                  .POST(BodyPublishers.ofString(ECHO)));
      assertEquals(507, direct.statusCode());
      assertTrue(direct.headers().firstValue("Pipelane-Not-Run").isEmpty());
    }
  }

  @Test
  void hostThatIsLost_mayHaveTheModelThatAnotherHasNot() throws Exception {
    bothHave("far", false);
    String text = BareHost.text("200 OK", "{}", "Content-Type: application/json");
    first.then(BareHost.breakingOff(text, 7));
    second.then("404 R", "{\"error\":\"other\"}");
    assertEquals(503, ask("far").statusCode());
  }

  @Test
  void hostWithOtherKeys_doesNotAnswerForThisOne() throws Exception {
    stallNanos = 1_000_000_000;
    registry.has(first.url(), "echo", 2, false, Duration.ZERO);
    first.then("401 Unauthorized", "{\"error\":\"the API key is not known\"}");
    assertEquals(200, ask(infer("echo", ECHO)).statusCode());
    assertEquals(1, counted(first, "refused"));
  }

  @Test
  void hostWhoseDevicesAreAllLost_isReplaced_andHasWhoAsksItComeAgain() throws Exception {
    EchoService lost = EchoService.inline();
    lost.refusal = new StatusException(Status.DEVICE_FAILURE, "the GPU is lost");
    Backend backend = Backends.of(catalog, new LocalLoad(lost, _ -> 0, () -> 1));
    TransferMemory transfers = new TransferMemory(Arena.ofAuto().allocate(1 << 20));
    try (HttpServer other = HttpServer.start(settings(Transport.AUTO), backend, transfers)) {
      URI url = URI.create(other.url());
      stallNanos = 1_000_000_000;
      registry.has(url, "echo", 2, false, Duration.ZERO);
      registry.has(second.url(), "echo", 2, false, Duration.ofMillis(5));
      assertEquals(500, ask(infer("echo", ECHO)).statusCode(), "of one run, as others are left");
      lost.usable = false;
      second.then("200 OK", OK);
      assertEquals(OK, ask(infer("echo", ECHO)).body());
      assertEquals(1, counted(url, "refused"));
      HttpResponse<String> direct =
          ask(
              HttpRequest.newBuilder(url.resolve("/v2/models/echo/infer"))
                  .POST(BodyPublishers.ofString(ECHO)));
      assertEquals(503, direct.statusCode());
      assertEquals("1", direct.headers().firstValue("Retry-After").orElse(""));
    }
  }

  @Test
  void answerThatBreaksOffAnywhere_comesFromAnotherHost() throws Exception {
    String text = BareHost.text("200 OK", "{\"half\":1}", "Content-Type: application/json");
    for (int end = 0; end < text.length(); end += 7) {
      try (BareHost breaking = new BareHost()) {
        registry.has(breaking.url(), "far", 1, false, Duration.ZERO);
        registry.has(second.url(), "far", 1, false, Duration.ofMillis(5));
        breaking.then(BareHost.breakingOff(text, end));
        second.then("200 OK", OK);
        assertEquals(OK, ask("far").body());
        assertEquals(1, counted(breaking, "lost"));
        registry.gone(breaking.url());
      }
    }
  }

  /** What has no status that a client could read, or speaks another protocol from then on. */
  @ParameterizedTest
  @ValueSource(strings = {"099 Low", "1000 High", "101 Switching Protocols"})
  void answerThatIsNone_comesFromAnotherHost(String status) throws Exception {
    bothHave("far", false);
    first.then(status, OK);
    second.then("200 OK", OK);
    assertEquals(OK, ask("far").body());
    assertEquals(1, counted(first, "lost"));
  }

  @Test
  void hostThatCannotBeReached_isSuspect_andNobodyElseMeans503() throws Exception {
    try (ClosedPort closed = new ClosedPort()) {
      URI nobody = closed.url();
      registry.has(nobody, "far", 1, false, Duration.ZERO);
      for (int i = 0; i < 2; i++) {
        HttpResponse<String> answer = ask("far");
        assertEquals(503, answer.statusCode());
        assertEquals("1", answer.headers().firstValue("Retry-After").orElse(""));
      }
      assertEquals(1, hosts.counts().suspect());
      assertEquals(1, counted(nobody, "lost"));
      registry.has(second.url(), "far", 1, false, Duration.ofMillis(5));
      second.then("200 OK", OK);
      assertEquals(OK, ask("far").body());
    }
  }

  @Test
  void modelThatIsImportedElsewhere_orWhoseHostHasJustGone_isThereLater() throws Exception {
    registry.imports(first.url(), "far", 2);
    assertIsThereLater(ask("far"));
    assertEquals(404, ask("farther").statusCode());
    assertEquals(404, ask(request("/v2/models/far/versions/1")).statusCode());
    registry.has(first.url(), "far", 2, false, Duration.ZERO);
    registry.leaves(first.url());
    assertIsThereLater(ask("far"));
    registry.gone(first.url());
    assertIsThereLater(ask(request("/v2/models/far/versions/2")));
    assertEquals(404, ask("farther").statusCode());
    assertEquals(0, first.received.size());
  }

  @Test
  void hostThatKnowsNobodyYet_doesNotSayThatAModelIsNowhere() {
    try (Hosts early = new FakeRegistry().hosts()) {
      assertTrue(early.elsewhere("far", "", null, () -> "").isPresent());
      assertTrue(early.elsewhere("far", "", null, () -> "no room").isEmpty(), "it is known here");
      assertTrue(early.elsewhere("far", "0", null, () -> "").isEmpty(), "that is no version");
    }
  }

  @Test
  void modelThatIsKnownHere_isRefusedAsEver_whileEtcdHasNotBeenReached() throws Exception {
    registry.isOutOfReach();
    restart(registry.hosts(), Transport.AUTO);
    HttpResponse<String> far = ask("far");
    assertIsThereLater(far);
    assertTrue(far.body().contains("has not reached hosts.etcd yet"), far::body);
    HttpResponse<String> broken = ask("broken");
    assertEquals(404, broken.statusCode(), broken::body);
    assertIsThereLater(ask(request("/v2/models/broken/versions/7")));
    HttpResponse<String> importing = ask("importing");
    assertEquals(503, importing.statusCode());
    assertTrue(importing.body().contains("is being imported\""), importing::body);
  }

  @Test
  void modelThatComesBackElsewhere_isRefusedWithWhatThisHostHasToSay() throws Exception {
    registry.has(first.url(), "broken", 1, false, Duration.ZERO);
    registry.gone(first.url());
    HttpResponse<String> answer = ask("broken");
    assertIsThereLater(answer);
    assertTrue(answer.body().contains("; here model \\\"broken\\\" is unknown"), answer::body);
  }

  private static void assertIsThereLater(HttpResponse<String> answer) {
    assertEquals(503, answer.statusCode(), answer::body);
    assertEquals("1", answer.headers().firstValue("Retry-After").orElse(""));
  }

  /** Gives a host as many requests as it may have, which it does not answer. */
  private List<CompletableFuture<HttpResponse<String>>> fill(BareHost host) throws Exception {
    CountDownLatch asked = new CountDownLatch(FakeRegistry.CONNECTIONS);
    List<CompletableFuture<HttpResponse<String>>> underWay = new ArrayList<>();
    for (int i = 0; i < FakeRegistry.CONNECTIONS; i++) {
      host.then(BareHost.silent(asked, new CountDownLatch(1)));
      underWay.add(client.sendAsync(infer("far", "{}").build(), BodyHandlers.ofString()));
    }
    asked.await();
    return underWay;
  }

  private static void assertTellsOfAFullHost(HttpResponse<String> answer) {
    assertEquals(503, answer.statusCode());
    assertTrue(answer.body().contains("as hosts.connections allows"), answer::body);
  }

  @Test
  void fullHost_isWhatTheClientIsTold_thoughTheNextIsLost() throws Exception {
    registry.has(first.url(), "far", 1, false, Duration.ZERO);
    List<CompletableFuture<HttpResponse<String>>> underWay = fill(first);
    try (ClosedPort closed = new ClosedPort()) {
      registry.has(closed.url(), "far", 1, false, Duration.ofMinutes(10));
      assertTellsOfAFullHost(ask("far"));
      assertEquals(1, counted(closed.url(), "lost"));
    }
    registry.gone(first.url());
    for (CompletableFuture<HttpResponse<String>> each : underWay) {
      assertEquals(503, each.get().statusCode());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void hostThatHasAsManyAsItMay_isWhatTheClientIsTold(boolean keepsState) throws Exception {
    registry.has(first.url(), "far", 1, keepsState, Duration.ZERO);
    List<CompletableFuture<HttpResponse<String>>> underWay = fill(first);
    assertTellsOfAFullHost(ask("far"));
    registry.gone(first.url());
    for (CompletableFuture<HttpResponse<String>> each : underWay) {
      assertEquals(503, each.get().statusCode());
    }
  }

  @Test
  void sequenceWhoseOwnerHasNotTheModel_isToldOfTheNextOneThatIsFull() throws Exception {
    bothHave("far", true);
    first.then("404 Not Found", "{\"error\":\"first\"}");
    second.then("404 Not Found", "{\"error\":\"second\"}");
    BareHost next = ask("far").body().contains("first") ? first : second; // The last to be asked.
    BareHost owner = next == first ? second : first;
    registry.gone(owner.url());
    List<CompletableFuture<HttpResponse<String>>> underWay = fill(next);
    registry.has(owner.url(), "far", 1, true, Duration.ZERO);
    owner.then("404 Not Found", "{}");
    assertTellsOfAFullHost(ask("far"));
    registry.gone(next.url());
    for (CompletableFuture<HttpResponse<String>> each : underWay) {
      assertEquals(503, each.get().statusCode());
    }
  }

  @Test
  void registryThatIsBackAndKnowsNobody_leavesWhatOthersHadSaid() throws Exception {
    bothHave("far", false);
    registry.isBackWithoutAnybody();
    first.then("200 OK", OK);
    assertEquals(OK, ask("far").body());
    first.close();
    second.close();
    assertEquals(503, ask("far").statusCode());
  }

  @Test
  void hostThatGoesWhileItIsWaitedFor_isLeft() throws Exception {
    bothHave("far", false);
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    first.then(BareHost.silent(asked, closed));
    second.then("200 OK", OK);
    CompletableFuture<HttpResponse<String>> answer =
        client.sendAsync(infer("far", "{}").build(), BodyHandlers.ofString());
    asked.await();
    registry.gone(first.url());
    assertEquals(OK, answer.get().body());
    closed.await();
  }

  @Test
  void hostThatIsTooSlow_isNotAskedTwice() throws Exception {
    restart(
        registry.hosts(
            Duration.ofMillis(500), OutgoingTls.open(Optional.empty(), Optional.empty()).http()),
        Transport.AUTO);
    bothHave("far", false);
    CountDownLatch closed = new CountDownLatch(1);
    first.then(BareHost.silent(new CountDownLatch(1), closed));
    HttpResponse<String> answer = ask("far");
    assertEquals(503, answer.statusCode());
    assertTrue(answer.body().contains("has not answered in time"), answer::body);
    closed.await();
    assertEquals(1, counted(first, "late"));
    assertEquals(0, second.received.size());
    second.then("200 OK", OK);
    assertEquals(OK, ask("far").body(), "the next one is asked elsewhere");
    assertTrue(ask(request("/v2/hosts")).body().contains("\"state\":\"LATE\""));
  }
}

package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.hosts.BareHost;
import io.pipelane.server.hosts.BlackHole;
import io.pipelane.server.net.OutgoingTls;
import io.pipelane.server.net.Transport;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How long a request with a timeout of its own waits for other hosts. */
@Timeout(20)
class ForwardedTimeoutTest extends ForwardingFixture {
  private HttpResponse<String> ask(String model, long timeoutMicros) throws Exception {
    return ask(infer(model, timed(timeoutMicros)));
  }

  private static String timed(long timeoutMicros) {
    return "{\"parameters\":{\"timeout\":%d},".formatted(timeoutMicros) + ECHO.substring(1);
  }

  private static void assertSaysThatTimeHasPassed(HttpResponse<String> answer) {
    assertEquals(503, answer.statusCode(), answer::body);
    assertTrue(answer.body().contains("within the request's timeout"), answer::body);
    assertEquals("1", answer.headers().firstValue("Retry-After").orElse(""));
  }

  @Test
  void hostThatDoesNotAnswerInTime_isGivenUp_andNobodyElseIsAsked() throws Exception {
    bothHave("far", false);
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    first.then(BareHost.silent(asked, closed));
    assertSaysThatTimeHasPassed(ask("far", 500_000));
    closed.await();
    assertEquals(1, counted(first, "overdue"));
    assertEquals(0, second.received.size());
    first.then("200 OK", OK);
    assertEquals(OK, ask("far", 60_000_000).body(), "it is not late for that");
  }

  @Test
  void requestThatThisHostCouldAnswer_isNotRunHereOnceItsTimeHasPassed() throws Exception {
    stallNanos = 1_000_000_000;
    registry.has(first.url(), "echo", 2, false, Duration.ZERO);
    first.then(BareHost.silent(new CountDownLatch(1), new CountDownLatch(1)));
    assertSaysThatTimeHasPassed(ask("echo", 500_000));
    assertEquals(0, patienceNanos, "nothing has run here");
  }

  /** It is found out behind the end of a request, so that others are not sent there. */
  @Test
  void hostThatSwallowsPackets_isSuspect_thoughTheRequestEndedBefore() throws Exception {
    restart(registry.hostsWithin(Duration.ofSeconds(2)), Transport.AUTO);
    try (BlackHole hole = new BlackHole()) {
      registry.has(hole.url(), "far", 1, false, Duration.ZERO);
      registry.has(second.url(), "far", 1, false, Duration.ofMillis(5));
      assertSaysThatTimeHasPassed(ask("far", 1_000_000));
      assertEquals(1, counted(hole.url(), "overdue"));
      assertEquals(0, counted(hole.url(), "lost"));
      while (hosts.counts().suspect() == 0) {
        assertFalse(Thread.currentThread().isInterrupted(), "nobody has found out");
        LockSupport.parkNanos(1_000_000);
      }
      second.then("200 OK", OK);
      assertEquals(OK, ask("far").body());
      assertEquals(1, counted(hole.url(), "overdue"));
      assertEquals(0, counted(hole.url(), "lost"));
    }
  }

  /** Its state may have changed by then, so the owner alone says what came of it. */
  @Test
  void stepOfASequence_isNotCutAtItsDeadline() throws Exception {
    restart(
        registry.hosts(
            Duration.ofSeconds(2), OutgoingTls.open(Optional.empty(), Optional.empty()).http()),
        Transport.AUTO);
    registry.has(first.url(), "far", 1, true, Duration.ZERO);
    first.then(BareHost.silent(new CountDownLatch(1), new CountDownLatch(1)));
    HttpResponse<String> answer = ask("far", 500_000);
    assertTrue(answer.body().contains("has not answered in time"), answer::body);
    assertEquals(1, counted(first, "late"));
  }

  @Test
  void requestThatIsLateAlready_isNotSent() throws Exception {
    bothHave("far", false);
    assertSaysThatTimeHasPassed(ask("far", 1));
    assertEquals(0, first.received.size());
  }

  @Test
  void ownerWhoSaysHowLongAnswersMayTake_isNotOverruled() throws Exception {
    registry.hasWithOwnTimeout(first.url(), "far");
    first.then("200 OK", OK);
    assertEquals(OK, ask("far", 1).body());
  }

  @Test
  void timeoutThatIsNone_isRefusedByTheOtherHost() throws Exception {
    bothHave("far", false);
    first.then("400 Bad Request", "{\"error\":\"so\"}");
    assertEquals(400, ask("far", -1).statusCode());
  }
}

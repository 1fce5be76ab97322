package io.pipelane.server.hosts;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.pipelane.server.net.OutgoingTls;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Against an etcd of the test's own; skipped where that is not installed. */
@Timeout(60)
class EtcdRegistryTest {
  private static final String PREFIX = "/test/hosts/";

  /** Within which a test ends: a session that broke would say its word anew by itself. */
  private static final Duration LONG_LEASE = Duration.ofMinutes(3);

  @TempDir private Path folder = Path.of("");
  private final List<EtcdRegistry> open = new ArrayList<>();
  private @Nullable Etcd etcd;

  @BeforeAll
  static void needEtcd() throws InterruptedException {
    Etcd.assumeInstalled();
  }

  @BeforeEach
  void startEtcd() throws Exception {
    etcd = new Etcd(Files.createDirectories(folder.resolve("etcd")));
  }

  private void start() throws IOException {
    etcd().start();
  }

  @AfterEach
  void endAll() {
    open.forEach(EtcdRegistry::close);
    etcd().close();
  }

  private Etcd etcd() {
    if (etcd == null) {
      throw new IllegalStateException("there is no etcd");
    }
    return etcd;
  }

  private EtcdRegistry registry(String own) {
    return registry(own, Duration.ofSeconds(2));
  }

  private EtcdRegistry registry(String own, Duration lease) {
    EtcdRegistry registry =
        new EtcdRegistry(
            new EtcdSettings(
                List.of(etcd().url()),
                PREFIX,
                own,
                lease,
                Duration.ofMillis(20),
                OutgoingTls.open(Optional.empty(), Optional.empty()).grpc()));
    open.add(registry);
    return registry;
  }

  /** What is heard, on the registry's thread, for a test that waits for it. */
  private static final class Heard implements HostRegistry.Listener {
    private final Map<String, String> words = new TreeMap<>();
    private final List<String> gone = new ArrayList<>();
    private boolean reached;
    private int reports;

    @Override
    public synchronized void all(Map<String, String> announcements) {
      words.clear();
      words.putAll(announcements);
      notifyAll();
    }

    @Override
    public synchronized void said(String host, String announcement) {
      words.put(host, announcement);
      notifyAll();
    }

    @Override
    public synchronized void gone(String host) {
      words.remove(host);
      gone.add(host);
      notifyAll();
    }

    @Override
    public void turn() {}

    @Override
    public synchronized void reached(boolean inReach) {
      reached = inReach;
      reports++;
      notifyAll();
    }

    /** Waits until it is so; the test's own limit of time ends it. */
    synchronized void await(Predicate<Heard> so) throws InterruptedException {
      while (!so.test(this)) {
        wait();
      }
    }

    void awaitWords(Map<String, String> expected) throws InterruptedException {
      await(heard -> heard.words.equals(expected));
    }
  }

  /** A word that the test changes. */
  private static final class Word {
    private volatile String text;

    Word(String text) {
      this.text = text;
    }
  }

  @Test
  void whatOneSays_theOtherHears_untilItTakesItBack() throws Exception {
    start();
    Heard first = new Heard();
    Heard second = new Heard();
    Word word = new Word("one");
    registry("a").start(() -> word.text, first);
    first.awaitWords(Map.of("a", "one"));
    EtcdRegistry other = registry("b");
    other.start(() -> "two", second);
    second.awaitWords(Map.of("a", "one", "b", "two"));
    first.awaitWords(Map.of("a", "one", "b", "two"));
    word.text = "three";
    second.awaitWords(Map.of("a", "three", "b", "two"));
    other.close();
    first.awaitWords(Map.of("a", "three"));
    assertEquals(List.of("b"), first.gone);
  }

  @Test
  void leaseIsRenewed_andWhoDoesNotRenewIt_goes() throws Exception {
    start();
    Heard heard = new Heard();
    registry("a").start(() -> "one", heard);
    EtcdSession mute =
        EtcdSession.open(
            new EtcdSettings(
                List.of(etcd().url()),
                PREFIX,
                "mute",
                Duration.ofSeconds(2),
                Duration.ofSeconds(1),
                OutgoingTls.open(Optional.empty(), Optional.empty()).grpc()));
    try (mute) {
      mute.say("nothing more");
      heard.awaitWords(Map.of("a", "one", "mute", "nothing more"));
      heard.await(now -> now.gone.contains("mute"));
      heard.awaitWords(Map.of("a", "one"));
    }
  }

  @Test
  void etcdGone_isNoticed_andWhatWasHeardStays_untilItIsBack() throws Exception {
    start();
    Heard first = new Heard();
    Heard second = new Heard();
    registry("a").start(() -> "one", first);
    registry("b").start(() -> "two", second);
    Map<String, String> both = Map.of("a", "one", "b", "two");
    first.awaitWords(both);
    second.awaitWords(both);
    etcd().close();
    first.await(heard -> !heard.reached);
    int reports = first.reports;
    first.await(heard -> heard.reports > reports); // It has tried again.
    assertEquals(both, first.words);
    assertEquals(List.of(), first.gone);
    start();
    first.await(heard -> heard.reached);
    first.awaitWords(both);
    second.awaitWords(both);
  }

  @Test
  void etcdThatComesLate_isFoundThen() throws Exception {
    Heard heard = new Heard();
    registry("a").start(() -> "one", heard);
    heard.await(now -> now.reports > 0);
    start();
    heard.awaitWords(Map.of("a", "one"));
  }

  @Test
  void fault_endsTheSession_notTheRegistry() throws Exception {
    start();
    Heard heard = new Heard();
    AtomicInteger words = new AtomicInteger();
    registry("a")
        .start(
            () -> {
              if (words.incrementAndGet() == 1) {
                throw new AssertionError("a fault");
              }
              return "one";
            },
            heard);
    heard.awaitWords(Map.of("a", "one"));
    heard.await(now -> now.reached);
  }

  @Test
  void leaseTakenAway_isTakenAnew() throws Exception {
    start();
    Heard heard = new Heard();
    Word word = new Word("one");
    registry("a").start(() -> word.text, heard);
    heard.awaitWords(Map.of("a", "one"));
    try (Client client = Client.builder().endpoints(etcd().url()).build()) {
      long lease =
          client
              .getKVClient()
              .get(ByteSequence.from(PREFIX + "a", StandardCharsets.UTF_8))
              .get()
              .getKvs()
              .getFirst()
              .getLease();
      client.getLeaseClient().revoke(lease).get();
    }
    heard.await(now -> now.gone.contains("a"));
    heard.awaitWords(Map.of("a", "one"));
    heard.await(now -> now.reached);
  }

  @Test
  void wordThatSomebodyDeletes_isSaidAgain_thoughTheLeaseHoldsOn() throws Exception {
    start();
    Heard heard = new Heard();
    registry("a", LONG_LEASE).start(() -> "one", heard);
    heard.awaitWords(Map.of("a", "one"));
    ByteSequence key = ByteSequence.from(PREFIX + "a", StandardCharsets.UTF_8);
    try (Client client = Client.builder().endpoints(etcd().url()).build()) {
      client.getKVClient().delete(key).get();
    }
    heard.await(now -> now.gone.contains("a"));
    heard.awaitWords(Map.of("a", "one"));
  }

  @Test
  void secondOneOfAName_takesItsWordBack_andTheFirstOneIsHeardOfAgain() throws Exception {
    start();
    Heard heard = new Heard();
    registry("a", LONG_LEASE).start(() -> "one", heard);
    heard.awaitWords(Map.of("a", "one"));
    EtcdRegistry second = registry("a", LONG_LEASE);
    second.start(() -> "two", new Heard());
    heard.awaitWords(Map.of("a", "two"));
    second.close();
    heard.awaitWords(Map.of("a", "one"));
  }
}

package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.switcher.residency.Usage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class PopularityTest {
  private static final Duration HALF_LIFE = Duration.ofMinutes(2);
  private static final double EXACT = 1e-9;

  @TempDir private Path cache;
  private Path file;
  private long nanos;

  @BeforeEach
  void chooseFile() {
    file = Popularity.file(cache, Path.of("models"));
  }

  private static ModelVersion model(String name) {
    return new ModelVersion(name, 1);
  }

  /** A server, as far as popularity goes. */
  private final class Served {
    private final Map<ModelVersion, Usage> usages = new HashMap<>();
    final Popularity popularity = new Popularity(file, HALF_LIFE, this::uses, () -> nanos);

    private Map<ModelVersion, Double> uses() {
      Map<ModelVersion, Double> uses = new HashMap<>();
      usages.forEach((version, usage) -> uses.put(version, usage.logarithmAt(nanos)));
      return uses;
    }

    void ask(String name, int times) {
      Usage usage = usages.computeIfAbsent(model(name), key -> new Usage(HALF_LIFE, nanos));
      IntStream.range(0, times).forEach(i -> usage.used(nanos));
    }

    void forget(String name) {
      usages.remove(model(name));
    }

    /** It ends, and its models are still in the repository. */
    void end() {
      popularity.keep(version -> true);
    }

    List<String> order(String... names) {
      Map<ModelVersion, Double> all = popularity.all();
      return Popularity.sorted(
          List.of(names), name -> all.getOrDefault(model(name), Double.NEGATIVE_INFINITY));
    }

    double count(String name) {
      return Math.exp(popularity.all().getOrDefault(model(name), Double.NEGATIVE_INFINITY));
    }
  }

  private void pass(Duration time) {
    nanos += time.toNanos();
  }

  @Test
  void restart_findsTheOrderAndGoesOnCounting() {
    Served first = new Served();
    first.ask("often", 8);
    first.ask("seldom", 2);
    assertEquals(List.of("often", "seldom", "a", "b"), first.order("a", "b", "seldom", "often"));
    first.end();
    Served second = new Served();
    assertEquals(8, second.count("often"), EXACT);
    pass(HALF_LIFE);
    second.ask("seldom", 4);
    assertEquals(4, second.count("often"), EXACT);
    assertEquals(5, second.count("seldom"), EXACT, "what was known, and what was counted");
    second.end();
    assertEquals(List.of("seldom", "often"), new Served().order("often", "seldom"));
  }

  @Test
  void order_afterAnIdleYear_isStillKnown_andAnythingAskedComesFirst() {
    Served first = new Served();
    first.ask("often", 3);
    first.ask("seldom", 1);
    first.end();
    Served second = new Served();
    pass(Duration.ofDays(365));
    assertEquals(List.of("often", "seldom", "never"), second.order("never", "seldom", "often"));
    second.ask("seldom", 1);
    second.end();
    assertEquals(
        List.of("seldom", "often", "never"), new Served().order("never", "often", "seldom"));
  }

  @Test
  void modelThatLeavesTheDevices_isRememberedUntilItLeavesTheRepository() {
    Served first = new Served();
    first.ask("unloaded", 4);
    first.ask("removed", 4);
    first.end();
    first.forget("unloaded");
    first.forget("removed");
    assertEquals(4, first.count("unloaded"), EXACT);
    first.popularity.keep(version -> !version.model().equals("removed"));
    Served second = new Served();
    assertEquals(4, second.count("unloaded"), EXACT);
    assertEquals(0, second.count("removed"));
  }

  @Test
  void keep_whereNothingWasAsked_writesNothing() throws IOException {
    Served served = new Served();
    served.end();
    assertFalse(Files.exists(file));
    served.ask("a", 1);
    served.end();
    Files.delete(file);
    pass(HALF_LIFE);
    served.end();
    assertFalse(Files.exists(file));
  }

  @Test
  void damagedFile_countsAsMissing_andIsReplaced() throws IOException {
    Served first = new Served();
    first.ask("a", 5);
    first.end();
    String sound = Files.readString(file);
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (String damaged :
        List.of(
            "",
            "null",
            "{}",
            sound.substring(0, random.nextInt(sound.length())),
            sound.replace("\"format\":1", "\"format\":2"),
            sound.replaceFirst("\"logarithm\":[0-9.E-]+", "\"logarithm\":\"NaN\""),
            sound.replace("\"version\":1", "\"version\":0"),
            "x".repeat(5 << 20))) {
      Files.writeString(file, damaged);
      assertEquals(0, new Served().count("a"), "seed " + seed + ": " + damaged);
    }
    Served next = new Served();
    next.ask("b", 1);
    next.end();
    assertEquals(1, new Served().count("b"), EXACT);
  }

  @Test
  void file_hasTheMostPopularOfManyModels() {
    Served first = new Served();
    for (int i = 0; i < Popularity.MOST_MODELS; i++) {
      first.ask("model " + i, 2);
    }
    first.ask("seldom", 1);
    first.end();
    Map<ModelVersion, Double> kept = new Served().popularity.all();
    assertEquals(Popularity.MOST_MODELS, kept.size());
    assertFalse(kept.containsKey(model("seldom")));
  }

  @Test
  void twoServers_overOneRepository_leaveAWholeFileOfOneOfThem() throws Exception {
    CountDownLatch begun = new CountDownLatch(2);
    List<Thread> servers =
        Stream.of("a", "b")
            .map(
                name ->
                    Thread.startVirtualThread(
                        () -> {
                          Served served = new Served();
                          begun.countDown();
                          for (int i = 0; i < 50; i++) {
                            served.ask(name, 1);
                            served.end();
                          }
                        }))
            .toList();
    begun.await();
    while (servers.stream().anyMatch(Thread::isAlive)) {
      Popularity reader = new Popularity(file, HALF_LIFE, Map::of, () -> 0);
      assertTrue(reader.all().size() <= 2);
    }
    Map<ModelVersion, Double> last = new Served().popularity.all();
    assertTrue(
        last.values().stream().anyMatch(each -> Math.abs(each - Math.log(50)) < EXACT),
        last.toString());
    try (Stream<Path> left = Files.list(WholeFile.folderOf(file))) {
      assertEquals(List.of(file), left.toList(), "no draft is left");
    }
  }

  @Test
  void twoRepositories_overOneCache_haveFilesOfTheirOwn() {
    assertFalse(Popularity.file(cache, Path.of("others")).equals(file));
    assertEquals(Popularity.file(cache, Path.of("x/../models").toAbsolutePath()), file);
  }
}

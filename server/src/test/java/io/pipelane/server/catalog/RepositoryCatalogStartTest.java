package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.Patience;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.catalog.ModelCatalog.State;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Filter;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a server's catalogue does at its start, and what it says. */
@Timeout(60)
class RepositoryCatalogStartTest extends RepositoryCatalogFixture {
  @Test
  void start_foldersWithoutModel_areToldInALine() throws Exception {
    for (String empty : List.of("a", "b", "c")) {
      Files.createDirectory(repository.resolve(empty));
    }
    Logger logger = Logger.getLogger(RepositoryCatalog.class.getName());
    List<String> lines = new CopyOnWriteArrayList<>();
    Filter telling =
        record -> {
          lines.add(new SimpleFormatter().formatMessage(record));
          return true;
        };
    logger.setFilter(telling);
    try (PipelaneServer server = start()) {
      server.imports().join();
      assertEquals(State.UNAVAILABLE, entry(server, "b").state());
    } finally {
      logger.setFilter(null);
    }
    List<String> told = lines.stream().filter(line -> line.contains("cannot be reg")).toList();
    assertEquals(1, told.size(), lines::toString);
    assertTrue(
        told.getFirst().startsWith("a, b, c cannot be registered: it has no"), told.getFirst());
  }

  /** Which models go into service, one after another. */
  private static final class ServiceOrder extends Handler implements AutoCloseable {
    private final Logger logger = Logger.getLogger(VersionLifecycle.class.getName());
    private final List<String> order = new ArrayList<>();

    ServiceOrder() {
      logger.addHandler(this);
    }

    @Override
    public synchronized void publish(LogRecord line) {
      if (line.getMessage().endsWith("is in service")) {
        order.add(String.valueOf(line.getParameters()[0]));
      }
    }

    synchronized List<String> order() {
      return List.copyOf(order);
    }

    @Override
    public void flush() {
      // Nothing is kept back.
    }

    @Override
    public void close() {
      logger.removeHandler(this);
    }
  }

  /** One import may take minutes. */
  @Test
  void start_whatWasImportedEarlier_isServedBeforeWhatIsNew() throws Exception {
    try (PipelaneServer server = start()) {
      server.imports().join();
      // What a file that has just been written holds is not remembered.
      Patience.begin()
          .awaitTrue(
              "the file's hash is remembered",
              () -> {
                server.catalog().load("small").join();
                return Files.exists(cache.resolve("hashes.json"));
              });
    }
    write("new", 41);
    try (ServiceOrder log = new ServiceOrder();
        PipelaneServer server = start()) {
      server.imports().join();
      assertEquals(List.of("small/1", "new/1"), log.order());
    }
  }

  /** A start imports nothing that cannot come of it; an owner who loads it wants to know. */
  @Test
  void start_whatWasRefusedEarlier_isNotTried_untilItIsLoaded() throws Exception {
    Files.writeString(Files.createDirectories(file("bad").getParent()).resolve("model.onnx"), "x");
    String reason;
    try (PipelaneServer server = start()) {
      server.imports().join();
      reason = entry(server, "bad").reason();
      assertFalse(reason.contains("remembered"), reason);
    }
    try (PipelaneServer server = start()) {
      server.imports().join();
      assertEquals(
          reason
              + " (remembered of an earlier import of the same files; load the model by name to try"
              + " again)",
          entry(server, "bad").reason());
      server.catalog().reload("bad").exceptionally(_ -> null).join();
      assertTrue(entry(server, "bad").reason().contains("remembered"));
      assertEquals("bad/1: " + reason, failure(server.catalog().load("bad")).getMessage());
      assertEquals(reason, entry(server, "bad").reason());
    }
  }

  private static void ask(PipelaneServer server, String model, int times) {
    for (int i = 0; i < times; i++) {
      server.devices().warmUp(new ModelVersion(model, 1));
    }
  }

  @Test
  void restart_beginsWithTheMostPopular_andForgetsWhatHasGone() throws Exception {
    write("often", 2);
    write("seldom", 3);
    write("never", 4);
    try (PipelaneServer server = start()) {
      server.built().join();
      assertEquals(1, server.switcher().memory().sessions().built(), "they are variants");
      ask(server, "seldom", 1);
      ask(server, "often", 3);
    }
    try (ServiceOrder service = new ServiceOrder();
        PipelaneServer server = start()) {
      server.built().join();
      assertEquals(List.of("often/1", "seldom/1"), service.order().subList(0, 2));
      // Of equals those come first whose hashes are remembered.
      assertEquals(Set.of("never/1", "small/1"), Set.copyOf(service.order().subList(2, 4)));
      assertEquals(0, server.switcher().memory().weights().lentBytes());
      server.switcher().verify();
    }
    Files.delete(file("often"));
    Files.delete(repository.resolve("often/1"));
    Files.delete(repository.resolve("often"));
    try (PipelaneServer server = start()) {
      server.built().join();
    }
    Popularity kept =
        new Popularity(
            Popularity.file(cache, repository), Duration.ofMinutes(2), Map::of, System::nanoTime);
    assertEquals(Set.of(new ModelVersion("seldom", 1)), kept.all().keySet());
  }
}

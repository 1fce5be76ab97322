package io.pipelane.demo;

import io.pipelane.config.ConfigLoader;
import io.pipelane.config.value.ByteSize;
import io.pipelane.demo.plain.Reference;
import io.pipelane.demo.report.LedgerRow;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.PipelaneServer;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.memory.account.Ledger;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A Pipelane server in this process. */
public final class LocalServer implements DemoServer {
  private static final Pattern GPU = Pattern.compile("cuda:(\\d{1,3})");

  private @Nullable PipelaneServer server;

  @Override
  public URI start(
      Path repository, String device, @Nullable String isolation, ByteSize memory, int httpPort) {
    Map<String, String> flags = new HashMap<>();
    flags.put("repository.path", repository.toString());
    flags.put("device.kind", device);
    flags.put("device.memory", memory.bytes() + "B");
    flags.put("server.http-port", Integer.toString(httpPort));
    if (isolation != null) {
      flags.put("workers.isolation", isolation);
    }
    PipelaneServer started =
        PipelaneServer.start(ConfigLoader.load(null, System.getenv(), flags).config());
    server = started;
    return URI.create(started.url());
  }

  @Override
  public void evict(String model) {
    running().devices().evict(new ModelVersion(model, 1));
  }

  @Override
  public List<Weights> weights() {
    return running().devices().memory().values().stream()
        .flatMap(memory -> memory.weights().entries().stream())
        .map(
            entry ->
                new Weights(
                    entry.model().model(),
                    entry.weightBytes(),
                    entry.inPlaceBytes(),
                    entry.groups()))
        .toList();
  }

  @Override
  public WorkersOverview workers() {
    return running().devices().workers();
  }

  @Override
  public String device() {
    return String.join(", ", running().devices().memory().keySet());
  }

  @Override
  public Reference reference() {
    Matcher gpu = GPU.matcher(device());
    return gpu.lookingAt()
        ? Reference.onGpu(Integer.parseInt(gpu.group(1)))
        : Reference.ON_PROCESSOR;
  }

  @Override
  public List<LedgerRow> ledger() {
    List<LedgerRow> rows = new ArrayList<>();
    running().devices().memory().values().forEach(memory -> addRows(memory, rows));
    return rows;
  }

  private static void addRows(MemoryOverview memory, List<LedgerRow> rows) {
    Ledger weights = memory.weights();
    for (Ledger.Entry entry : weights.entries()) {
      if (entry.residentBytes() > 0) {
        String part = entry.residentBytes() < entry.weightBytes() ? ", its first layers" : "";
        String name = "weights of " + entry.model().model() + part;
        rows.add(new LedgerRow(name, entry.residentBytes()));
      }
    }
    long free = weights.capacityBytes() - weights.lentBytes();
    rows.add(new LedgerRow("free for weights", free));
    rows.add(new LedgerRow("session constants (counted apart)", memory.constantBytes()));
    rows.add(new LedgerRow("lanes' run-time memory (counted apart)", memory.laneBytes()));
    if (memory.stateBytes() > 0) {
      rows.add(new LedgerRow("states of sequences (counted apart)", memory.stateBytes()));
    }
    if (memory.frameworkBytes() > 0) {
      rows.add(
          new LedgerRow("libraries and worker processes (counted apart)", memory.frameworkBytes()));
    }
  }

  @Override
  public void awaitStop() throws InterruptedException {
    running().drainOnExit();
    new CountDownLatch(1).await();
  }

  @Override
  public void close() {
    if (server != null) {
      server.close();
    }
  }

  private PipelaneServer running() {
    return Objects.requireNonNull(server, "the server was not started");
  }
}

package io.pipelane.bench.tiers;

import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.PageCache;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.Results;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;

/** The measurement of one model, which its server has alone. */
final class TiersRounds implements AutoCloseable {
  private final LocalPipelane server;
  private final AskedModel asked;
  private final LocalCaller caller;
  private final Path weights;
  private final long bytes;
  private final DirectReader reader;
  private final FilledTier tier;

  /**
   * Finds the file that weights come from.
   *
   * @param cache where derived files are
   * @param threads of the direct reader
   */
  TiersRounds(LocalPipelane server, AskedModel asked, Path cache, int threads)
      throws IOException, InterruptedException {
    this.server = server;
    this.asked = asked;
    caller = server.caller(asked, Priority.ONLINE);
    bytes = server.memory().weights().entries().getFirst().weightBytes();
    try (Stream<Path> files = Files.walk(cache)) {
      weights =
          files
              .filter(file -> file.endsWith("weights.bin"))
              .filter(file -> file.toFile().length() == bytes)
              .findFirst()
              .orElseThrow(() -> new IOException("no weights of " + bytes + " bytes in " + cache));
    }
    tier = new FilledTier(weights);
    reader = new DirectReader(weights, threads);
  }

  /** Measures a round. */
  void measure(Duration length, Results results) throws Exception {
    String row = asked.name();
    double warm = Timing.medianMillis(caller, length);
    server.evict(asked.model());
    double fromMemory = Timing.millis(caller);

    onDiskOnly();
    double fromDisk = Timing.millis(caller);
    double before = reader.bytesPerSecond();
    onDiskOnly();
    long readBefore = bytesRead();
    double transferMillis = Timing.millis(() -> server.warmUp(asked.model()));
    long read = bytesRead() - readBefore;
    double after = reader.bytesPerSecond();
    double direct = (before + after) / 2;
    onDiskOnly();
    double full = tier.steadyBytesPerSecond();
    double afterFull = reader.bytesPerSecond();
    onDiskOnly();
    double first = tier.firstBytesPerSecond();
    double afterFirst = reader.bytesPerSecond();
    double thrownAway = reader.thrownAwayBytesPerSecond();
    double transfer = bytes * 1e3 / transferMillis;
    double serial = bytes * 1e3 / direct + warm;

    results.add(row, TiersColumns.DIRECT, direct / 1e6);
    results.add(row, TiersColumns.THROWN_AWAY, thrownAway / 1e6);
    results.add(row, TiersColumns.TRANSFER, transfer / 1e6);
    results.add(row, TiersColumns.RATIO, transfer / direct);
    results.add(row, TiersColumns.FULL, full / 1e6);
    results.add(row, TiersColumns.FULL_RATIO, full / ((after + afterFull) / 2));
    results.add(row, TiersColumns.FIRST, first / 1e6);
    results.add(row, TiersColumns.FIRST_RATIO, first / ((afterFull + afterFirst) / 2));
    results.add(row, TiersColumns.READ, read / 1e6);
    results.add(row, TiersColumns.WARM, warm);
    results.add(row, TiersColumns.MEMORY, fromMemory);
    results.add(row, TiersColumns.DISK, fromDisk);
    results.add(row, TiersColumns.SERIAL, serial);
    results.add(row, TiersColumns.SERIAL_RATIO, fromDisk / serial);
    results.add(row, TiersColumns.WEIGHTS, bytes / 1e6);
  }

  /** What this process has had read from disk, so far. */
  private static long bytesRead() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/io")).stream()
        .filter(line -> line.startsWith("read_bytes: "))
        .mapToLong(line -> Long.parseLong(line.substring("read_bytes: ".length())))
        .findFirst()
        .orElseThrow();
  }

  private void onDiskOnly() throws IOException {
    server.evict(asked.model());
    PageCache.drop(weights);
  }

  @Override
  public void close() throws IOException {
    reader.close();
    tier.close();
  }
}

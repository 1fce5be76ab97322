package io.pipelane.server;

import io.pipelane.config.DeviceConfig;
import io.pipelane.config.DeviceSelection;
import io.pipelane.config.ImportConfig;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.ServerConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.CpuSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.modelstore.host.MemoryPinner;
import io.pipelane.modelstore.importing.ImportSettings;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.RepositoryCatalog;
import io.pipelane.server.http.HttpServer;
import io.pipelane.server.http.HttpSettings;
import io.pipelane.server.http.Transport;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.memory.EqualBytesGrouping;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** A server from its start to its end: device, switcher, catalogue and HTTP front end. */
public final class PipelaneServer implements AutoCloseable {
  private static final int GROUPS = 8;
  private static final long SMALLEST_GROUP = 1L << 20;

  private final Duration drainTimeout;
  private final Switcher switcher;
  private final RepositoryCatalog catalog;
  private final HttpServer http;
  private final CompletableFuture<Void> imports;

  /** What has been opened, latest first; closed in this order. */
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();

  private PipelaneServer(PipelaneConfig config) throws IOException {
    drainTimeout = config.server().drainTimeout();
    Path library = OrtLibrary.locate(config.runtime().library(), config.repository().cache());
    try {
      CpuDevice device = open(openDevice(config));
      DeviceMemory memory = new DeviceMemory(device.persistent());
      HostTier hostTier = open(new HostTier(config.hostTier().memory(), MemoryPinner.NONE));
      switcher =
          open(
              new Switcher(
                  device,
                  memory,
                  new CpuSessionFactory(device, library, memory, config.runtime().threads()),
                  switcherSettings(config),
                  model -> hostTier.open(model.weights(), model.plan().weightBytes())));
      Importer importer =
          Importer.open(
              config.repository().cache(),
              importSettings(config, library, switcher.runtimeVersion()));
      catalog =
          open(
              new RepositoryCatalog(
                  new Repository(config.repository().path().orElseThrow()),
                  importer,
                  switcher,
                  config.imports().concurrency()));
      http = open(HttpServer.start(httpSettings(config.server()), catalog, switcher));
      imports = catalog.start();
    } catch (IOException | RuntimeException | Error e) {
      try {
        closeOpened();
      } catch (RuntimeException second) {
        e.addSuppressed(second);
      }
      throw e;
    }
  }

  private <T extends AutoCloseable> T open(T part) {
    opened.push(part);
    return part;
  }

  /** Stops at the first part that cannot be closed: those below it may still be in use. */
  private void closeOpened() {
    for (AutoCloseable part = opened.peek(); part != null; part = opened.peek()) {
      try {
        part.close();
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException("a part of the server cannot be closed", e);
      }
      opened.remove();
    }
  }

  /**
   * Starts a server; it is ready once its repository has been scanned, imports go on behind it.
   *
   * @throws StatusException when it cannot start
   */
  public static PipelaneServer start(PipelaneConfig config) {
    try {
      return new PipelaneServer(config);
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "the cache folder " + config.repository().cache() + " cannot be used: " + e.getMessage(),
          e);
    }
  }

  /**
   * Serves until the process is told to stop, then finishes the running requests and exits: with 0,
   * or 1 when some of them took longer than {@code server.drain-timeout}.
   *
   * @param out told where the server listens
   * @throws StatusException when it cannot start
   */
  public static void run(PipelaneConfig config, PrintStream out) throws InterruptedException {
    PipelaneServer server = start(config);
    server.drainOnExit();
    out.println("Listening on " + server.url());
    out.flush();
    new CountDownLatch(1).await();
  }

  /**
   * From now on the process, told to stop, finishes the running requests first and exits as {@link
   * #run} says, whatever status it was to exit with.
   */
  public void drainOnExit() {
    Thread stop =
        Thread.ofPlatform()
            .unstarted(
                () -> {
                  boolean finished = drain();
                  // A shutdown hook cannot return an exit status otherwise.
                  Runtime.getRuntime().halt(finished ? 0 : 1);
                });
    Runtime.getRuntime().addShutdownHook(stop);
  }

  /** Where the server listens. */
  public InetSocketAddress address() {
    return http.address();
  }

  /** The same as an address that clients take. */
  public String url() {
    return http.url();
  }

  public ModelCatalog catalog() {
    return catalog;
  }

  public Switcher switcher() {
    return switcher;
  }

  /**
   * Completes when everything that was in the repository at the start is READY or refused, or when
   * the server stops.
   */
  public CompletableFuture<Void> imports() {
    return imports;
  }

  /**
   * Takes no more requests, ends the imports, and finishes the requests that run, for as long as
   * the configuration allows.
   *
   * @return whether all were finished
   */
  public boolean drain() {
    long deadline = System.nanoTime() + drainTimeout.toNanos();
    catalog.stop();
    boolean answered = http.drain(drainTimeout);
    long rest = Math.max(0, deadline - System.nanoTime());
    return switcher.drain(Duration.ofNanos(rest)) && answered;
  }

  /** Drains, then gives everything back; does nothing the second time. */
  @Override
  public void close() {
    if (!opened.isEmpty()) {
      drain();
      closeOpened();
    }
  }

  private static CpuDevice openDevice(PipelaneConfig config) {
    DeviceConfig settings = config.device();
    return switch (settings.kind()) {
      case DeviceSelection.Cpu cpu -> openCpu(config);
      case DeviceSelection.Auto auto -> openCpu(config);
      case DeviceSelection.Cuda cuda ->
          throw new StatusException(
              Status.UNIMPLEMENTED,
              "device.kind is " + cuda + ", but this version runs on the processor only; use cpu");
    };
  }

  private static CpuDevice openCpu(PipelaneConfig config) {
    return CpuDevice.open(
        config.device().memory(), config.device().pageSize(), config.link().bandwidth());
  }

  private static SwitcherSettings switcherSettings(PipelaneConfig config) {
    DeviceConfig device = config.device();
    long page = device.pageSize().bytes();
    return new SwitcherSettings(
        device.memory().bytes() / page * page,
        device.workingMemory().bytes(),
        device.lanes() == 0 ? Runtime.getRuntime().availableProcessors() : device.lanes(),
        config.queue().maxRequests(),
        config.queue().maxBytes().bytes(),
        new EqualBytesGrouping(GROUPS, SMALLEST_GROUP),
        config.runtime().prepack(),
        config.runtime().prepackAfter());
  }

  /** How a configuration has models imported. */
  public static ImportSettings importSettings(
      PipelaneConfig config, Path library, String runtimeVersion) {
    ImportConfig settings = config.imports();
    return new ImportSettings(
        library,
        runtimeVersion,
        Optimization.valueOf(config.runtime().optimization().name()),
        new CutSettings(settings.minSegment().bytes(), settings.maxSegments()),
        settings.timeout(),
        settings.memory(),
        settings.maxFileSize());
  }

  private static HttpSettings httpSettings(ServerConfig server) {
    int loops = server.eventLoops();
    return new HttpSettings(
        server.host(),
        server.httpPort(),
        Transport.valueOf(server.transport().name()),
        loops == 0 ? Math.max(1, Runtime.getRuntime().availableProcessors() / 2) : loops,
        Math.toIntExact(server.maxRequestSize().bytes()),
        server.maxConnections(),
        server.idleTimeout());
  }
}

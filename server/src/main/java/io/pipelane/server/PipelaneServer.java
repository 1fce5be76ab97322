package io.pipelane.server;

import io.pipelane.config.DeviceConfig;
import io.pipelane.config.DeviceSelection;
import io.pipelane.config.ImportConfig;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.ServerConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** A server from its start to its end: device, switcher, catalogue and HTTP front end. */
public final class PipelaneServer implements AutoCloseable {
  private static final int GROUPS = 8;
  private static final long SMALLEST_GROUP = 1L << 20;

  private final Duration drainTimeout;
  private final Device device;
  private final HostTier hostTier;
  private final Switcher switcher;
  private final RepositoryCatalog catalog;
  private final HttpServer http;
  private final CompletableFuture<Void> imports;

  private PipelaneServer(PipelaneConfig config) throws IOException {
    drainTimeout = config.server().drainTimeout();
    Path library = OrtLibrary.locate(config.runtime().library(), config.repository().cache());
    device = openDevice(config);
    hostTier = new HostTier(config.hostTier().memory(), MemoryPinner.NONE);
    switcher =
        new Switcher(
            device,
            library,
            switcherSettings(config),
            model -> hostTier.open(model.weights(), model.plan().weightBytes()));
    Importer importer =
        Importer.open(
            config.repository().cache(),
            importSettings(config, library, switcher.runtimeVersion()));
    catalog =
        new RepositoryCatalog(
            new Repository(config.repository().path().orElseThrow()),
            importer,
            switcher,
            config.imports().concurrency());
    http = HttpServer.start(httpSettings(config.server()), catalog, switcher);
    imports = catalog.start();
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
    Thread stop =
        Thread.ofPlatform()
            .unstarted(
                () -> {
                  boolean finished = server.drain();
                  // A shutdown hook cannot return an exit status otherwise.
                  Runtime.getRuntime().halt(finished ? 0 : 1);
                });
    Runtime.getRuntime().addShutdownHook(stop);
    out.println("Listening on " + server.url());
    out.flush();
    new CountDownLatch(1).await();
  }

  /** Where the server listens. */
  public InetSocketAddress address() {
    return http.address();
  }

  public String url() {
    InetSocketAddress address = address();
    return "http://" + address.getAddress().getHostAddress() + ":" + address.getPort();
  }

  public ModelCatalog catalog() {
    return catalog;
  }

  public Switcher switcher() {
    return switcher;
  }

  /** Completes when everything that was in the repository at the start is READY or refused. */
  public CompletableFuture<Void> imports() {
    return imports;
  }

  /**
   * Takes no more requests and finishes those that run, for as long as the configuration allows.
   *
   * @return whether all were finished
   */
  public boolean drain() {
    catalog.close();
    boolean answered = http.drain(drainTimeout);
    return switcher.drain(drainTimeout) && answered;
  }

  /** Drains, then gives everything back. */
  @Override
  public void close() {
    drain();
    switcher.close();
    hostTier.close();
    device.close();
  }

  private static Device openDevice(PipelaneConfig config) {
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

  private static Device openCpu(PipelaneConfig config) {
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
        config.runtime().threads(),
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

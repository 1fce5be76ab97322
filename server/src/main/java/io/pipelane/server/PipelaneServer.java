package io.pipelane.server;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.SecurityConfig;
import io.pipelane.config.section.TracingConfig;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.modelstore.OrphanedChildren;
import io.pipelane.modelstore.importing.ImportSettings;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.VersionChoices;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.TokenSettings;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.PollThread;
import io.pipelane.server.catalog.RepositoryCatalog;
import io.pipelane.server.device.DeviceOpening;
import io.pipelane.server.device.IdleCalibration;
import io.pipelane.server.device.OpenDevices;
import io.pipelane.server.device.OpenParts;
import io.pipelane.server.device.ServingDevices;
import io.pipelane.server.ensemble.EnsembleCatalog;
import io.pipelane.server.ensemble.EnsembleService;
import io.pipelane.server.hosts.HostSettings;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.metrics.HostCounts;
import io.pipelane.server.metrics.JobCounts;
import io.pipelane.server.metrics.Metrics;
import io.pipelane.server.metrics.PlacementCounts;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.OutgoingTls;
import io.pipelane.server.net.Tls;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.observability.LogSettings;
import io.pipelane.server.observability.ObservationSettings;
import io.pipelane.server.observability.RequestTracing;
import io.pipelane.server.observability.SpanCollector;
import io.pipelane.server.observability.TraceSetting;
import io.pipelane.server.observability.TraceSettings;
import io.pipelane.server.placement.JobPlacement;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.server.state.StateSource;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.warmup.WarmUpRuns;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.Switcher;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A server from its start to its end: devices, catalogue and front ends. */
public final class PipelaneServer implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(PipelaneServer.class.getName());

  /** Where Linux keeps POSIX shared memory. */
  private static final Path SHARED_MEMORY = Path.of("/dev/shm");

  /** What ends once nothing runs has so long for that, though time is up for what runs. */
  private static final Duration LEAST_TO_END = Duration.ofSeconds(1);

  /** A worker that notices its server's death has half a second for its run, 2 for its device. */
  private static final Duration LONGEST_ORPHAN_END = Duration.ofSeconds(3);

  /** Import processes at a time beside those of first imports, whatever these do. */
  private static final int IMPORTS_OF_LOADS = 2;

  private final Duration drainTimeout;
  private final ServingDevices devices;
  private final TransferMemory transferMemory;
  private final RepositoryCatalog repositoryCatalog;
  private final EnsembleCatalog catalog;
  private final EnsembleService service;
  private final FrontEnds frontEnds;
  private final Optional<Jobs> jobs;
  private final Optional<Hosts> hosts;
  private final CompletableFuture<Void> imports;

  private final OpenParts opened;

  private PipelaneServer(PipelaneConfig config, Consumer<String> announcements, OpenParts parts)
      throws IOException {
    opened = parts;
    drainTimeout = config.server().drainTimeout();
    Path library = OrtLibrary.locate(config.runtime().library(), config.repository().cache());
    OrphanedChildren.end(LONGEST_ORPHAN_END);
    try {
      OpenDevices open = DeviceOpening.open(config, library, opened, announcements);
      devices = open.serving();
      transferMemory = open.transferMemory();
      ImportSettings importSettings =
          CatalogSettings.imports(config, library, devices.runtimeVersion(), open.targets().get());
      Importer importer =
          Importer.open(
              config.repository().cache(),
              () -> importSettings.withTarget(open.targets().get()),
              config.imports().concurrency() + IMPORTS_OF_LOADS);
      Path folder = config.repository().path().orElseThrow();
      VersionChoices choices = VersionChoices.of(folder, config.repository().cache());
      Repository repository = new Repository(folder, config.repository().modelName(), choices::of);
      repositoryCatalog =
          opened.add(
              new RepositoryCatalog(
                  repository,
                  choices,
                  CatalogSettings.writer(config.repository()),
                  importer,
                  devices,
                  new WarmUpRuns(devices, WarmUpRuns.LONGEST)::run,
                  config.imports().concurrency(),
                  CatalogSettings.popularity(config, devices::uses)));
      TraceSettings traceSettings = traceSettings(config.tracing());
      InferenceStatistics statistics =
          new InferenceStatistics(tracing(config.tracing(), traceSettings));
      catalog =
          new EnsembleCatalog(
              repositoryCatalog, repository, devices.spans(), Thread::startVirtualThread);
      Optional<Tls> tls = FrontEndSettings.tls(config.server()).map(Tls::open).map(opened::add);
      hosts =
          config
              .hosts()
              .etcd()
              .map(_ -> opened.add(OutgoingTls.open(config.hosts().authorities(), tls)))
              .map(to -> Hosts.inEtcd(HostSettings.of(config.hosts(), to.http(), to.grpc())));
      LocalLoad load = new LocalLoad(devices, devices::stallNanos, devices::lanes);
      service =
          new EnsembleService(
              catalog,
              hosts.isPresent() ? load : devices,
              devices.spans(),
              statistics,
              new TransferBuffers(transferMemory));
      JobsOpening jobsOpening = new JobsOpening(config, devices, opened);
      Optional<JobPlacement> placement = jobsOpening.placement(open.targets().get());
      jobs = jobsOpening.jobs(catalog, service, statistics, placement);
      Metrics metrics =
          new Metrics(
              () -> statistics.all(catalog::versions),
              devices::states,
              devices::hostTier,
              devices::workers,
              () -> jobs.map(Jobs::counts).orElse(JobCounts.NONE),
              () -> placement.map(JobPlacement::counts).orElse(PlacementCounts.NONE),
              () -> hosts.map(Hosts::counts).orElse(HostCounts.ALONE));
      StateSource state =
          new StateSource(
              catalog,
              statistics,
              devices::states,
              devices::workers,
              devices::devices,
              () -> jobs.map(Jobs::count).orElse(0),
              () -> jobs.map(Jobs::placed).orElse(List.of()),
              InstantSource.system());
      Backend backend =
          new Backend(
              catalog,
              service,
              statistics,
              metrics,
              state,
              access(config.security()),
              jobs,
              new ObservationSettings(traceSettings, LogSettings.ofProcess()),
              opened.add(sharedMemory(config)));
      frontEnds = opened.add(FrontEnds.start(config.server(), tls, backend, hosts, transferMemory));
      Optional<PollThread> poll =
          PollThread.every(config.repository().poll(), repository::stamps, catalog::reload);
      catalog.start();
      imports = repositoryCatalog.start();
      poll.map(opened::add).ifPresent(PollThread::start);
      if (open.calibration().isPresent()) {
        IdleCalibration later = open.calibration().get();
        CompletableFuture<Void> _ = repositoryCatalog.built().whenComplete((_, _) -> later.start());
      }
      hosts.ifPresent(
          others ->
              opened
                  .add(others)
                  .start(URI.create(frontEnds.url()), frontEnds.transport(), catalog, load));
    } catch (IOException | RuntimeException | Error e) {
      opened.closeAfter(e);
      throw e;
    }
  }

  /** What makes spans of requests; null where they would go nowhere. */
  private @Nullable RequestTracing tracing(TracingConfig config, TraceSettings settings) {
    return SpanCollector.of(config)
        .map(to -> RequestTracing.to(to, config.ratio(), settings))
        .map(opened::add)
        .orElse(null);
  }

  /** Every request, where traces go anywhere; the configured share of them is taken after that. */
  private static TraceSettings traceSettings(TracingConfig config) {
    return config.endpoint().isPresent()
        ? new TraceSettings(
            new TraceSetting(TraceSetting.Level.TIMESTAMPS, 1, TraceSetting.UNLIMITED))
        : TraceSettings.nowhere();
  }

  private static SharedMemory sharedMemory(PipelaneConfig config) {
    return config.security().sharedMemory()
        ? SharedMemory.in(SHARED_MEMORY, config.server().maxRequestSize().bytes())
        : SharedMemory.off();
  }

  /**
   * Starts a server; it is ready once its repository has been scanned, imports go on behind it.
   *
   * @throws StatusException when it cannot start
   */
  public static PipelaneServer start(PipelaneConfig config) {
    return start(config, line -> LOG.log(Level.INFO, line));
  }

  /**
   * The same.
   *
   * @param announcements told, in a line each, what the server runs on
   */
  public static PipelaneServer start(PipelaneConfig config, Consumer<String> announcements) {
    return start(config, announcements, new OpenParts());
  }

  private static PipelaneServer start(
      PipelaneConfig config, Consumer<String> announcements, OpenParts parts) {
    try {
      return new PipelaneServer(config, announcements, parts);
    } catch (IOException e) {
      throw JobsOpening.unusable("repository.cache", config.repository().cache(), e);
    }
  }

  /**
   * Serves until the process is told to stop, then finishes the running requests and exits: with 0,
   * or 1 when some of them took longer than {@code server.drain-timeout}. A process that is told so
   * while the server starts gives back what has been opened, and exits with 0 as well, or with 1
   * when that took as long.
   *
   * @param out told what the server runs on, and where it listens
   * @throws StatusException when it cannot start
   */
  public static void run(PipelaneConfig config, PrintStream out) throws InterruptedException {
    OpenParts parts = new OpenParts();
    OrderlyExit exit = OrderlyExit.from(parts, config.server().drainTimeout());
    try {
      PipelaneServer server = start(config, out::println, parts);
      exit.started(server);
      server.frontEnds.announce(out);
      out.flush();
    } catch (RuntimeException | Error e) {
      if (!exit.startFailed()) {
        throw e;
      }
    }
    new CountDownLatch(1).await();
  }

  /**
   * From now on the process, told to stop, finishes the running requests first and exits as {@link
   * #run} says, whatever status it was to exit with.
   */
  public void drainOnExit() {
    OrderlyExit.from(opened, drainTimeout).started(this);
  }

  /** Where the server listens. */
  public InetSocketAddress address() {
    return frontEnds.address();
  }

  /** The same as an address that clients take. */
  public String url() {
    return frontEnds.url();
  }

  /** Where gRPC clients connect, such as {@code 127.0.0.1:8001}; empty without gRPC. */
  public Optional<String> grpcAddress() {
    return frontEnds.grpcAddress();
  }

  public ModelCatalog catalog() {
    return catalog;
  }

  /** Answers for all that the catalogue has, ensembles as well. */
  public InferenceService service() {
    return service;
  }

  public ServingDevices devices() {
    return devices;
  }

  /** Where large requests and answers lie best, in this process as well; as far as it goes. */
  public TransferMemory transferMemory() {
    return transferMemory;
  }

  /**
   * What serves from the only device.
   *
   * @throws IllegalStateException when there are several
   */
  public Switcher switcher() {
    return devices.only();
  }

  /**
   * Completes when everything that was in the repository at the start is READY or refused, or when
   * the server stops.
   */
  public CompletableFuture<Void> imports() {
    return imports;
  }

  /**
   * Completes when the sessions of all that are built as far as there is room, without anybody
   * having asked, or when the server stops.
   */
  public CompletableFuture<Void> built() {
    return repositoryCatalog.built();
  }

  /**
   * Takes no more requests, ends the imports, lets jobs be where they are, and finishes the
   * requests that run, for as long as the configuration allows.
   *
   * @return whether all were finished
   */
  public boolean drain() {
    long deadline = System.nanoTime() + drainTimeout.toNanos();
    hosts.ifPresent(Hosts::leave);
    frontEnds.beginDrain();
    repositoryCatalog.stop();
    jobs.ifPresent(Jobs::beginStop);
    devices.beginDrain();
    CompletableFuture<Void> release = releaseOfflineLater();
    boolean answered = frontEnds.drain(until(deadline));
    release.cancel(false);
    devices.releaseOffline();
    if (jobs.isPresent()) { // What they keep of states is read while the devices still answer.
      answered &= jobs.get().stop(untilOrLeast(deadline));
    }
    boolean ended = devices.drain(untilOrLeast(deadline));
    if (!ended) {
      LOG.log(Level.WARNING, "devices end with runs under way, as time is up");
    }
    hosts.ifPresent(Hosts::close);
    return ended && answered;
  }

  /**
   * Online requests that do not end keep what is offline from its end no longer than half the time.
   */
  private CompletableFuture<Void> releaseOfflineLater() {
    return CompletableFuture.runAsync(
        devices::releaseOffline,
        CompletableFuture.delayedExecutor(drainTimeout.toNanos() / 2, TimeUnit.NANOSECONDS));
  }

  private static Duration until(long deadline) {
    return Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
  }

  private static Duration untilOrLeast(long deadline) {
    Duration left = until(deadline);
    return left.compareTo(LEAST_TO_END) < 0 ? LEAST_TO_END : left;
  }

  /** Drains, then gives everything back; does nothing the second time. */
  @Override
  public void close() {
    if (!opened.isEmpty()) {
      drain();
      opened.close();
    }
  }

  private AccessControl access(SecurityConfig security) {
    OptionalInt managementPort =
        security.managementPort().map(OptionalInt::of).orElse(OptionalInt.empty());
    return opened.add(
        AccessControl.of(security.apiKeys(), TokenSettings.of(security), managementPort));
  }
}

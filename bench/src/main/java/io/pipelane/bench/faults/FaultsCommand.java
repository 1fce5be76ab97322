package io.pipelane.bench.faults;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.faults.Clients.Asked;
import io.pipelane.bench.faults.Clients.Counts;
import io.pipelane.bench.faults.FaultyServer.Worker;
import io.pipelane.bench.faults.FaultyServer.Workers;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.model.ChainModel;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.Results;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.WorkersConfig;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.lanes.cpu.ProcessPriority;
import io.pipelane.lanes.process.settings.WorkerCrew;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench faults}: worker processes are killed and worse while clients ask. */
@Command(
    name = "faults",
    description =
        "Kills, hangs and garbles a server's worker processes, and the server, while "
            + "clients ask and compare every answer; tells how many requests were lost and how "
            + "long each fault was felt.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class FaultsCommand implements Callable<Integer> {
  private static final String SERVER_KILLED = "kill -9 of the server";
  private static final double P99 = 0.99;
  private static final String MEMORY = "20MiB";
  private static final int ANSWERS_AFTERWARDS = 50;
  private static final long TICK_NANOS = 5_000_000;
  private static final long WARM_UP_NANOS = 4_000_000_000L;
  private static final long LIMIT_NANOS = 120_000_000_000L;

  /** A worker that is not lost within this time after a fault bears it. */
  private static final long BORNE_NANOS = 3_000_000_000L;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--requests",
      paramLabel = "N",
      defaultValue = "500",
      description = "Requests between two faults (${DEFAULT-VALUE}).")
  private int requests = 500;

  @Option(
      names = "--connections",
      paramLabel = "N",
      defaultValue = "4",
      description = "Clients that ask (${DEFAULT-VALUE}).")
  private int connections = 4;

  @Mixin private AcceleratorOptions device = new AcceleratorOptions(1);

  @Option(
      names = "--hang-timeout",
      paramLabel = "TIME",
      defaultValue = "500ms",
      description = "When a worker that does not get on is ended (${DEFAULT-VALUE}).")
  private String hangTimeout = "500ms";

  @Option(
      names = "--fault",
      paramLabel = "FAULT,...",
      split = ",",
      description = "Which faults to make, all unless told otherwise: ${COMPLETION-CANDIDATES}.")
  private List<FaultKind> faults = new ArrayList<>(EnumSet.allOf(FaultKind.class));

  @Option(
      names = "--offline",
      paramLabel = "N",
      defaultValue = "0",
      description = "Clients that ask an offline model meanwhile (${DEFAULT-VALUE}).")
  private int offline;

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description =
          "The server's configuration, on top of the benchmark's; may be repeated. With"
              + " workers.offline=own faults are those of the offline model's worker.")
  private Map<String, String> overrides = Map.of();

  @Option(names = "--spare-server", description = "Do not kill the server itself.")
  private boolean spareServer;

  /** As they are unless overridden. */
  private WorkersConfig chosen = PipelaneConfig.of(Map.of()).workers();

  @Override
  public Integer call() throws Exception {
    if (connections < 1 || connections > 1_000 || offline < 0 || offline > 1_000) {
      throw new IllegalArgumentException(
          "--connections must be between 1 and 1000, --offline between 0 and 1000: "
              + (connections + " and " + offline));
    }
    chosen = PipelaneConfig.of(overrides).workers();
    if (isApart() && offline == 0) {
      throw new IllegalArgumentException(
          "--set workers.offline=own needs an offline model that is asked: --offline");
    }
    if (isTakenInTurns() && offline > 0) {
      throw new IllegalArgumentException(
          "--offline has another model asked all the time: not with --set workers.switch="
              + (chosen.switchOn().name().toLowerCase(Locale.ROOT) + ", where workers change"));
    }
    Path work = options.work();
    FaultyModels.write(
        repository(work), offline > 0, chosen.switchOn() == WorkersConfig.SwitchOn.TENANT);
    Results results =
        new Results(FaultsColumns.TITLE, FaultsColumns.of(options.rounds()), FaultsColumns.NOTES);
    boolean sound = true;
    boolean onGpu = !(device.device() instanceof DeviceSelection.Cpu);
    try (CutOff measuring = options.publishIfCutOff(spec, results);
        FaultyServer server = start(work, 0);
        Clients clients = clients(server);
        Clients others = offlineClients(server)) {
      clients.awaitRight(requests);
      for (FaultKind fault : faults) {
        if (onGpu || !fault.isOfGpus()) {
          String name = fault.description(victim());
          Console.say(spec, name);
          Counts before = others.counts();
          sound &= measure(fault, name, server, clients, results);
          if (offline > 0) {
            sound &= addOffline(results, name, others.counts().since(before));
          }
        }
      }
      measuring.complete();
    }
    if (!spareServer) {
      sound &= measureServerKilled(work, results);
    }
    options.publish(
        spec,
        results,
        OrtEnvironment.getEnvironment().getVersion(),
        Map.of("device", device.device().toString()));
    return sound ? 0 : 1;
  }

  private boolean isApart() {
    return chosen.offline() == WorkersConfig.Offline.OWN;
  }

  /** The state of the worker that has the faults. */
  private String victim() {
    return isApart() ? "OFFLINE" : "ACTIVE";
  }

  private Path repository(Path work) {
    return work.resolve(offline > 0 ? "chains-offline" : "chains");
  }

  private FaultyServer start(Path work, int port) throws IOException, InterruptedException {
    Map<String, String> settings = device.serverSettings(work);
    settings.put("repository.path", repository(work).toString());
    settings.put("repository.cache", work.resolve("cache").toString());
    settings.put("device.memory", MEMORY);
    settings.put("device.page-size", "2MiB");
    settings.put("device.lanes", "2");
    settings.put("workers.isolation", "process");
    settings.put("workers.hang-timeout", hangTimeout);
    settings.put("server.http-port", Integer.toString(port));
    settings.putAll(overrides);
    return FaultyServer.start(
        work.resolve("faults.log"),
        settings.entrySet().stream().map(each -> each.getKey() + "=" + each.getValue()).toList());
  }

  /** Where workers change with the model they ask one at a time, until {@link #turn}. */
  private Clients clients(FaultyServer server) throws IOException, InterruptedException {
    Clients clients =
        new Clients(server.url(), FaultyModels.ONLINE, ChainModel.inputs(), connections);
    turn(clients, 0);
    return clients;
  }

  private Clients offlineClients(FaultyServer server) throws IOException, InterruptedException {
    List<Asked> asked = offline > 0 ? FaultyModels.OFFLINE : List.of();
    return new Clients(server.url(), asked, ChainModel.inputs(), offline);
  }

  /** Whether a standby takes over with each model that is asked. */
  private boolean isTakenInTurns() {
    return chosen.switchOn().keepsOwnersApart();
  }

  /** Has the next model asked, where a standby takes over for that. */
  private void turn(Clients clients, int times) {
    if (isTakenInTurns()) {
      clients.askAlone(times % FaultyModels.ONLINE.size());
    }
  }

  /** Answers whether every offline request was answered rightly. */
  private static boolean addOffline(Results results, String name, Counts counts) {
    long failed = counts.refused() + counts.unanswered();
    results.add(name, FaultsColumns.OFFLINE_TRIED, (double) counts.tried());
    results.add(name, FaultsColumns.OFFLINE_WRONG, (double) counts.wrong());
    results.add(name, FaultsColumns.OFFLINE_FAILED, (double) failed);
    return counts.wrong() + failed == 0;
  }

  private WorkerCrew crew() {
    return new WorkerCrew(chosen.standbys(), isApart(), ProcessPriority.USUAL, 1);
  }

  /** Answers whether every request was answered rightly, and the ledger exact. */
  private boolean measure(
      FaultKind fault, String name, FaultyServer server, Clients clients, Results results)
      throws IOException, InterruptedException {
    Samples recoveries = new Samples();
    Samples pauses = new Samples();
    Counts before = clients.counts();
    int exact = 0;
    int borne = 0;
    for (int i = 0; i < options.rounds(); i++) {
      Workers ready = awaitReady(server, 0);
      clients.awaitRight(requests);
      clients.forgetSlowest();
      // Who is relieved before its end is seen counts as no loss.
      long lost = ready.lost() + (isTakenInTurns() ? 0 : fault.losses(crew().size()));
      fault.commit(server, victim());
      turn(clients, i + 1);
      if (!isTakenInTurns() && fault.mayBeBorne() && !isLostSoon(server, lost)) {
        borne++;
        server.recycle(server.first(victim())); // The next is to begin anew.
      } else {
        clients.awaitRight(ANSWERS_AFTERWARDS); // A standby has taken over then, lost or not.
        Workers after = awaitReady(server, lost);
        clients.awaitRight(ANSWERS_AFTERWARDS);
        recoveries.add(clients.slowestMillis());
        if (!isApart() && fault != FaultKind.NONE && fault != FaultKind.STANDBY) {
          pauses.add(after.lastPauseMillis());
        }
      }
      exact += server.isLedgerExact() ? 1 : 0;
    }
    Counts counts = clients.counts().since(before);
    add(results, name, counts, recoveries);
    results.add(name, FaultsColumns.LEDGER, exact);
    if (fault.mayBeBorne()) {
      results.add(name, FaultsColumns.BORNE, borne);
    }
    addTimes(
        results,
        name,
        pauses,
        List.of(FaultsColumns.PAUSE_MEDIAN, FaultsColumns.PAUSE_99, FaultsColumns.PAUSE_MAXIMUM));
    return counts.wrong() + counts.refused() + counts.unanswered() == 0
        && exact == options.rounds();
  }

  private static boolean isLostSoon(FaultyServer server, long lost)
      throws IOException, InterruptedException {
    long begin = System.nanoTime();
    while (server.workers().lost() < lost) {
      if (System.nanoTime() - begin > BORNE_NANOS) {
        return false;
      }
      LockSupport.parkNanos(TICK_NANOS);
    }
    return true;
  }

  private void add(Results results, String name, Counts counts, Samples recoveries) {
    results.add(name, FaultsColumns.TIMES, options.rounds());
    results.add(name, FaultsColumns.TRIED, (double) counts.tried());
    results.add(name, FaultsColumns.WRONG, (double) counts.wrong());
    results.add(name, FaultsColumns.LOST, (double) counts.unanswered());
    results.add(name, FaultsColumns.REFUSED, (double) counts.refused());
    addTimes(
        results,
        name,
        recoveries,
        List.of(
            FaultsColumns.RECOVERY_MEDIAN,
            FaultsColumns.RECOVERY_99,
            FaultsColumns.RECOVERY_MAXIMUM));
  }

  /** Adds the median, the 99th percentile where there are enough, and the longest, of any. */
  private void addTimes(Results results, String name, Samples times, List<Column> columns) {
    if (times.count() == 0) {
      return;
    }
    results.add(name, columns.getFirst(), times.median());
    if (times.count() >= FaultsColumns.LEAST_ROUNDS_FOR_99) {
      results.add(name, columns.get(1), times.quantile(P99));
    }
    results.add(name, columns.getLast(), times.quantile(1));
  }

  /**
   * Waits until so many workers have been lost and standbys are there that have all sessions, and a
   * while for them to have run them.
   */
  private Workers awaitReady(FaultyServer server, long lost)
      throws IOException, InterruptedException {
    long begin = System.nanoTime();
    while (System.nanoTime() - begin < LIMIT_NANOS) {
      Workers workers = server.workers();
      List<Worker> standbys =
          workers.in("STANDBY", FaultyModels.ONLINE.size() + (offline > 0 ? 1 : 0));
      boolean late = System.nanoTime() - begin > WARM_UP_NANOS;
      if (workers.lost() >= lost
          && !workers.in("ACTIVE", 1).isEmpty()
          && !workers.in(victim(), 1).isEmpty()
          && standbys.size() == chosen.standbys()
          && standbys.stream().allMatch(each -> late || each.warmedUp() >= each.sessions())) {
        return workers;
      }
      LockSupport.parkNanos(TICK_NANOS);
    }
    throw new IOException("the server has no standby again after minutes");
  }

  /** Answers whether no request was answered wrongly or refused, and the ledger was exact. */
  private boolean measureServerKilled(Path work, Results results)
      throws IOException, InterruptedException {
    Samples recoveries = new Samples();
    int exact = 0;
    FaultyServer server = start(work, 0);
    try (Clients clients = clients(server)) {
      for (int i = 0; i < options.rounds(); i++) {
        List<Long> pids = awaitReady(server, 0).workers().stream().map(Worker::pid).toList();
        clients.awaitRight(requests);
        long begin = System.nanoTime();
        server.kill();
        awaitGone(pids);
        int port = server.url().getPort();
        server.close();
        server = start(work, port);
        clients.awaitRight(1);
        recoveries.add((System.nanoTime() - begin) / 1e6);
        exact += server.isLedgerExact() ? 1 : 0;
      }
      Counts counts = clients.counts();
      add(results, SERVER_KILLED, counts, recoveries);
      results.add(SERVER_KILLED, FaultsColumns.LEDGER, exact);
      return counts.wrong() + counts.refused() == 0 && exact == options.rounds();
    } finally {
      server.close();
    }
  }

  private static void awaitGone(List<Long> pids) throws IOException {
    long end = System.nanoTime() + LIMIT_NANOS;
    while (pids.stream().anyMatch(FaultsCommand::lives)) {
      if (System.nanoTime() > end) {
        throw new IOException("workers have outlived their server: " + pids);
      }
      LockSupport.parkNanos(TICK_NANOS);
    }
  }

  private static boolean lives(long pid) {
    return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
  }
}

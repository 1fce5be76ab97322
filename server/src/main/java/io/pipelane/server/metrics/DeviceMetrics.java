package io.pipelane.server.metrics;

import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.metrics.MetricFamily.Counter;
import io.pipelane.server.metrics.MetricFamily.Gauge;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.kept.KeptOverview.Obstacle;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.memory.account.TransferCounters;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** The metrics of devices: their memory by kind, transfers, queues and workers. */
final class DeviceMetrics {
  private static final double NANOS_A_SECOND = 1e9;

  private final Map<String, DeviceState> devices;
  private final List<MetricFamily> families = new ArrayList<>();

  private DeviceMetrics(Map<String, DeviceState> devices) {
    this.devices = devices;
  }

  static List<MetricFamily> of(Map<String, DeviceState> devices) {
    DeviceMetrics metrics = new DeviceMetrics(devices);
    metrics.addMember();
    metrics.addMemory();
    metrics.families.addAll(LaneMetrics.of(devices));
    metrics.addQueue();
    metrics.addModels();
    metrics.addTransfers();
    metrics.addPreemptions();
    metrics.addRetries();
    metrics.families.addAll(SharingMetrics.of(devices));
    return metrics.families;
  }

  private void addMember() {
    gauge(
        "pipelane_device_usable",
        "1 as long as the device is not lost",
        state -> state.member().usable() ? 1 : 0);
    gauge("pipelane_models", "Models that have the device", state -> state.member().models());
    gauge(
        "pipelane_replicas",
        "Of those, models that other devices have as well",
        state -> state.member().replicas());
    gauge(
        "pipelane_lodgers",
        "Models that the device holds for others alone",
        state -> state.member().lodgers());
    counter(
        "pipelane_routed_requests",
        "Requests that were given to the device, where there are several",
        state -> state.member().routed());
    counter(
        "pipelane_rerouted_requests",
        "Of those, requests that others were given as the device was lost",
        state -> state.member().rerouted());
  }

  private void addMemory() {
    Gauge taken = new Gauge("pipelane_device_memory_bytes", "Device memory taken, by kind");
    Gauge limits = new Gauge("pipelane_device_memory_limit_bytes", "What a kind may take");
    devices.forEach(
        (device, state) -> {
          MemoryOverview memory = state.memory();
          long weights = memory.weights().lentBytes() - memory.weights().lanesBytes();
          taken.add(weights, "device", device, "kind", "weights");
          taken.add(memory.constantBytes(), "device", device, "kind", "constants");
          taken.add(memory.laneBytes(), "device", device, "kind", "lanes");
          taken.add(memory.stateBytes(), "device", device, "kind", "states");
          taken.add(state.kept().takenBytes(), "device", device, "kind", "kept");
          taken.add(memory.frameworkBytes(), "device", device, "kind", "framework");
          limits.add(memory.weights().capacityBytes(), "device", device, "kind", "weights");
          limits.add(memory.workingBytes(), "device", device, "kind", "working");
        });
    families.addAll(List.of(taken, limits));
    gauge(
        "pipelane_device_memory_shared_bytes",
        "What weights would take more if each model had its own",
        state -> state.memory().weights().sharedBytes());
    gauge(
        "pipelane_sessions",
        "Sessions that exist",
        state ->
            state.memory().sessions().entries().stream().mapToInt(entry -> entry.sessions()).sum());
    counter(
        "pipelane_sessions_built", "Sessions built", state -> state.memory().sessions().built());
    counter(
        "pipelane_sessions_evicted",
        "Sessions closed to make room",
        state -> state.memory().sessions().evicted());
  }

  private void addQueue() {
    gauge(
        "pipelane_queue_requests",
        "Requests that wait for a lane",
        state -> state.queue().requests());
    gauge("pipelane_queue_bytes", "Bytes of their inputs", state -> state.queue().bytes());
    Counter refused =
        new Counter("pipelane_queue_refused", "Requests refused before they ran, by reason");
    devices.forEach(
        (device, state) ->
            refused
                .add(state.queue().refusedLate(), "device", device, "reason", "late")
                .add(state.queue().refusedFull(), "device", device, "reason", "full"));
    families.add(refused);
    counter(
        "pipelane_batches",
        "Runs that answered several requests",
        state -> state.queue().batches());
    counter(
        "pipelane_batched_requests",
        "Requests that such runs answered",
        state -> state.queue().batchedRequests());
    counter(
        "pipelane_batches_failed",
        "Such runs after which each request ran alone",
        state -> state.queue().failedBatches());
    counter(
        "pipelane_padded_rows",
        "Rows that batches were filled up with to have a captured shape",
        DeviceState::paddedRows);
    gauge("pipelane_lanes_at_once", "Runs that may compute at once at present", DeviceState::lanes);
    counter(
        "pipelane_short_runs",
        "Runs made by the threads that brought the requests",
        DeviceState::shortRuns);
    gauge(
        "pipelane_sequences",
        "Sequences that have begun and not ended",
        state -> state.states().sequences());
    gauge(
        "pipelane_state_written_out_bytes",
        "Host memory for states of sequences that wait for room on the device",
        state -> state.states().writtenOutBytes());
    counter(
        "pipelane_states_written_out",
        "How often a state of a sequence was written out to host memory",
        state -> state.states().timesWrittenOut());
    addKept();
    gauge(
        "pipelane_estimate_error",
        "Median over the latest runs of how far their estimate was off, as a share",
        DeviceState::estimateError);
    gauge(
        "pipelane_answer_estimate_error",
        "Median over the latest requests looked at, one in sixteen of those that came into line, of"
            + " how far the estimate of their time to the answer was off, as a share",
        DeviceState::answerEstimateError);
  }

  private void addKept() {
    counter(
        "pipelane_kept_tensors",
        "Tensors that stayed on the device between an ensemble's steps",
        state -> state.kept().tensors());
    Counter others =
        new Counter(
            "pipelane_tensors_not_kept", "Such tensors that went through host memory, by reason");
    devices.forEach(
        (device, state) -> {
          for (Obstacle obstacle : Obstacle.values()) {
            String reason = obstacle.name().toLowerCase(Locale.ROOT);
            long count = state.kept().notKept().getOrDefault(obstacle, 0L);
            others.add(count, "device", device, "reason", reason);
          }
        });
    families.add(others);
  }

  private void addModels() {
    Gauge weights = new Gauge("pipelane_model_weight_bytes", "A model's streamed weights");
    Gauge resident =
        new Gauge("pipelane_model_resident_bytes", "Pages of a model that are on the device");
    Gauge leases = new Gauge("pipelane_model_running", "Runs of a model under way");
    devices.forEach(
        (device, state) -> {
          List<Ledger.Entry> entries = state.memory().weights().entries();
          Set<ModelVersion> known =
              entries.stream().map(Ledger.Entry::model).collect(Collectors.toSet());
          for (Ledger.Entry entry : entries) {
            if (known.contains(entry.model().nextEdition())) {
              continue; // Its content is replaced; a series stands for one edition.
            }
            String[] labels = {
              "device", device,
              "model", entry.model().model(),
              "version", Long.toString(entry.model().version())
            };
            weights.add(entry.weightBytes(), labels);
            resident.add(entry.residentBytes() + entry.copiedBytes(), labels);
            leases.add(entry.leases(), labels);
          }
        });
    families.addAll(List.of(weights, resident, leases));
  }

  private void addTransfers() {
    counter("pipelane_switches", "Transfers begun", state -> state.transfers().loads());
    counter("pipelane_bytes_moved", "Bytes that transfers moved", s -> s.transfers().bytesLoaded());
    counter(
        "pipelane_bytes_borrowed",
        "Bytes that came in over other devices' links",
        state -> state.transfers().bytesBorrowed());
    counter(
        "pipelane_bytes_from_peers",
        "Bytes that came out of other devices' memory",
        state -> state.transfers().bytesFromPeers());
    addFetchedAhead();
    counter("pipelane_copies", "Groups that transfers were cut into", s -> s.transfers().copies());
    counter(
        "pipelane_transfer_failures", "Transfers rolled back", s -> s.transfers().failedLoads());
    counter(
        "pipelane_pages_evicted", "Pages that models lost", s -> s.transfers().pagesTakenBack());
    counter(
        "pipelane_pages_joined",
        "Pages that models were given because others had them",
        state -> state.transfers().pagesJoined());
    counter(
        "pipelane_failsafe_pagings",
        "Times that models lost pages to lanes that needed more than was set aside",
        state -> state.transfers().failsafePagings());
    counter(
        "pipelane_tables_copied",
        "Copies of tables that came to the device, as models that read them in place were hot",
        state -> state.transfers().tablesCopied());
    counter(
        "pipelane_acquisitions_delayed",
        "Runs that found weights missing, or others waiting",
        state -> state.transfers().waits());
    counter(
        "pipelane_remaps",
        "Times that a variant took over its structure's addresses",
        state -> state.transfers().remaps());
    counter(
        "pipelane_remap_seconds",
        "What that took",
        state -> state.transfers().remapNanos() / NANOS_A_SECOND);
  }

  /** What came in before runs asked, apart from transfers, by reason. */
  private void addFetchedAhead() {
    Counter pages = new Counter("pipelane_pages_fetched_ahead", "Pages brought in ahead of runs");
    Counter bytes = new Counter("pipelane_bytes_fetched_ahead", "Bytes of those pages");
    devices.forEach(
        (device, state) -> {
          TransferCounters counters = state.transfers();
          String[] wanted = {"device", device, "reason", "wanted"};
          String[] planned = {"device", device, "reason", "planned"};
          pages.add(counters.pagesWanted(), wanted).add(counters.pagesPlanned(), planned);
          bytes.add(counters.bytesWanted(), wanted).add(counters.bytesPlanned(), planned);
        });
    families.addAll(List.of(pages, bytes));
  }

  private void addPreemptions() {
    counter(
        "pipelane_preemptions",
        "Times that a run gave way at a gate",
        state -> state.preemptions().runs());
    counter(
        "pipelane_preempting_requests",
        "Requests that ran before a run that had begun earlier",
        state -> state.preemptions().requests());
    counter(
        "pipelane_preempting_wait_seconds",
        "From the submission of those requests to where they began on the device",
        state -> state.preemptions().waitNanos() / NANOS_A_SECOND);
    gauge(
        "pipelane_preempting_longest_wait_seconds",
        "The longest of these times",
        state -> state.preemptions().longestWaitNanos() / NANOS_A_SECOND);
    counter(
        "pipelane_online_runs_made_way",
        "Online runs that ended early, to begin anew, as one that goes before them needed memory",
        state -> state.preemptions().madeWay());
  }

  private void addRetries() {
    Counter retried =
        new Counter(
            "pipelane_runs_retried",
            "Runs that lost their worker process: done once more, lost once more, or too late for"
                + " that");
    devices.forEach(
        (device, state) ->
            retried
                .add(state.retries().done(), "device", device, "outcome", "done")
                .add(state.retries().lost(), "device", device, "outcome", "lost")
                .add(state.retries().late(), "device", device, "outcome", "late"));
    families.add(retried);
    gauge(
        "pipelane_models_quarantined",
        "Models that are refused as they have lost two worker processes in a row",
        state -> state.retries().quarantined());
  }

  private void gauge(String name, String help, ToDoubleFunction<DeviceState> value) {
    Gauge gauge = new Gauge(name, help);
    devices.forEach((device, state) -> gauge.add(value.applyAsDouble(state), "device", device));
    families.add(gauge);
  }

  private void counter(String name, String help, ToDoubleFunction<DeviceState> value) {
    Counter counter = new Counter(name, help);
    devices.forEach((device, state) -> counter.add(value.applyAsDouble(state), "device", device));
    families.add(counter);
  }

  static List<MetricFamily> workers(WorkersOverview workers) {
    return List.of(
        new Gauge("pipelane_workers", "Worker processes").add(workers.workers().size()),
        new Counter("pipelane_workers_started", "Worker processes started").add(workers.started()),
        new Counter("pipelane_workers_lost", "Worker processes that ended without being told to")
            .add(workers.lost()));
  }
}

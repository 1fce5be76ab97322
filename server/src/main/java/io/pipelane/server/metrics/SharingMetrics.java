package io.pipelane.server.metrics;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.metrics.MetricFamily.Counter;
import io.pipelane.server.metrics.MetricFamily.Gauge;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.sharing.Attainment;
import io.pipelane.switcher.sharing.EvictionCounts;
import io.pipelane.switcher.sharing.gate.OfflineRuns;
import io.pipelane.switcher.sharing.monitor.DeviceLook;
import io.pipelane.switcher.sharing.monitor.SharingState;
import io.pipelane.switcher.sharing.trial.ShareOverview;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Function;

/** The metrics of online and offline work, and of the devices that they share. */
final class SharingMetrics {
  private static final double NANOS_A_SECOND = 1e9;

  private final Map<String, DeviceState> devices;
  private final List<MetricFamily> families = new ArrayList<>();

  private SharingMetrics(Map<String, DeviceState> devices) {
    this.devices = devices;
  }

  static List<MetricFamily> of(Map<String, DeviceState> devices) {
    SharingMetrics metrics = new SharingMetrics(devices);
    metrics.addClasses();
    metrics.addState();
    metrics.addEvictions();
    metrics.addMultiprocessors();
    metrics.addSamples();
    return metrics.families;
  }

  private void addClasses() {
    Counter online = new Counter("pipelane_online_requests", "Online requests submitted");
    Counter runs =
        new Counter(
            "pipelane_offline_runs",
            "Offline runs that have ended, those included that made way and began anew");
    Gauge running = new Gauge("pipelane_offline_running", "Offline runs that have begun");
    Counter held =
        new Counter("pipelane_offline_held_seconds", "Time that offline runs were held at gates");
    Counter madeWay =
        new Counter(
            "pipelane_offline_runs_made_way",
            "Offline runs that ended early, to begin anew, as their memory was needed");
    Counter loads = new Counter("pipelane_offline_switches", "Transfers begun for offline runs");
    Counter bytes = new Counter("pipelane_offline_bytes_moved", "Bytes that those moved");
    Counter pages =
        new Counter("pipelane_offline_pages_evicted", "Pages that models of offline work lost");
    devices.forEach(
        (device, state) -> {
          OfflineRuns.Counts offline = state.sharing().offline();
          TransferCounters.Offline transfers = state.transfers().offline();
          online.add(state.sharing().online().requests(), "device", device);
          runs.add(offline.ended(), "device", device);
          running.add(offline.running(), "device", device);
          held.add(offline.heldNanos() / NANOS_A_SECOND, "device", device);
          madeWay.add(offline.madeWay(), "device", device);
          loads.add(transfers.loads(), "device", device);
          bytes.add(transfers.bytesLoaded(), "device", device);
          pages.add(transfers.pagesTakenBack(), "device", device);
        });
    families.addAll(List.of(online, runs, running, held, madeWay, loads, bytes, pages));
  }

  private void addState() {
    Gauge states = new Gauge("pipelane_device_state", "1 for the state that a device is in");
    Gauge share =
        new Gauge("pipelane_offline_share", "Of its own speed, what offline work may have");
    Gauge load = new Gauge("pipelane_device_load", "Activity times the clock's factor");
    Gauge entries =
        new Gauge("pipelane_overlimit_entries", "Times that a device was overloaded in two hours");
    Counter judged =
        new Counter(
            "pipelane_attainment_requests",
            "Online requests by which the device's attainment is judged, which may stop offline work");
    Gauge slowdown =
        new Gauge(
            "pipelane_online_slowdown",
            "Times as long as alone that runs take beside offline work, where limited");
    devices.forEach(
        (device, state) -> {
          DeviceLook seen = state.sharing().seen();
          for (SharingState each : SharingState.values()) {
            int is = each == seen.state() ? 1 : 0;
            states.add(is, "device", device, "state", each.toString());
          }
          share.add(seen.share(), "device", device);
          load.add(seen.load(), "device", device);
          entries.add(seen.overlimitEntries(), "device", device);
          Attainment.Objectives objectives = state.sharing().objectives();
          judged.add(objectives.met(), "device", device, "outcome", "met");
          judged.add(objectives.judged() - objectives.met(), "device", device, "outcome", "missed");
          Map<ModelVersion, Double> ratios = seen.slowdowns();
          ratios.forEach(
              (model, ratio) -> {
                if (!ratios.containsKey(model.nextEdition())) {
                  String version = Long.toString(model.version());
                  slowdown.add(ratio, "device", device, "model", model.model(), "version", version);
                }
              });
        });
    families.addAll(List.of(states, share, load, entries, judged, slowdown));
  }

  private void addEvictions() {
    Counter stops =
        new Counter("pipelane_offline_stops", "Times that overload stopped offline runs under way");
    Counter seconds =
        new Counter(
            "pipelane_offline_stop_seconds", "From those orders until all stood at their gates");
    Gauge longest =
        new Gauge("pipelane_offline_longest_stop_seconds", "The longest of those times");
    Counter memory =
        new Counter(
            "pipelane_offline_memory_return_seconds",
            "Time in which overload took the memory of offline work back");
    Gauge longestMemory =
        new Gauge("pipelane_offline_longest_memory_return_seconds", "The longest of those times");
    Counter bytes =
        new Counter("pipelane_offline_bytes_returned", "Bytes of weights that it took back");
    devices.forEach(
        (device, state) -> {
          EvictionCounts evictions = state.sharing().evictions();
          stops.add(evictions.stops(), "device", device);
          seconds.add(evictions.stopNanos() / NANOS_A_SECOND, "device", device);
          longest.add(evictions.longestStopNanos() / NANOS_A_SECOND, "device", device);
          memory.add(evictions.memoryNanos() / NANOS_A_SECOND, "device", device);
          longestMemory.add(evictions.longestMemoryNanos() / NANOS_A_SECOND, "device", device);
          bytes.add(evictions.memoryBytes(), "device", device);
        });
    families.addAll(List.of(stops, seconds, longest, memory, longestMemory, bytes));
  }

  /** What has not been compared is left out. */
  private void addMultiprocessors() {
    Gauge states =
        new Gauge(
            "pipelane_sharing_multiprocessors",
            "1 for what has become of offline work's share of the multiprocessors");
    Gauge percent =
        new Gauge(
            "pipelane_sharing_multiprocessors_percent",
            "Of the multiprocessors, what offline work has to itself now; 0 for none");
    Gauge need =
        new Gauge(
            "pipelane_sharing_online_need",
            "Times as long as alone that online answers took beside each size of the share");
    Gauge speed =
        new Gauge(
            "pipelane_sharing_offline_speed",
            "What offline work did with and without the share, of what it does alone");
    Gauge slowdown =
        new Gauge(
            "pipelane_sharing_online_slowdown",
            "Times as long as alone that online answers took with the share");
    devices.forEach(
        (device, state) -> {
          ShareOverview share = state.sharing().multiprocessors();
          for (ShareOverview.State each : ShareOverview.State.values()) {
            int is = each == share.state() ? 1 : 0;
            states.add(is, "device", device, "state", each.toString());
          }
          percent.add(share.percent(), "device", device);
          for (ShareOverview.Size size : share.sizes()) {
            String of = Integer.toString(size.percent());
            size.onlineSlowdown().ifPresent(is -> need.add(is, "device", device, "percent", of));
          }
          share
              .offlineWithout()
              .ifPresent(is -> speed.add(is, "device", device, "share", "without"));
          share.offlineWith().ifPresent(is -> speed.add(is, "device", device, "share", "with"));
          share.onlineSlowdown().ifPresent(is -> slowdown.add(is, "device", device));
        });
    families.addAll(List.of(states, percent, need, speed, slowdown));
  }

  private void addSamples() {
    sample("pipelane_device_utilization", "Of the time, busy", seen -> seen.work().utilization());
    sample(
        "pipelane_device_activity",
        "Of the multiprocessors or cores",
        seen -> seen.work().activity());
    sample("pipelane_device_clock", "Of the highest clock", seen -> seen.work().clock());
    sample("pipelane_device_memory_taken", "Of the whole memory", seen -> seen.memory().taken());
    sample(
        "pipelane_host_memory_pressure",
        "Of the time, some task waited for memory",
        seen -> seen.memory().hostPressure());
    sample(
        "pipelane_host_memory_taken",
        "Of the host's memory, or of its control group's",
        seen -> seen.memory().hostTaken());
    sample("pipelane_device_watts", "Power drawn", seen -> seen.health().watts());
    sample("pipelane_device_celsius", "Temperature", seen -> seen.health().celsius());
    sample(
        "pipelane_device_ecc_errors",
        "Memory errors that were not corrected",
        seen -> widened(seen.health().eccErrors()));
    sample(
        "pipelane_device_slowed_by",
        "Why the clock is not higher, as NVML's bits",
        seen -> widened(seen.work().slowedBy()));
  }

  private static OptionalDouble widened(OptionalLong value) {
    return value.isPresent()
        ? OptionalDouble.of((double) value.getAsLong())
        : OptionalDouble.empty();
  }

  /** Devices that do not measure it are left out. */
  private void sample(String name, String help, Function<DeviceSample, OptionalDouble> figure) {
    Gauge gauge = new Gauge(name, help);
    devices.forEach(
        (device, state) ->
            figure
                .apply(state.sharing().seen().sample())
                .ifPresent(value -> gauge.add(value, "device", device)));
    families.add(gauge);
  }
}

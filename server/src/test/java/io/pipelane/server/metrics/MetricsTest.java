package io.pipelane.server.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.lanes.execution.LanesOverview;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.server.device.SharedDevices;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.worker.SessionOverview;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class MetricsTest {
  private static final ModelVersion MODEL = new ModelVersion("a \"b\"", 3);
  private static final Map<ModelVersion, Boolean> REPOSITORY = Map.of(MODEL, true);

  private static final DeviceSample BUSY =
      new DeviceSample(
          new Work(
              OptionalDouble.of(0.5),
              OptionalDouble.empty(),
              OptionalDouble.empty(),
              OptionalLong.empty()),
          Memory.UNKNOWN,
          Health.UNKNOWN);
  private static final Pattern METRIC = Pattern.compile("\\b(nv_inference|pipelane)_[a-z_]+");

  private final InferenceStatistics statistics = new InferenceStatistics();

  private static DeviceState device() {
    Ledger ledger =
        new Ledger(
            1000,
            10,
            40,
            List.of(new Ledger.Entry(MODEL, 75, 0, 40, false, 2, List.of(20L, 20L, 20L, 15L))));
    return FakeDeviceState.of(
        new MemoryOverview(
            ledger,
            500,
            30,
            20,
            25,
            new SessionOverview(List.of(), 7, 1),
            5,
            new LanesOverview(2, 1, 4, List.of(12L, 8L, 0L), 45, 46, 47)),
        SharedDevices.overview(BUSY, Map.of(new ModelVersion("tight", 2), 1.04)),
        Map.of(MODEL, 1, MODEL.nextEdition(), 3),
        true);
  }

  private List<String> scrape() throws IOException {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    new Metrics(
            () -> statistics.all(() -> REPOSITORY),
            () -> Map.of("cpu", device()),
            () -> new HostTier.Statistics(11, 12, 13, 14, 15, 16, 17, 18),
            () -> new WorkersOverview(List.of(), 4, 2, "", 0),
            () -> new JobCounts(Map.of("done", 2), 30, 1),
            () ->
                new PlacementCounts(
                    Map.of("cpu", new PlacementCounts.Device(0.25, Optional.of(0.7))),
                    4,
                    3,
                    60,
                    OptionalDouble.of(0.08)),
            () -> new HostCounts(true, true, 2, 1, Map.of("b:8000", Map.of("answered", 7L))))
        .write(text);
    return text.toString(StandardCharsets.UTF_8).lines().toList();
  }

  private static void assertLine(List<String> lines, String line) {
    assertTrue(lines.contains(line), () -> line + " is not in\n" + String.join("\n", lines));
  }

  @Test
  void dashboard_asksOnlyForWhatIsExported() throws IOException {
    statistics.begin(MODEL).failed(Status.CANCELLED);
    RequestAccount answered = statistics.begin(MODEL);
    answered.decoded(OptionalLong.of(Long.MAX_VALUE));
    answered.ran(new InferenceTimings(5_000, 2_000_000, 9_000_000));
    answered.answered();
    String exported = String.join("\n", scrape());
    Matcher names = METRIC.matcher(Files.readString(Path.of("../docs/grafana.json")));
    int found = 0;
    for (; names.find(); found++) {
      String name = names.group();
      assertTrue(
          exported.contains("\n" + name + "{") || exported.contains("\n" + name + " "),
          name + " is not exported");
    }
    assertTrue(found > 50, "the dashboard asks for " + found);
  }

  @Test
  void dashboard_showsWhatOnlyThisServerHas() throws IOException {
    String dashboard = Files.readString(Path.of("../docs/grafana.json"));
    for (String name :
        List.of(
            "stall_duration_seconds_bucket",
            "switches_total",
            "bytes_moved_total",
            "model_resident_bytes",
            "pages_evicted_total",
            "lanes",
            "device_memory_bytes",
            "device_memory_limit_bytes",
            "queue_requests",
            "queue_bytes",
            "estimate_error",
            "slo_attainment",
            "workers_started_total",
            "workers_lost_total")) {
      assertTrue(Pattern.compile("\\bpipelane_" + name + "\\b").matcher(dashboard).find(), name);
    }
  }

  @Test
  void lanes_areTold() throws IOException {
    List<String> lines = scrape();
    assertLine(lines, "pipelane_lanes{device=\"cpu\",state=\"possible\"} 3.0");
    assertLine(lines, "pipelane_lanes{device=\"cpu\",state=\"open\"} 2.0");
    assertLine(lines, "pipelane_lanes{device=\"cpu\",state=\"in-use\"} 1.0");
    assertLine(lines, "pipelane_lanes{device=\"cpu\",state=\"stuck\"} 4.0");
  }

  @Test
  void placement_tellsWhereOfflineJobsAre() throws IOException {
    List<String> lines = scrape();
    assertLine(lines, "pipelane_online_utilization{device=\"cpu\"} 0.25");
    assertLine(lines, "pipelane_placed_jobs{device=\"cpu\"} 1.0");
    assertLine(lines, "pipelane_predicted_job_throughput{device=\"cpu\"} 0.7");
    assertLine(lines, "pipelane_job_matchings_total 4.0");
    assertLine(lines, "pipelane_job_moves_total 3.0");
    assertLine(lines, "pipelane_speed_error 0.08");
  }

  @Test
  void sharing_tellsClassesAndState() throws IOException {
    List<String> lines = scrape();
    assertLine(
        lines, "pipelane_online_slowdown{device=\"cpu\",model=\"tight\",version=\"2\"} 1.04");
    assertLine(lines, "pipelane_offline_runs_total{device=\"cpu\"} 33.0");
    assertLine(lines, "pipelane_offline_pages_evicted_total{device=\"cpu\"} 3.0");
    assertLine(lines, "pipelane_device_state{device=\"cpu\",state=\"healthy\"} 1.0");
    assertLine(lines, "pipelane_device_state{device=\"cpu\",state=\"overlimit\"} 0.0");
    assertLine(lines, "pipelane_attainment_requests_total{device=\"cpu\",outcome=\"met\"} 40.0");
    assertLine(lines, "pipelane_attainment_requests_total{device=\"cpu\",outcome=\"missed\"} 2.0");
    assertLine(lines, "pipelane_offline_share{device=\"cpu\"} 0.5");
    assertLine(lines, "pipelane_offline_stops_total{device=\"cpu\"} 2.0");
    assertLine(lines, "pipelane_offline_stop_seconds_total{device=\"cpu\"} 9.0E-4");
    assertLine(lines, "pipelane_offline_longest_stop_seconds{device=\"cpu\"} 5.0E-4");
    assertLine(lines, "pipelane_offline_memory_return_seconds_total{device=\"cpu\"} 0.003");
    assertLine(lines, "pipelane_offline_bytes_returned_total{device=\"cpu\"} 4096.0");
  }

  @Test
  void sharing_tellsHowTheShareOfMultiprocessorsDoes() throws IOException {
    List<String> lines = scrape();
    assertLine(lines, "pipelane_sharing_multiprocessors{device=\"cpu\",state=\"kept\"} 1.0");
    assertLine(lines, "pipelane_sharing_multiprocessors{device=\"cpu\",state=\"dropped\"} 0.0");
    assertLine(lines, "pipelane_sharing_multiprocessors_percent{device=\"cpu\"} 20.0");
    assertLine(lines, "pipelane_sharing_online_need{device=\"cpu\",percent=\"10\"} 1.01");
    assertLine(lines, "pipelane_sharing_offline_speed{device=\"cpu\",share=\"without\"} 0.3");
    assertLine(lines, "pipelane_sharing_offline_speed{device=\"cpu\",share=\"with\"} 0.45");
    assertLine(lines, "pipelane_sharing_online_slowdown{device=\"cpu\"} 1.02");
  }

  @Test
  void inferences_areCountedUnderTheUsualNames() throws IOException {
    RequestAccount answered = statistics.begin(MODEL);
    answered.decoded(OptionalLong.empty());
    answered.ran(new InferenceTimings(5_000, 2_000_000, 9_000_000));
    answered.answered();
    answered.answered();
    answered.failed(Status.INTERNAL);
    statistics.begin(MODEL).failed(Status.CANCELLED);
    RequestAccount _ = statistics.begin(MODEL);
    List<String> lines = scrape();
    String labels = "{model=\"a \\\"b\\\"\",version=\"3\"}";
    assertLine(lines, "nv_inference_request_success" + labels + " 1.0");
    assertLine(lines, "nv_inference_count" + labels + " 1.0");
    assertLine(lines, "nv_inference_exec_count" + labels + " 1.0");
    assertLine(lines, "nv_inference_pending_request_count" + labels + " 4.0");
    assertLine(lines, "pipelane_requests_under_way" + labels + " 1.0");
    assertLine(lines, "nv_inference_queue_duration_us" + labels + " 5.0");
    assertLine(lines, "nv_inference_compute_infer_duration_us" + labels + " 9000.0");
    String cancelled = "{model=\"a \\\"b\\\"\",reason=\"CANCELED\",version=\"3\"}";
    assertLine(lines, "nv_inference_request_failure" + cancelled + " 1.0");
    assertLine(lines, "pipelane_stalled_requests_total" + labels + " 1.0");
    assertLine(lines, "pipelane_stall_seconds_total" + labels + " 0.002");
    String bucket =
        "pipelane_stall_duration_seconds_bucket{model=\"a \\\"b\\\"\",version=\"3\",le=";
    assertLine(lines, bucket + "\"0.001\"} 0");
    assertLine(lines, bucket + "\"0.0025\"} 1");
    assertLine(lines, bucket + "\"+Inf\"} 1");
  }

  @Test
  void devices_tellTheirMemoryAndTransfers() throws IOException {
    List<String> lines = scrape();
    assertLine(lines, "pipelane_device_memory_bytes{device=\"cpu\",kind=\"weights\"} 40.0");
    assertLine(lines, "pipelane_device_memory_bytes{device=\"cpu\",kind=\"lanes\"} 20.0");
    assertLine(
        lines,
        "pipelane_model_resident_bytes"
            + "{device=\"cpu\",model=\"a \\\"b\\\"\",version=\"3\"} 40.0");
    assertLine(lines, "pipelane_switches_total{device=\"cpu\"} 11.0");
    assertLine(lines, "pipelane_remap_seconds_total{device=\"cpu\"} 1.8E-8");
    assertLine(lines, "pipelane_pages_fetched_ahead_total{device=\"cpu\",reason=\"planned\"} 20.0");
    assertLine(lines, "pipelane_bytes_fetched_ahead_total{device=\"cpu\",reason=\"wanted\"} 21.0");
    assertLine(lines, "pipelane_bytes_moved_total{device=\"cpu\"} 12.0");
    assertLine(lines, "pipelane_pages_evicted_total{device=\"cpu\"} 15.0");
    assertLine(lines, "pipelane_lanes{device=\"cpu\",state=\"in-use\"} 1.0");
    assertLine(lines, "pipelane_lanes{device=\"cpu\",state=\"possible\"} 3.0");
    assertLine(lines, "pipelane_lane_bytes{device=\"cpu\",lane=\"1\"} 8.0");
    assertLine(lines, "pipelane_lane_moves_total{device=\"cpu\",kind=\"grown\"} 46.0");
    assertLine(lines, "pipelane_host_tier_files_ahead_total 17.0");
    assertLine(lines, "pipelane_host_tier_bytes_ahead_total 18.0");
    assertLine(lines, "pipelane_failsafe_pagings_total{device=\"cpu\"} 44.0");
    assertLine(lines, "pipelane_tables_copied_total{device=\"cpu\"} 48.0");
    assertLine(lines, "pipelane_queue_requests{device=\"cpu\"} 9.0");
    assertLine(lines, "pipelane_queue_refused_total{device=\"cpu\",reason=\"late\"} 2.0");
    assertLine(lines, "pipelane_batched_requests_total{device=\"cpu\"} 10.0");
    assertLine(lines, "pipelane_lanes_at_once{device=\"cpu\"} 2.0");
    assertLine(lines, "pipelane_short_runs_total{device=\"cpu\"} 35.0");
    assertLine(lines, "pipelane_sequences{device=\"cpu\"} 36.0");
    assertLine(lines, "pipelane_state_written_out_bytes{device=\"cpu\"} 37.0");
    assertLine(lines, "pipelane_states_written_out_total{device=\"cpu\"} 38.0");
    assertLine(lines, "pipelane_device_memory_bytes{device=\"cpu\",kind=\"states\"} 25.0");
    assertLine(lines, "pipelane_device_memory_bytes{device=\"cpu\",kind=\"kept\"} 45.0");
    assertLine(lines, "pipelane_kept_tensors_total{device=\"cpu\"} 46.0");
    assertLine(lines, "pipelane_tensors_not_kept_total{device=\"cpu\",reason=\"waiting\"} 47.0");
    assertLine(lines, "pipelane_tensors_not_kept_total{device=\"cpu\",reason=\"full\"} 0.0");
    assertLine(lines, "pipelane_padded_rows_total{device=\"cpu\"} 6.0");
    assertLine(lines, "pipelane_jobs{state=\"done\"} 2.0");
    assertLine(lines, "pipelane_host_tier_bytes{kind=\"weights\"} 14.0");
    assertLine(lines, "pipelane_host_tier_bytes{kind=\"in-place\"} 15.0");
    assertLine(lines, "pipelane_host_tier_bytes{kind=\"spare\"} 16.0");
    assertLine(lines, "pipelane_host_tier_leases_total{found=\"memory\"} 11.0");
    assertLine(lines, "pipelane_host_tier_leases_total{found=\"mapped\"} 12.0");
    assertLine(lines, "pipelane_host_tier_leases_total{found=\"disk\"} 13.0");
    assertLine(lines, "pipelane_hosts 2.0");
    assertLine(lines, "pipelane_suspect_hosts 1.0");
    assertLine(lines, "pipelane_host_registry_reached 1.0");
    assertLine(
        lines, "pipelane_forwarded_requests_total{host=\"b:8000\",outcome=\"answered\"} 7.0");
    assertLine(lines, "pipelane_job_rows 30.0");
    assertLine(lines, "pipelane_preemptions_total{device=\"cpu\"} 23.0");
    assertLine(lines, "pipelane_preempting_requests_total{device=\"cpu\"} 24.0");
    assertLine(lines, "pipelane_preempting_wait_seconds_total{device=\"cpu\"} 1.5");
    assertLine(lines, "pipelane_preempting_longest_wait_seconds{device=\"cpu\"} 0.25");
    assertLine(lines, "pipelane_online_runs_made_way_total{device=\"cpu\"} 26.0");
    assertLine(lines, "pipelane_device_usable{device=\"cpu\"} 1.0");
    assertLine(lines, "pipelane_replicas{device=\"cpu\"} 2.0");
    assertLine(lines, "pipelane_rerouted_requests_total{device=\"cpu\"} 41.0");
    assertLine(lines, "pipelane_workers_lost_total 2.0");
    assertLine(lines, "pipelane_runs_retried_total{device=\"cpu\",outcome=\"done\"} 51.0");
    assertLine(lines, "pipelane_runs_retried_total{device=\"cpu\",outcome=\"lost\"} 52.0");
    assertLine(lines, "pipelane_runs_retried_total{device=\"cpu\",outcome=\"late\"} 53.0");
    assertLine(lines, "pipelane_models_quarantined{device=\"cpu\"} 54.0");
  }

  @Test
  void objectives_areCountedByWhatBecameOfThem() throws IOException {
    answer(Long.MAX_VALUE / 2, new InferenceTimings(1, 0, 1, 2, 0));
    answer(Long.MAX_VALUE / 2, new InferenceTimings(1, 0, 1, 2, 1));
    answer(-1_000_000, new InferenceTimings(1, 0, 1));
    refuse(Status.UNAVAILABLE);
    refuse(Status.INTERNAL);
    refuse(Status.CANCELLED);
    List<String> lines = scrape();

    String model = "{model=\"a \\\"b\\\"\",";
    String slo = "pipelane_slo_requests_total" + model + "outcome=";
    assertLine(lines, slo + "\"met\",version=\"3\"} 2.0");
    assertLine(lines, slo + "\"missed\",version=\"3\"} 1.0");
    assertLine(lines, slo + "\"refused\",version=\"3\"} 1.0");
    assertLine(lines, slo + "\"failed\",version=\"3\"} 1.0");
    assertLine(lines, "pipelane_goodput_requests_total" + model + "version=\"3\"} 2.0");
    assertLine(lines, "pipelane_slo_attainment" + model + "version=\"3\"} 0.5");
    assertLine(lines, "nv_inference_exec_count" + model + "version=\"3\"} 2.0");
  }

  private void answer(long leftNanos, InferenceTimings timings) {
    RequestAccount account = statistics.begin(MODEL);
    account.decoded(OptionalLong.of(System.nanoTime() + leftNanos));
    account.ran(timings);
    account.answered();
  }

  private void refuse(Status status) {
    RequestAccount account = statistics.begin(MODEL);
    account.decoded(OptionalLong.of(System.nanoTime() + Long.MAX_VALUE / 2));
    account.failed(status);
  }

  @Test
  void scrapes_areNoUseOfAModel() throws IOException {
    List<String> first = scrape();
    assertEquals(first, scrape());
    assertEquals(0, statistics.of(MODEL).executions());
  }
}

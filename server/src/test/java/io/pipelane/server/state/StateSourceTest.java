package io.pipelane.server.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pipelane.lanes.execution.LanesOverview;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.lanes.process.WorkersOverview.BuiltModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.server.metrics.FakeDeviceState;
import io.pipelane.server.placement.JobPlace;
import io.pipelane.server.protocol.StateAnswer;
import io.pipelane.server.state.ServerState.OfflineJob;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.worker.SessionOverview;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class StateSourceTest {
  private static final ModelVersion ECHO = new ModelVersion("echo", 2);

  private final InferenceStatistics statistics = new InferenceStatistics();
  private final StateSource source =
      new StateSource(
          FakeCatalog.usual(),
          statistics,
          () -> Map.of("cpu", device()),
          StateSourceTest::workers,
          _ -> List.of("cpu"),
          () -> 2,
          () -> List.of(offlineJob("seen", "echo"), offlineJob("hidden", "other")),
          InstantSource.fixed(Instant.ofEpochMilli(1234)));

  private static WorkersOverview workers() {
    List<BuiltModel> built = List.of(new BuiltModel(ECHO, 1));
    return new WorkersOverview(
        List.of(
            new WorkersOverview.Entry(1, 4711, WorkerState.ACTIVE, 1, built, 0, 1, "cpu", 9, 1)),
        1,
        1,
        "killed by echo",
        1);
  }

  private static DeviceState device() {
    Ledger.Entry entry = new Ledger.Entry(ECHO, 75, 3, 40, true, 2, List.of(50L, 25L));
    return FakeDeviceState.of(
        new MemoryOverview(
            new Ledger(1000, 10, 40, List.of(entry)),
            500,
            30,
            20,
            25,
            new SessionOverview(List.of(), 7, 1),
            5,
            LanesOverview.NONE));
  }

  private static OfflineJob offlineJob(String id, String model) {
    return new OfflineJob(
        id, new ModelVersion(model, 2), new JobPlace("cpu", JobPlace.By.RULE, 0.75, 0));
  }

  private static String written(ServerState state) {
    ByteBuf target = Unpooled.buffer();
    StateAnswer.write(target, state);
    return target.toString(StandardCharsets.UTF_8);
  }

  @Test
  void state_joinsWhatIsKnownOfAModel() {
    RequestAccount account = statistics.begin(ECHO);
    account.decoded(OptionalLong.empty());
    account.ran(new InferenceTimings(1_000, 2_000, 500));
    account.answered();
    String text = written(source.read(_ -> true));
    assertTrue(text.contains("\"started_ms\":1234,\"time_ms\":1234,\"ready\":true"), text);
    assertTrue(
        text.contains(
            "\"weights\":{\"device\":\"cpu\",\"bytes\":75,\"in_place_bytes\":3,"
                + "\"in_place_copied_bytes\":0,\"resident_bytes\":40,\"arriving\":true,\"running\":2,"
                + "\"class\":\"online\",\"group_bytes\":[50,25]}"),
        text);
    assertTrue(text.contains("\"reason\":\"\",\"class\":\"online\",\"weights\""), text);
    assertTrue(text.contains("\"sharing\":{\"state\":\"healthy\",\"reason\":\"every "), text);
    assertTrue(text.contains("\"offline_share\":0.5"), text);
    assertTrue(
        text.contains(
            "\"multiprocessors\":{\"state\":\"kept\",\"percent\":20,"
                + "\"sizes\":[{\"percent\":10,\"offline_with\":0.4,\"online_slowdown\":1.01},"
                + "{\"percent\":20}],\"offline_without\":0.3,"
                + "\"offline_with\":0.45,\"online_slowdown\":1.02}"),
        text);
    assertTrue(text.contains("\"requests\":{\"pending\":0,\"success\":1,\"failure\":0,"), text);
    assertTrue(text.contains("\"stalled\":1,\"stall_ns\":2000"), text);
    assertTrue(
        text.contains(
            "\"offline_job\":{\"id\":\"seen\",\"model\":\"echo\",\"by\":\"rule\","
                + "\"predicted_throughput\":0.75}"),
        text);
    assertTrue(text.contains("],\"jobs\":2,\"workers\":"), text);
    assertTrue(text.contains("\"lane_bytes\":20,\"state_bytes\":25,"), text);
    assertTrue(text.contains("\"waiting\":9,\"estimate_error\":0.25,\"switches\":11,"), text);
  }

  @Test
  void modelsThatAreNotVisible_areLeftOut() {
    ServerState state = source.read(name -> name.equals("broken"));
    assertEquals(1, state.models().size());
    assertTrue(!written(state).contains("echo"));
    assertEquals(0, state.jobs());
  }
}

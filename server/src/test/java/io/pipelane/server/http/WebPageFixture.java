package io.pipelane.server.http;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.execution.LanesOverview;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.device.SharedDevices;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.server.metrics.FakeDeviceState;
import io.pipelane.server.metrics.HostCounts;
import io.pipelane.server.metrics.JobCounts;
import io.pipelane.server.metrics.Metrics;
import io.pipelane.server.metrics.PlacementCounts;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import io.pipelane.server.placement.JobPlace;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.server.state.ServerState.OfflineJob;
import io.pipelane.server.state.StateSource;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.sharing.SharingOverview;
import io.pipelane.switcher.worker.SessionOverview;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server with a few models and two devices, whose page Chromium shows; skipped where none is
 * installed.
 */
@Timeout(120)
abstract class WebPageFixture {
  static final String EVIL = "<img src=x onerror=\"window.hurt=1\">";
  static final long MIB = 1 << 20;

  static final Entry LOADING = new Entry("late", "1", State.LOADING, "");

  @TempDir Path profile;

  volatile Supplier<Map<String, DeviceState>> devices = this::devices;

  volatile SharingOverview sharing = SharedDevices.overview(DeviceSample.UNKNOWN, Map.of());

  static FakeCatalog catalog() {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.add(EVIL, FakeCatalog.spec("<b>x</b>", TensorType.FP32, -1, 4));
    catalog.entries =
        List.of(
            new Entry("echo", "2", State.READY, "", List.of("a note")),
            new Entry(EVIL, "2", State.READY, ""),
            new Entry("broken", "1", State.UNAVAILABLE, "corrupt <i>file</i>"));
    return catalog;
  }

  Map<String, DeviceState> devices() {
    Ledger.Entry echo =
        new Ledger.Entry(
            new ModelVersion("echo", 2), 24 * MIB, 0, 18 * MIB, false, 1, groups(8, 8, 8));
    Ledger.Entry evil =
        new Ledger.Entry(
            new ModelVersion(EVIL, 2), 30 * MIB, MIB, 5 * MIB, true, 0, groups(10, 20));
    Ledger.Entry replica =
        new Ledger.Entry(
            new ModelVersion("echo", 2), 24 * MIB, 0, 24 * MIB, false, 0, groups(8, 8, 8));
    Map<String, DeviceState> devices = new TreeMap<>();
    devices.put("cpu:0", device(true, new Ledger(64 * MIB, MIB, 23 * MIB, List.of(echo, evil))));
    devices.put("cpu:1", device(false, new Ledger(64 * MIB, MIB, 24 * MIB, List.of(replica))));
    return devices;
  }

  DeviceState device(boolean usable, Ledger ledger) {
    return FakeDeviceState.of(
        new MemoryOverview(
            ledger,
            32 * MIB,
            9 * MIB,
            6 * MIB,
            4 * MIB,
            new SessionOverview(List.of(), 3, 0),
            MIB,
            LanesOverview.NONE),
        sharing,
        Map.of(),
        usable);
  }

  static List<Long> groups(long... mebibytes) {
    return Arrays.stream(mebibytes).mapToObj(size -> size * MIB).toList();
  }

  static WorkersOverview workers() {
    return new WorkersOverview(
        List.of(
            new WorkersOverview.Entry(
                1,
                4711,
                WorkerState.ACTIVE,
                2,
                List.of(new WorkersOverview.BuiltModel(new ModelVersion(EVIL, 2), 2)),
                0,
                MIB,
                "cpu",
                9 * MIB,
                MIB)),
        2,
        1,
        "killed",
        1);
  }

  HttpServer start(FakeCatalog catalog) {
    return start(catalog, AccessControl.open());
  }

  HttpServer start(FakeCatalog catalog, AccessControl access) {
    return start(catalog, access, Optional.empty());
  }

  HttpServer start(FakeCatalog catalog, AccessControl access, Optional<Jobs> jobs) {
    InferenceStatistics statistics = new InferenceStatistics();
    StateSource state =
        new StateSource(
            catalog,
            statistics,
            () -> devices.get(),
            WebPageInBrowserTest::workers,
            version ->
                version.model().equals("echo") ? List.of("cpu:1", "cpu:0") : List.of("cpu:0"),
            () -> jobs.map(Jobs::count).orElse(0),
            () ->
                List.of(
                    new OfflineJob(
                        "1f",
                        new ModelVersion("echo", 2),
                        new JobPlace("cpu:0", JobPlace.By.RULE, 0.75, 1))),
            InstantSource.system());
    Metrics metrics =
        new Metrics(
            () -> statistics.all(catalog::versions),
            Map::of,
            () -> HostTier.Statistics.NONE,
            () -> WorkersOverview.NONE,
            () -> JobCounts.NONE,
            () -> PlacementCounts.NONE,
            () -> HostCounts.ALONE);
    Backend backend =
        new Backend(
            catalog,
            EchoService.inline(),
            statistics,
            metrics,
            state,
            access,
            jobs,
            Backends.observation(),
            SharedMemory.off());
    return HttpServer.start(
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.NIO,
            1,
            1 << 20,
            64,
            Duration.ofSeconds(60),
            Optional.empty()),
        backend,
        new TransferMemory(Arena.ofAuto().allocate(MIB)));
  }

  /** A browser that shows nothing yet; the test is skipped where there is none. */
  Browser browser() throws IOException, InterruptedException {
    Optional<Path> program = Browser.program();
    assumeTrue(program.isPresent(), "no Chromium is installed");
    return new Browser(program.get(), profile);
  }

  /** Has a script run before those of each page that is opened. */
  static void atEachStart(Browser browser, String script) {
    browser.call("Page.addScriptToEvaluateOnNewDocument", Map.of("source", script));
  }

  static void press(Browser browser, String heading) {
    browser.evaluate(
        "document.querySelector('th[data-sort=%s] button').focus()".formatted(heading));
    enter(browser);
  }

  /** Presses the key for what has the focus. */
  static void enter(Browser browser) {
    for (String type : List.of("keyDown", "keyUp")) {
      browser.call(
          "Input.dispatchKeyEvent",
          Map.of("type", type, "key", "Enter", "text", "\r", "windowsVirtualKeyCode", 13));
    }
  }

  /** Gives the page a key. */
  static void enter(Browser browser, String key) {
    browser.evaluate(
        "document.getElementById('key').focus();"
            + " document.getElementById('key').value = '%s';".formatted(key)
            + " document.getElementById('key-form').requestSubmit()");
  }

  /** What the page says of its connection. */
  static String status(String word) {
    return "document.getElementById('status').textContent === '%s'".formatted(word);
  }

  static String cell(int row, int column) {
    return "document.querySelector('#models tbody tr:nth-child(%d) td:nth-child(%d)')"
        .formatted(row, column);
  }
}

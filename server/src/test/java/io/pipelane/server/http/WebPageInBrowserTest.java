package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
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
import io.pipelane.server.metrics.DeviceState;
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
import io.pipelane.switcher.kept.KeptOverview;
import io.pipelane.switcher.memory.Ledger;
import io.pipelane.switcher.memory.TransferCounters;
import io.pipelane.switcher.placement.MemberOverview;
import io.pipelane.switcher.schedule.queue.QueueOverview;
import io.pipelane.switcher.schedule.turn.Preemptions;
import io.pipelane.switcher.sequence.StatesOverview;
import io.pipelane.switcher.sharing.SharingOverview;
import io.pipelane.switcher.worker.RetryOverview;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The page as Chromium shows it; skipped where none is installed. */
@Timeout(120)
class WebPageInBrowserTest {
  private static final String EVIL = "<img src=x onerror=\"window.hurt=1\">";
  private static final long MIB = 1 << 20;

  private static final Entry LOADING = new Entry("late", "1", State.LOADING, "");

  @TempDir Path profile;

  private volatile SharingOverview sharing = SharedDevices.overview(DeviceSample.UNKNOWN, Map.of());

  private static FakeCatalog catalog() {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.add(EVIL, FakeCatalog.spec("<b>x</b>", TensorType.FP32, -1, 4));
    catalog.entries =
        List.of(
            new Entry("echo", "2", State.READY, "", List.of("a note")),
            new Entry(EVIL, "2", State.READY, ""),
            new Entry("broken", "1", State.UNAVAILABLE, "corrupt <i>file</i>"));
    return catalog;
  }

  private Map<String, DeviceState> devices() {
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

  private DeviceState device(boolean usable, Ledger ledger) {
    return new DeviceState(
        new MemoryOverview(
            ledger,
            32 * MIB,
            9 * MIB,
            6 * MIB,
            4 * MIB,
            new SessionOverview(List.of(), 3, 0),
            MIB,
            LanesOverview.NONE),
        new TransferCounters(
            11,
            12,
            13,
            0,
            15,
            2,
            16,
            0,
            0,
            0,
            0,
            0,
            0,
            42,
            43,
            0,
            0,
            new TransferCounters.Offline(0, 0, 0)),
        new QueueOverview(3, 0, Map.of(), 0, 0, 0, 0, 0),
        0,
        0.12,
        0.5,
        new Preemptions(0, 0, 0, 0, 0),
        2,
        0,
        new StatesOverview(0, 0, 0),
        KeptOverview.NONE,
        sharing,
        RetryOverview.NONE,
        new MemberOverview(
            usable, 5, 2, 3, 40, 41, MemberOverview.Work.NONE, MemberOverview.Work.NONE));
  }

  private static List<Long> groups(long... mebibytes) {
    return Arrays.stream(mebibytes).mapToObj(size -> size * MIB).toList();
  }

  private static WorkersOverview workers() {
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

  private HttpServer start(FakeCatalog catalog) {
    InferenceStatistics statistics = new InferenceStatistics();
    StateSource state =
        new StateSource(
            catalog,
            statistics,
            this::devices,
            WebPageInBrowserTest::workers,
            version ->
                version.model().equals("echo") ? List.of("cpu:1", "cpu:0") : List.of("cpu:0"),
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
            AccessControl.open(),
            Optional.empty(),
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
  private Browser browser() throws IOException, InterruptedException {
    Optional<Path> program = Browser.program();
    assumeTrue(program.isPresent(), "no Chromium is installed");
    return new Browser(program.get(), profile);
  }

  @Test
  void page_showsTheServerAndAsksItsModels() throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      browser.size(1280, 1400);
      browser.open(server.url() + "/");
      browser.await("document.getElementById('status').textContent === 'live'");
      browser.await("document.querySelectorAll('#models tbody tr').length === 3");

      assertEquals(EVIL + " / 2", browser.evaluate(cell(2, 1) + ".children[1].textContent"));
      assertEquals("0", browser.evaluate("document.querySelectorAll('main img').length"));
      assertEquals("undefined", browser.evaluate("typeof window.hurt"));
      assertEquals("3", browser.evaluate(cell(1, 4) + ".querySelectorAll('i').length"));
      assertEquals(
          "100 % on cpu:1; 75 % on cpu:0, 1 running",
          browser.evaluate(cell(1, 4) + ".lastChild.textContent"));
      assertEquals("128", browser.evaluate("document.querySelectorAll('.pages i').length"));
      assertEquals("47", browser.evaluate("document.querySelectorAll('.pages .filled').length"));
      assertEquals(
          "Device cpu:0, Device cpu:1",
          browser.evaluate(
              "[...document.querySelectorAll('.device h2')].map(h => h.textContent).join(', ')"));
      assertEquals(
          "lost; others answered 41 of its requests, libraries take 1 MiB beside both budgets",
          browser.evaluate("document.querySelector('.device:nth-child(2) .quiet').textContent"));
      assertEquals(
          "20 %, kept: offline at 45 % of its speed, at 30 % without; online 1.02 times as long",
          browser.evaluate(figure("Multiprocessors of its own")));
      assertEquals(
          "libraries take 1 MiB beside both budgets,"
              + " offline job 1f of echo, at 75 % of its speed by the rule",
          browser.evaluate("document.querySelector('.device:nth-child(1) .quiet').textContent"));
      assertEquals(
          "1, process 4711",
          browser.evaluate("document.querySelector('#workers tbody td').textContent"));

      assertTrue(
          browser
              .evaluate(
                  "getComputedStyle(document.querySelector('.pages .filled')).backgroundColor")
              .startsWith("oklch"));

      browser.await("!document.getElementById('send').disabled");
      browser.evaluate("document.getElementById('send').click()");
      browser.await("document.querySelector('#answer .good') !== null");
      assertEquals(
          "y_x", browser.evaluate("document.querySelector('#answer .input-name').textContent"));
      browser.await(cell(1, 6) + ".textContent !== '–'");

      browser.prefer("light");
      String light = ground(browser);
      browser.screenshot(Path.of("target", "page-light.png"));
      browser.prefer("dark");
      assertNotEquals(light, ground(browser));
      browser.screenshot(Path.of("target", "page-dark.png"));
      assertEquals(List.of(), browser.complaints);
    }
  }

  @Test
  void page_tellsEachModelsClass_andWhatTheCatalogueHasRefused()
      throws IOException, InterruptedException {
    FakeCatalog catalog = catalog();
    Entry background = new Entry("background", "2", State.READY, "");
    catalog.entries = List.of(background, new Entry("echo", "2", State.READY, ""), LOADING);
    try (HttpServer server = start(catalog);
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.await("document.querySelectorAll('#models tbody tr').length === 3");
      assertEquals("offline", browser.evaluate(cell(1, 3) + ".textContent"));
      assertEquals("online", browser.evaluate(cell(2, 3) + ".textContent"));
      assertEquals("", browser.evaluate(cell(3, 3) + ".textContent"));
      assertEquals("loading", browser.evaluate(cell(3, 2) + ".textContent"));
      assertEquals("", browser.evaluate(cell(3, 1) + ".lastChild.textContent"));

      String refused = "what its folder holds by now is refused: <b>no</b> model";
      catalog.entries =
          List.of(
              background,
              new Entry("echo", "2", State.READY, "", List.of(refused)),
              new Entry("late", "1", State.UNAVAILABLE, "it has no model.onnx"));
      browser.await(cell(3, 2) + ".textContent === 'unavailable'");
      assertEquals("it has no model.onnx", browser.evaluate(cell(3, 1) + ".lastChild.textContent"));
      assertEquals("ready", browser.evaluate(cell(2, 2) + ".textContent"));
      assertEquals(refused, browser.evaluate(cell(2, 1) + ".lastChild.textContent"));
      assertEquals(
          "2 of 3 ready", browser.evaluate("document.getElementById('model-count').textContent"));
      assertEquals(List.of(), browser.complaints);
    }
  }

  @Test
  void page_tellsADevicesStateAndOfflineShareAsTheyChange()
      throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.await("document.querySelector('.device dt') !== null");
      browser.await(figure("State") + " === 'healthy'");
      assertEquals("50 %", browser.evaluate(figure("Offline share")));

      sharing = SharedDevices.overloaded();
      browser.await(figure("State") + " === 'overlimit'");
      assertEquals("memory is 99.5 %", browser.evaluate(figure("Because")));
      assertEquals("0 %", browser.evaluate(figure("Offline share")));
    }
  }

  @Test
  void rates_ofVersionsThatComeAndGo_areNeverThoseOfTheirWholeLife()
      throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.evaluate("import('/page/rates.js').then(module => { window.rates = module; })");
      browser.evaluate(
          """
          window.model = (name, n) => ({ name, version: "1", requests: { success: n, failure: n,
            request_ns: n, queue_ns: n, stall_ns: n, durations: [n, 0] } });
          window.between = (before, now) => new rates.Rates(
            { time_ms: 0, devices: [], models: before },
            { time_ms: 1000, devices: [], models: now, duration_limits_us: [100] }).all;
          undefined;
          """);
      assertEquals(
          "5",
          browser.evaluate(
              "between([model('a', 1), model('b', 2)]," + " [model('a', 4), model('b', 4)]).rate"));
      assertEquals(
          "3",
          browser.evaluate(
              "between([model('a', 1), model('gone', 900)]," + " [model('a', 4)]).rate"));
      assertEquals(
          "3",
          browser.evaluate(
              "between([model('a', 1)]," + " [model('a', 4), model('back', 900)]).rate"));
      assertEquals("0", browser.evaluate("between([model('a', 900)], [model('a', 4)]).failures"));
      assertEquals(
          "7",
          browser.evaluate("between([{ name: 'a', version: '1' }]," + " [model('a', 7)]).rate"));
    }
  }

  /** What the first device's card says of something. */
  private static String figure(String name) {
    return "[...document.querySelectorAll('.device:nth-child(1) dt')]"
        + ".find(each => each.textContent === '%s').nextSibling.textContent".formatted(name);
  }

  private static String cell(int row, int column) {
    return "document.querySelector('#models tbody tr:nth-child(%d) td:nth-child(%d)')"
        .formatted(row, column);
  }

  private static String ground(Browser browser) {
    String colour = browser.evaluate("getComputedStyle(document.body).backgroundColor");
    assertTrue(colour.startsWith("rgb"), colour);
    return colour;
  }
}

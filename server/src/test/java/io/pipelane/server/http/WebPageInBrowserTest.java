package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.device.SharedDevices;
import io.pipelane.switcher.memory.account.Ledger;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the page shows, as Chromium has it. */
class WebPageInBrowserTest extends WebPageFixture {
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
      assertEquals("18,5,41", browser.evaluate(squares(1)));
      assertEquals("24,40", browser.evaluate(squares(2)));
      assertEquals(
          "23 of 64 pages are lent; 2 models here hold some",
          browser.evaluate("document.querySelector('.pages').ariaLabel"));
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
              + " offline job 1f of echo, expected at 75 % of the speed that it has alone,"
              + " by the time that online requests leave",
          browser.evaluate("document.querySelector('.device:nth-child(1) .quiet').textContent"));
      assertEquals(
          "1, process 4711",
          browser.evaluate("document.querySelector('#workers tbody td').textContent"));

      assertTrue(
          browser
              .evaluate(
                  "getComputedStyle(document.querySelector('.prefix .filled')).backgroundColor")
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
      String share = fact("Multiprocessors of its own") + ".parentElement.hidden";
      assertEquals("false", browser.evaluate(share));

      sharing = SharedDevices.undivided();
      browser.await(share);
    }
  }

  @Test
  void page_leavesOutADeviceThatHasGone_andDrawsPagesThatModelsShareOnce()
      throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      atEachStart(
          browser,
          "const context = HTMLCanvasElement.prototype.getContext; window.heights = [];"
              + " HTMLCanvasElement.prototype.getContext = function (...kind) {"
              + " heights.push(this.height); return context.apply(this, kind); };");
      browser.open(server.url() + "/");
      browser.await("document.querySelectorAll('.device').length === 2");
      browser.await("heights.length >= 2");
      assertEquals("30", browser.evaluate("Math.max(...heights)"));
      browser.evaluate("window.gone = new WeakRef(document.querySelector('.device canvas')); 0");

      Ledger ledger =
          new Ledger(
              64 * MIB,
              MIB,
              30 * MIB,
              0,
              20 * MIB,
              List.of(holding("echo", 24), holding(EVIL, 26)));
      devices = () -> Map.of("cpu:1", device(true, ledger));
      browser.await("document.querySelectorAll('.device').length === 1");
      assertEquals(
          "Device cpu:1", browser.evaluate("document.querySelector('.device h2').textContent"));
      browser.await(squares(1) + " === '14,16,34'");
      assertEquals(
          "Pages of 1 MiB; sharing saves 20 MiB",
          browser.evaluate("document.querySelector('.device h3').textContent"));
      do { // Observers may tell of it once more, and what has asked for it keeps it that long.
        browser.call("HeapProfiler.collectGarbage", Map.of());
      } while (browser.evaluate("gone.deref() === undefined").equals("false"));
      assertEquals(List.of(), browser.complaints);
    }
  }

  @Test
  void notesOfAModelThatAnswers_openFromTheKeyboard_andReasonsAreSeenAnyway()
      throws IOException, InterruptedException {
    FakeCatalog catalog = catalog();
    catalog.entries =
        List.of(
            new Entry("echo", "2", State.READY, "", List.of("a note", "<b>another</b>")),
            new Entry("broken", "1", State.UNAVAILABLE, "it has no model.onnx"));
    try (HttpServer server = start(catalog);
        Browser browser = browser()) {
      browser.size(1400, 900);
      browser.open(server.url() + "/");
      browser.await("document.querySelectorAll('#models tbody tr').length === 2");
      String notes = "document.querySelector('#models details')";
      assertEquals("2 notes", browser.evaluate(notes + ".firstChild.textContent"));
      String seen = ".checkVisibility({ contentVisibilityAuto: true })";
      assertEquals("false", browser.evaluate(notes + ".lastChild.firstChild" + seen));
      browser.evaluate(notes + ".firstChild.focus()");
      enter(browser);
      browser.await(notes + ".open");
      assertEquals(
          "a note,<b>another</b>",
          browser.evaluate(
              "[...%s.lastChild.children].map(n => n.textContent).join()".formatted(notes)));
      String reason = cell(2, 1) + ".lastChild";
      assertEquals("it has no model.onnx", browser.evaluate(reason + ".textContent"));
      assertEquals("true", browser.evaluate(reason + ".classList.contains('bad')"));

      catalog.entries = List.of(new Entry("echo", "2", State.READY, ""), LOADING);
      browser.await(notes + " === null");
    }
  }

  @Test
  void narrowPage_showsWhatMattersOfAModel() throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      browser.size(390, 844);
      browser.open(server.url() + "/");
      browser.await("document.querySelectorAll('#models tbody tr').length === 3");
      assertEquals(
          "Model,State,Requests/s,p99,Pending",
          browser.evaluate(
              "[...document.querySelectorAll('#models th')].filter(head => {"
                  + " const { width, right } = head.getBoundingClientRect();"
                  + " return width > 0 && right <= innerWidth; }).map(head => head.textContent).join()"));
      assertEquals(
          "true",
          browser.evaluate(
              "document.documentElement.scrollWidth <= document.documentElement.clientWidth"));
      assertEquals(List.of(), browser.complaints);
    }
  }

  @Test
  void p99_isNeverAboveWhatTheMeanAllows() throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.evaluate("import('/page/rates.js').then(module => { window.rates = module; })");
      // Limits are 1 s and 2.5 s; durations are given in seconds.
      browser.evaluate(
          """
          window.p99 = (...durations) => {
            const of = (kept) => [{ name: "a", version: "1", requests: { success: kept.length, failure: 0,
              request_ns: kept.reduce((a, b) => a + b, 0) * 1e9, queue_ns: 0, stall_ns: 0,
              durations: [kept.filter(d => d <= 1).length, kept.filter(d => d > 1 && d <= 2.5).length,
                kept.filter(d => d > 2.5).length] } }];
            const state = (kept, time_ms) => ({ time_ms, devices: [], models: of(kept),
              duration_limits_us: [1e6, 2.5e6] });
            return Number(new rates.Rates(state([], 0), state(durations, 1000)).all.p99.toFixed(3));
          };
          undefined;
          """);
      assertEquals("1.4", browser.evaluate("p99(1.4)"));
      assertEquals("1.8", browser.evaluate("p99(1.4, 1.4)"));
      assertEquals("2.5", browser.evaluate("p99(...Array(100).fill(1.4))"));
      assertEquals("1", browser.evaluate("p99(...Array(99).fill(0.5), 2)"));
      assertEquals("7", browser.evaluate("p99(7)"));
    }
  }

  private static Ledger.Entry holding(String model, long mebibytes) {
    long bytes = mebibytes * MIB;
    return new Ledger.Entry(new ModelVersion(model, 2), bytes, 0, bytes, false, 0, List.of(bytes));
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
      // The page was hidden for an hour before the third state.
      assertEquals(
          "0,2,0,3",
          browser.evaluate(
              """
              (() => {
                const kept = new rates.Window();
                return [[0, 0], [1000, 2], [3601000, 9000], [3602000, 9003]].map(([time_ms, n]) =>
                  kept.add({ time_ms, started_ms: 0, devices: [], models: [model('a', n)],
                    duration_limits_us: [100] }).all.rate).join();
              })()"""));
    }
  }

  /** How many squares of a device have each colour, in the order of the colours. */
  private static String squares(int device) {
    return """
        (() => {
          const canvas = document.querySelector('.device:nth-child(%d) canvas');
          const columns = Math.floor((canvas.width + 2) / 15);
          const counts = new Map();
          for (let i = 0; i < 64; i++) {
            const [x, y] = [(i %% columns) * 15 + 6, Math.floor(i / columns) * 15 + 6];
            const colour = canvas.getContext('2d').getImageData(x, y, 1, 1).data.join();
            counts.set(colour, (counts.get(colour) ?? 0) + 1);
          }
          return [...counts.values()].join();
        })()"""
        .formatted(device);
  }

  /** What the first device's card says of something. */
  private static String figure(String name) {
    return fact(name) + ".textContent";
  }

  private static String fact(String name) {
    return "[...document.querySelectorAll('.device:nth-child(1) dt')]"
        + ".find(each => each.textContent === '%s').nextSibling".formatted(name);
  }

  private static String ground(Browser browser) {
    String colour = browser.evaluate("getComputedStyle(document.body).backgroundColor");
    assertTrue(colour.startsWith("rgb"), colour);
    return colour;
  }
}

package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The page in use: from the keyboard, with what is wrong, and with connections that come and go.
 */
class WebPageControlsTest extends WebPageFixture {
  @Test
  void models_areSortedFromTheKeyboard() throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.await("document.querySelectorAll('#models tbody tr').length === 3");
      String sorted =
          "[...document.querySelectorAll('#models th[aria-sort]')]"
              + ".map(head => head.dataset.sort + ' ' + head.ariaSort).join()";
      assertEquals("name ascending", browser.evaluate(sorted));
      press(browser, "size");
      assertEquals("size descending", browser.evaluate(sorted));
      assertEquals(EVIL + " / 2", browser.evaluate(cell(1, 1) + ".children[1].textContent"));
      press(browser, "size");
      assertEquals("size ascending", browser.evaluate(sorted));
      assertEquals("broken / 1", browser.evaluate(cell(1, 1) + ".children[1].textContent"));
      press(browser, "state");
      assertEquals("state ascending", browser.evaluate(sorted));
      assertEquals("broken / 1", browser.evaluate(cell(1, 1) + ".children[1].textContent"));
      press(browser, "name");
      assertEquals("name ascending", browser.evaluate(sorted));
      assertEquals("echo / 2", browser.evaluate(cell(1, 1) + ".children[1].textContent"));
    }
  }

  @Test
  void form_saysWhatItLacks_andAsksAgainForAModelThatItCouldNotBeToldOf()
      throws IOException, InterruptedException {
    FakeCatalog catalog = catalog();
    List<Entry> usual = catalog.entries;
    catalog.entries = List.of(LOADING);
    try (HttpServer server = start(catalog);
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.await(note() + " === 'no model is ready'");
      assertEquals("true", browser.evaluate("document.getElementById('send').disabled"));

      browser.evaluate(
          "window.ask = fetch; window.fetch = (url, ...rest) =>"
              + " url.includes('/models/') ? Promise.reject(Error('cut off')) : ask(url, ...rest)");
      catalog.entries = usual;
      browser.await(note() + " === 'cut off'");
      browser.evaluate("window.fetch = ask; 0");
      browser.await("!document.getElementById('send').disabled");
      assertEquals("", browser.evaluate(note()));

      String values = "document.querySelector('#request-inputs textarea')";
      browser.evaluate(
          "const fill = document.querySelector('#request-inputs select'); fill.value = 'values';"
              + " fill.dispatchEvent(new Event('change')); %s.value = '1, x'".formatted(values));
      browser.evaluate("document.getElementById('send').click()");
      assertEquals(
          "x: values with commas between them are needed, such as 1, 2, 3",
          browser.evaluate(note()));
      browser.evaluate(values + ".value = '12345678, 0.12345678, 2, 3'");
      browser.evaluate("document.getElementById('send').click()");
      browser.await("document.querySelector('#answer .output') !== null");
      assertEquals(
          "12345678, 0.123457, 2, 3",
          browser.evaluate("document.querySelector('#answer .output').textContent"));
    }
  }

  @Test
  void integers_staySuchAsNoNumberOfThePageCanBe() throws IOException, InterruptedException {
    FakeCatalog catalog = catalog();
    catalog.entries = List.of(new Entry("echo_INT64", "2", State.READY, ""));
    try (HttpServer server = start(catalog);
        Browser browser = browser()) {
      // Not every browser tells how a number is written.
      atEachStart(
          browser,
          "const read = JSON.parse; JSON.parse = (text, revive) => read(text, revive &&"
              + " function (name, value) { return revive.call(this, name, value); });");
      browser.open(server.url() + "/");
      browser.await("!document.getElementById('send').disabled");
      browser.evaluate(
          "const [shape, fill, values] ="
              + " document.querySelectorAll('#request-inputs :is(input, select, textarea)');"
              + " shape.value = '3'; fill.value = 'values';"
              + " values.value = '9007199254740993, -9223372036854775808, 7';"
              + " document.getElementById('send').click()");
      browser.await("document.querySelector('#answer .output') !== null");
      assertEquals(
          "9007199254740993, -9223372036854775808, 7",
          browser.evaluate("document.querySelector('#answer .output').textContent"));

      browser.evaluate("import('/page/json.js').then(module => { window.json = module; })");
      assertEquals(
          "bigint -9007199254740993,number 9007199254740991,number 12345678901234568,number 0,"
              + "string \"9007199254740993,string \\,bigint 9007199254740993",
          browser.evaluate(
              "json.parse(String.raw`[-9007199254740993,9007199254740991,12345678901234567.5,"
                  + "1e-12345678901234567,\"\\\"9007199254740993\",\"\\\\\",9007199254740993]`)"
                  + ".map(value => typeof value + ' ' + value).join()"));
    }
  }

  @Test
  void page_hasNoConnectionWhileNobodySeesIt() throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      browser.call(
          "Page.addScriptToEvaluateOnNewDocument",
          Map.of(
              "source",
              "const ask = fetch; window.signals = [];"
                  + " window.fetch = (url, options) => {"
                  + " if (url.endsWith('changes')) { signals.push(options.signal); }"
                  + " return ask(url, options); };"
                  + " Object.defineProperty(document, 'hidden', { get: () => window.away });"
                  + " window.see = seen => { window.away = !seen;"
                  + " document.dispatchEvent(new Event('visibilitychange')); };"));
      browser.open(server.url() + "/");
      browser.await(status("live"));
      String connections = "signals.map(signal => signal.aborted).join()";
      assertEquals("false", browser.evaluate(connections));
      browser.evaluate("see(false)");
      assertEquals("true", browser.evaluate(connections));
      browser.evaluate("see(true)");
      browser.await("signals.length === 2");
      assertEquals("true,false", browser.evaluate(connections));
    }
  }

  private static String note() {
    return "document.getElementById('request-note').textContent";
  }

  @Test
  void page_isOfflineWhereAConnectionHasDiedUnheard_andTakesNoKeyThatNoHeaderCanCarry()
      throws IOException, InterruptedException {
    try (HttpServer server = start(catalog());
        Browser browser = browser()) {
      // Patience of 10 s ends between two states.
      browser.call(
          "Page.addScriptToEvaluateOnNewDocument",
          Map.of(
              "source",
              "const wait = setTimeout;"
                  + " window.setTimeout = (run, millis) => wait(run, millis >= 10000 ? 200 : millis);"));
      browser.open(server.url() + "/");
      browser.await(status("live"));
      browser.await("document.getElementById('status').textContent === 'offline'");
      browser.await(status("live"));

      String key = "document.getElementById('key')";
      browser.evaluate(key + ".value = '\u043a\u043b\u044e\u0447'");
      assertEquals("false", browser.evaluate(key + ".checkValidity()"));
      browser.evaluate(key + ".value = ' pl-A_b.c=='");
      assertEquals("true", browser.evaluate(key + ".checkValidity()"));
    }
  }
}

package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The page in use: from the keyboard, with what is wrong, and with connections that come and go.
 */
class WebPageControlsTest extends WebPageFixture {
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
      browser.await("document.getElementById('status').textContent === 'live'");
      browser.await("document.getElementById('status').textContent === 'offline'");
      browser.await("document.getElementById('status').textContent === 'live'");

      String key = "document.getElementById('key')";
      browser.evaluate(key + ".value = '\u043a\u043b\u044e\u0447'");
      assertEquals("false", browser.evaluate(key + ".checkValidity()"));
      browser.evaluate(key + ".value = ' pl-A_b.c=='");
      assertEquals("true", browser.evaluate(key + ".checkValidity()"));
    }
  }
}

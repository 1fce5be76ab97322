package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Keys;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page where an API key is needed. */
class WebPageKeyTest extends WebPageFixture {
  private static final String ROWS = "document.getElementById('models').tBodies[0].rows.length";
  private static final String FOCUS = "document.activeElement.id";

  @TempDir Path folder;

  @Test
  void otherKey_isTakenWithoutClosingTheTab_andNothingStaysOfWhatOneLetIn()
      throws IOException, InterruptedException {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        HttpServer server = start(catalog(), access);
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.await(status("needs an API key"));
      assertEquals("key", browser.evaluate(FOCUS));
      enter(browser, "observe");
      browser.await(status("live"));
      browser.await(ROWS + " === 3");
      assertEquals("true", browser.evaluate("document.getElementById('key-form').hidden"));
      assertEquals("key-open", browser.evaluate(FOCUS));

      browser.evaluate("document.getElementById('key-open').click()");
      assertEquals("key", browser.evaluate(FOCUS));
      enter(browser, "tenant");
      browser.await(ROWS + " === 0 && " + status("live"));
      browser.evaluate("document.getElementById('key-open').click()");
      enter(browser, "observe");
      browser.await(ROWS + " === 3");
      browser.evaluate("document.getElementById('key-open').click()");
      browser.evaluate("document.getElementById('key-forget').click()");
      browser.await(status("needs an API key"));
      assertEquals("0", browser.evaluate(ROWS));
      assertEquals("0", browser.evaluate("document.querySelectorAll('.device').length"));
      assertEquals("", browser.evaluate("document.getElementById('version').textContent"));
      assertEquals("key", browser.evaluate(FOCUS));

      browser.await("document.getElementById('key-form').hidden === false");
      enter(browser, "nobody");
      browser.await("document.getElementById('status').textContent.includes('key')");
      assertEquals("key", browser.evaluate(FOCUS));
    }
  }

  @Test
  void key_isTakenWhereTheBrowserKeepsNothingForThePage() throws IOException, InterruptedException {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        HttpServer server = start(catalog(), access);
        Browser browser = browser()) {
      atEachStart(
          browser,
          "Object.defineProperty(window, 'sessionStorage',"
              + " { get() { throw new DOMException('blocked', 'SecurityError'); } });");
      browser.open(server.url() + "/");
      browser.await(status("needs an API key"));
      enter(browser, "tenant");
      browser.await(status("live"));
      enter(browser, "observe");
      browser.await(ROWS + " === 3");
      browser.evaluate("document.getElementById('key-forget').click()");
      browser.await(status("needs an API key"));
      assertEquals("0", browser.evaluate(ROWS));
    }
  }
}

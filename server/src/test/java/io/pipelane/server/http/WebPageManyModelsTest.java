package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The page of a server with hundreds of models: what is out of sight costs nothing, and is found.
 */
class WebPageManyModelsTest extends WebPageFixture {
  private static final int MODELS = 300;
  private static final String ROWS = "document.getElementById('models').tBodies[0].rows";

  /** The rows that have more than their name. */
  private static final String BUILT = "[...%s].filter(row => row.cells.length > 1)".formatted(ROWS);

  private static FakeCatalog manyModels() {
    FakeCatalog catalog = new FakeCatalog();
    catalog.entries =
        IntStream.range(0, MODELS)
            .mapToObj(i -> new Entry("model-%03d".formatted(i), "1", State.READY, ""))
            .toList();
    return catalog;
  }

  @Test
  void rowsOutOfSight_areNotBuilt_andRowsThatSayTheSame_areNotTouched()
      throws IOException, InterruptedException {
    try (HttpServer server = start(manyModels());
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.await(ROWS + ".length === 300");
      int built = Integer.parseInt(browser.evaluate(BUILT + ".length"));
      assertTrue(built < 60, built + " rows are built");
      assertEquals("1", browser.evaluate(ROWS + "[299].cells.length"));
      assertEquals("model-299 / 1", browser.evaluate(ROWS + "[299].textContent"));

      browser.evaluate("document.querySelector('.tall').scrollTop = 1e6");
      browser.await(ROWS + "[299].cells.length === 10");
      browser.evaluate(
          """
          window.states = 0;
          window.touched = 0;
          new MutationObserver(() => states++).observe(document.getElementById('tiles'),
            { subtree: true, attributeFilter: ['d'] });
          new MutationObserver(changes => { touched += changes.length; }).observe(
            document.getElementById('models'),
            { subtree: true, childList: true, characterData: true, attributes: true });
          0;
          """);
      browser.await("states >= 1"); // Rows that came near have been built meanwhile.
      browser.evaluate("states = touched = 0");
      browser.await("states >= 2");
      assertEquals("0", browser.evaluate("touched"));

      // Screen readers have nothing that is not kept up to date.
      String told = "[...%s[%d].cells].filter(cell => !cell.ariaHidden).length";
      assertEquals("1", browser.evaluate(told.formatted(ROWS, 0)));
      assertEquals("10", browser.evaluate(told.formatted(ROWS, 299)));
      assertEquals("10", browser.evaluate("document.getElementById('models').ariaColCount"));
      assertEquals("10", browser.evaluate(ROWS + "[299].cells[9].ariaColIndex"));

      String layout = "getComputedStyle(%s[0]).contentVisibility".formatted(ROWS);
      assertEquals("auto", browser.evaluate(layout));
      browser.call("Emulation.setEmulatedMedia", Map.of("media", "print"));
      assertEquals("visible", browser.evaluate(layout));
      browser.await(ROWS + "[0].cells.length === 10 && " + ROWS + "[150].cells.length === 10");
    }
  }

  @Test
  void models_areFound_andWhatIsShownStaysInTheAddress() throws IOException, InterruptedException {
    FakeCatalog catalog = manyModels();
    try (HttpServer server = start(catalog);
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.await(ROWS + ".length === 300");
      browser.evaluate("document.getElementById('filter').focus()");
      browser.call("Input.insertText", Map.of("text", "READY del-29"));
      assertEquals("10", browser.evaluate(ROWS + ".length"));
      assertEquals(
          "visible", browser.evaluate("getComputedStyle(%s[0]).contentVisibility".formatted(ROWS)));
      assertEquals(
          "300 of 300 ready, 10 shown",
          browser.evaluate("document.getElementById('model-count').textContent"));
      press(browser, "name");
      assertEquals("#filter=READY+del-29&reversed=", browser.evaluate("location.hash"));

      browser.call("Page.reload", Map.of());
      browser.await(ROWS + ".length === 10");
      assertEquals("READY del-29", browser.evaluate("document.getElementById('filter').value"));
      assertEquals("model-299 / 1", browser.evaluate(cell(1, 1) + ".children[1].textContent"));

      Entry broken = new Entry("model-150", "1", State.UNAVAILABLE, "it has no model.onnx");
      List<Entry> entries = catalog.entries;
      catalog.entries =
          Stream.of(entries.subList(0, 150), List.of(broken), entries.subList(151, MODELS))
              .flatMap(List::stream)
              .toList();
      browser.evaluate("location.hash = 'sort=state'");
      browser.await(ROWS + ".length === 300");
      browser.await(cell(1, 1) + ".lastChild.textContent === 'it has no model.onnx'");
    }
  }

  @Test
  void choice_isNotOfWhatObjectsHaveAnyway_andIsShownWhereTheAddressCannotTakeIt()
      throws IOException, InterruptedException {
    try (HttpServer server = start(manyModels());
        Browser browser = browser()) {
      browser.open(server.url() + "/#sort=valueOf");
      browser.await(ROWS + ".length === 300");
      browser.evaluate("location.hash = 'sort=__proto__'");
      browser.await("document.querySelector('th[aria-sort]').dataset.sort === 'name'");

      browser.evaluate("history.replaceState = () => { throw new Error('too often'); }; 0");
      browser.evaluate("document.getElementById('filter').focus()");
      browser.call("Input.insertText", Map.of("text", "del-29"));
      assertEquals("10", browser.evaluate(ROWS + ".length"));
    }
  }
}

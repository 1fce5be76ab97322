package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.loadgen.report.HtmlReport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What Chromium draws of real results; skipped where none is installed. */
@Timeout(120)
class ReportPageTest {
  /** Moves over every chart, and tells what each section holds. */
  private static final String SURVEY =
      """
      () => {
        for (const svg of document.querySelectorAll("svg"))
          for (const x of [0, 300, 900]) svg.dispatchEvent(
            new PointerEvent("pointermove", {clientX: svg.getBoundingClientRect().x + x, clientY: 9}));
        const sections = {};
        for (const section of document.querySelectorAll("section")) {
          const all = query => [...section.querySelectorAll(query)];
          sections[section.querySelector("h2").textContent] = {
            lines: all("svg path").filter(path => path.getAttribute("d").length > 3).length,
            dots: all("svg circle:not(:has(title))").length, marks: all("svg circle title").length,
            limits: all("svg line.limit").length, legend: all(".legend > span").length,
            tips: all(".tip").filter(tip => tip.textContent.length > 5).length,
            rows: all("tr").length - 1, text: section.textContent};
        }
        return {title: document.title, sections, text: document.querySelector("main").innerText,
          notes: document.querySelectorAll(".note").length,
          images: document.querySelectorAll("main img").length,
          choices: [...document.querySelectorAll("select")].map(select => select.options.length)};
      }""";

  /** Chooses the first of all loads, and looks again. */
  private static final String SURVEY_OF_THE_FIRST_LOAD =
      """
      () => {
        const select = document.querySelector("select");
        select.selectedIndex = 0;
        select.dispatchEvent(new Event("change"));
        return (%s)();
      }"""
          .formatted(SURVEY);

  /** Chooses a run, and looks again. */
  private static final String SURVEY_OF_A_RUN =
      """
      () => {
        const select = document.querySelector("select");
        select.value = "%%d";
        select.dispatchEvent(new Event("change"));
        return (%s)();
      }"""
          .formatted(SURVEY);

  private static final String EVIL = "<img src=x onerror='throw 1'></script>";

  @TempDir private Path folder;
  private final Console console = new Console();
  private final AtomicInteger inferences = new AtomicInteger();

  @Test
  void sweep_everyChartAndTable() throws Exception {
    Chromium browser = browser();
    Path page = folder.resolve("sweep.html");
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      measure(
          "-m a -m b --concurrency-range 1:3:1 --runs 2 --slo 1s --class a=online --class b=offline"
              + " --duration 300ms --warmup 50ms -u %s --html %s".formatted(server.url(), page));
    }

    JsonNode found = browser.ask(page, SURVEY);

    assertEquals("[]", found.path("complaints").toString());
    assertTrue(found.path("title").asText().startsWith("Load test of http://"), found::toString);
    assertEquals("[3,2]", found.path("choices").toString());
    assertSection(found, "Summary", "rows", 3);
    assertSection(found, "Throughput against latency", "lines", 2);
    assertSection(found, "Throughput against latency", "dots", 6);
    assertSection(found, "Throughput against latency", "tips", 1);
    assertSection(found, "Latency by percentile", "lines", 1);
    assertSection(found, "Latency by percentile", "limits", 1);
    assertSection(found, "Latency over time", "lines", 3);
    assertSection(found, "Answers over time", "lines", 1);
    assertSection(found, "Models", "rows", 2);
    assertSection(found, "Inside the server", "rows", 2);
    assertSection(found, "Classes of models", "rows", 2);
    assertTrue(section(found, "Summary").path("text").asText().contains("±"), found::toString);
    assertTrue(
        section(found, "Inside the server").path("text").asText().contains("stall ms"),
        found::toString);
    JsonNode first = browser.ask(page, SURVEY_OF_THE_FIRST_LOAD);
    assertEquals("[]", first.path("complaints").toString());
    assertSection(first, "Summary", "rows", 3);
    assertNotEquals(section(found, "Models"), section(first, "Models"));
  }

  @Test
  void trace_switchesAreMarked() throws Exception {
    Chromium browser = browser();
    Path page = folder.resolve("trace.html");
    Path trace =
        Files.writeString(
            folder.resolve("trace.csv"),
            IntStream.range(0, 200)
                .mapToObj(i -> i / 200.0 + (i % 2 == 0 ? ",a\n" : ",b\n"))
                .collect(Collectors.joining()));
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      measure("--trace %s -u %s --html %s".formatted(trace, server.url(), page));
    }

    JsonNode found = browser.ask(page, SURVEY);

    assertEquals("[]", found.path("complaints").toString());
    assertSection(found, "Latency by percentile", "lines", 2);
    assertTrue(section(found, "Latency over time").path("marks").asInt() >= 9, found::toString);
    assertSection(found, "Latency over time", "legend", 4);
    assertTrue(
        section(found, "Models").path("text").asText().contains("cold p50"), found::toString);
    assertEquals("[]", found.path("choices").toString());
  }

  @Test
  void compareAndSearch_sideBySide() throws Exception {
    Chromium browser = browser();
    Path both = folder.resolve("both.html");
    Path page = folder.resolve("page.html");
    try (ScriptedServer one = new ScriptedServer(this::serve);
        ScriptedServer other = new ScriptedServer(this::refuseSome)) {
      console.run(
          new CompareCommand(),
          "-m a --concurrency-range 1:2:1 --rounds 2 --duration 200ms --warmup 0s --html %s %s %s"
              .formatted(both, one.url(), other.url()));
      measure(
          "-m a --request-rate-range 100:200:100 --binary-search -l 10000 --burst 40ms:60ms"
              + " --duration 200ms --warmup 0s -u %s --json %s --html %s"
                  .formatted(one.url(), folder.resolve("s.json"), page));
    }

    JsonNode compared = browser.ask(both, SURVEY);
    JsonNode searched = browser.ask(page, SURVEY);

    assertEquals("[]", compared.path("complaints").toString());
    assertEquals("Load tests side by side", compared.path("title").asText());
    assertSection(compared, "Summary", "rows", 4);
    assertSection(compared, "Throughput against latency", "lines", 4);
    assertSection(compared, "Throughput against latency", "dots", 8);
    assertSection(compared, "Latency by percentile", "lines", 2);
    assertSection(compared, "Latency over time", "lines", 4);
    assertTrue(section(compared, "Answers over time").path("lines").asInt() >= 3);
    assertTrue(section(compared, "Summary").path("text").asText().contains("1.00 ×"));
    assertTrue(compared.path("notes").asInt() > 0);
    assertTrue(compared.path("text").asText().contains(EVIL), compared::toString);
    assertEquals(0, compared.path("images").asInt());

    assertEquals("[]", searched.path("complaints").toString());
    assertSection(searched, "Summary", "rows", 2);
    assertTrue(
        section(searched, "Summary")
            .path("text")
            .asText()
            .contains("The highest load that holds the limit: open loop, 200.0 requests/s (bursts"),
        searched::toString);
  }

  @Test
  void compare_lostRound_runsOfOneRoundAreShownTogether() throws Exception {
    Chromium browser = browser();
    try (ScriptedServer one = new ScriptedServer(this::serve);
        ScriptedServer other = new ScriptedServer(this::serve)) {
      console.run(
          new CompareCommand(),
          "-m a --concurrency 1 --rounds 3 --request-count 20 --warmup 0s --json %s %s %s"
              .formatted(folder, one.url(), other.url()));
    }
    Path page = folder.resolve("lost.html");
    HtmlReport report = new HtmlReport();
    ObjectNode whole = report.read(folder.resolve("1.json"));
    ObjectNode lost = report.read(folder.resolve("2.json"));
    ((ArrayNode) lost.at("/steps/0/runs")).remove(0);
    lost.withArray("failures").addObject().put("load", "l").put("run", 1).put("reason", "gone");
    report.write(page, List.of(whole, lost));

    JsonNode first = browser.ask(page, SURVEY_OF_A_RUN.formatted(1));
    JsonNode third = browser.ask(page, SURVEY_OF_A_RUN.formatted(3));

    assertEquals("[]", first.path("complaints").toString());
    assertEquals("[3]", first.path("choices").toString());
    assertSection(first, "Models", "rows", 1);
    assertSection(third, "Models", "rows", 2);
    double second = answersPerSecond(lost, 0) / answersPerSecond(whole, 1);
    double last = answersPerSecond(lost, 1) / answersPerSecond(whole, 2);
    String ratio =
        String.format(
            Locale.ROOT,
            "%.2f ×%.2f to %.2f",
            Math.sqrt(second * last),
            Math.min(second, last),
            Math.max(second, last));
    String summary = section(first, "Summary").path("text").asText();
    assertTrue(summary.contains(ratio), () -> ratio + " in " + summary);
  }

  private static double answersPerSecond(JsonNode result, int run) {
    return result.at("/steps/0/runs/" + run + "/total/answers_per_second").asDouble();
  }

  private Chromium browser() {
    Optional<Chromium> browser = Chromium.installed(folder);
    assumeTrue(browser.isPresent(), "no Chromium is installed");
    return browser.get();
  }

  private void measure(String arguments) {
    ExitStatus status = console.loadgen(arguments);
    assertTrue(List.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(status), console::toString);
  }

  private static JsonNode section(JsonNode found, String heading) {
    return found.path("sections").path(heading);
  }

  private static void assertSection(JsonNode found, String heading, String what, int count) {
    assertEquals(
        count,
        section(found, heading).path(what).asInt(-1),
        () -> heading + ": " + what + " in " + found);
  }

  private Optional<String> serve(ScriptedServer.Request request) {
    String line = request.startLine();
    if (line.contains("/stats")) {
      int count = inferences.get();
      String times = "{\"count\":%d,\"ns\":%d}".formatted(count, 1_000_000L * count);
      return ScriptedServer.answer(
          200,
          "",
          "{\"model_stats\":[{\"inference_count\":%d,\"execution_count\":%d,\"inference_stats\":"
                  .formatted(count, count)
              + "{\"queue\":%s,\"stall\":%s,\"compute_infer\":%s}}]}"
                  .formatted(times, times, times));
    }
    if (line.startsWith("GET")) {
      return ScriptedServer.answer(
          200,
          "",
          "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1]}],\"outputs\":[]}");
    }
    int number = inferences.incrementAndGet();
    return ScriptedServer.answer(
        200, "Pipelane-Stall-Us: " + (number % 2 == 0 ? 1500 : 0) + "\r\n", "{}");
  }

  private Optional<String> refuseSome(ScriptedServer.Request request) {
    return request.startLine().startsWith("POST") && inferences.incrementAndGet() % 3 == 0
        ? ScriptedServer.answer(503, "", EVIL)
        : serve(request);
  }
}

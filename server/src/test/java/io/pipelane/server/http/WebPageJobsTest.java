package io.pipelane.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Caller;
import io.pipelane.server.access.Keys;
import io.pipelane.server.jobs.JobParts;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.jobs.JobsSettings;
import io.pipelane.server.statistics.InferenceStatistics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page of a server that has jobs. */
class WebPageJobsTest extends WebPageFixture {
  private static final String HIDDEN = "document.getElementById('jobs').hidden";

  @TempDir Path folder;

  private Jobs jobs() throws IOException {
    JobsSettings settings =
        new JobsSettings(
            folder,
            1,
            1,
            1,
            2,
            1 << 10,
            OptionalDouble.empty(),
            Duration.ofSeconds(1),
            0,
            Optional.empty());
    JobParts parts =
        new JobParts(
            settings,
            catalog(),
            EchoService.inline(),
            new InferenceStatistics(),
            new Random(1),
            Clock.systemUTC());
    return Jobs.open(parts, Optional.empty());
  }

  private static String submit(Jobs jobs) {
    String request = "{\"model\":\"echo\",\"items\":[{\"inputs\":[]},{}],\"output_file\":\"out\"}";
    return jobs.submit(request.getBytes(UTF_8), Caller.ANYBODY).spec().id();
  }

  @Test
  void jobs_areListedWhileThereAreAny() throws IOException, InterruptedException {
    try (Jobs jobs = jobs();
        HttpServer server = start(catalog(), AccessControl.open(), Optional.of(jobs));
        Browser browser = browser()) {
      browser.open(server.url() + "/");
      browser.await("document.querySelectorAll('#models tbody tr').length === 3");
      assertEquals("true", browser.evaluate(HIDDEN));

      String id = submit(jobs);
      browser.await("document.querySelector('#jobs .pill').textContent === 'done'");
      assertEquals("false", browser.evaluate(HIDDEN));
      assertEquals(
          "echo / 2" + id + "|done|2 of 2, 2 of them errors|100 %",
          browser.evaluate(
              "[...document.querySelector('#jobs tbody').rows[0].cells]"
                  + ".map(cell => cell.textContent).join('|')"));

      jobs.remove(id);
      browser.await(HIDDEN);
      assertEquals(List.of(), browser.complaints);
    }
  }

  @Test
  void jobs_areNotAskedForWithAKeyThatMayNotSeeThem() throws IOException, InterruptedException {
    Path keys = Files.createDirectory(folder.resolve("keys"));
    try (Jobs jobs = jobs();
        AccessControl access = Keys.of(keys, Keys.usual());
        HttpServer server = start(catalog(), access, Optional.of(jobs));
        Browser browser = browser()) {
      submit(jobs);
      atEachStart(
          browser,
          "const ask = fetch; window.asked = [];"
              + " window.fetch = (url, ...rest) => { asked.push(url); return ask(url, ...rest); };");
      browser.open(server.url() + "/");
      browser.await(status("needs an API key"));
      enter(browser, "tenant");
      browser.await(status("live"));
      browser.await("document.getElementById('version').textContent !== ''");
      assertEquals("true", browser.evaluate(HIDDEN));
      assertEquals("false", browser.evaluate("asked.includes('v2/jobs')"));

      browser.evaluate("document.getElementById('key-open').click()");
      enter(browser, "observe");
      browser.await(HIDDEN + " === false");
    }
  }
}

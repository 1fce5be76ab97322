package io.pipelane.bench.generator;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** wrk, the load generator written in C, as a process with one thread. */
final class Wrk {
  private static final Pattern REQUESTS = Pattern.compile("(\\d+) requests in ");

  /** What {@code time} prints: seconds of processor time of the user's and of the system's. */
  private static final Pattern SECONDS = Pattern.compile("cpu ([0-9.]+) ([0-9.]+)");

  private final Path folder;
  private final URI url;
  private final String body;

  /**
   * @param folder for its scripts
   */
  Wrk(Path folder, URI url, String body) {
    this.folder = folder;
    this.url = url;
    this.body = body;
  }

  /** The measurements of a stretch of load. */
  record Measured(long requests, double cpuSeconds, double seconds) {
    double cpuMicros() {
      return cpuSeconds * 1e6 / Math.max(1, requests);
    }

    double perSecond() {
      return requests / seconds;
    }
  }

  static boolean isInstalled() {
    return Stream.of(Optional.ofNullable(System.getenv("PATH")).orElse("").split(":", -1))
        .anyMatch(entry -> Files.isExecutable(Path.of(entry, "wrk")));
  }

  /**
   * Sends for a while over connections with one request at a time each.
   *
   * @param pauseMillis how long each connection rests behind an answer
   */
  Measured run(int connections, int pauseMillis, Duration length)
      throws IOException, InterruptedException {
    Path script =
        Files.writeString(
            folder.resolve("wrk-" + pauseMillis + ".lua"),
            "wrk.method = \"POST\"\nwrk.body = \""
                + body
                + "\"\n"
                + (pauseMillis == 0 ? "" : "function delay() return " + pauseMillis + " end\n"));
    double seconds = Math.max(1, Math.rint(length.toMillis() / 1e3));
    String load =
        String.format(
            Locale.ROOT,
            "TIMEFORMAT='cpu %%U %%S'; time wrk -t1 -c%d -d%.0fs -s '%s' %s",
            connections,
            seconds,
            script,
            url);
    Process process =
        new ProcessBuilder(List.of("bash", "-c", load)).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    Matcher requests = REQUESTS.matcher(output);
    Matcher cpu = SECONDS.matcher(output);
    if (process.waitFor() != 0 || !requests.find() || !cpu.find()) {
      throw new StatusException(Status.INTERNAL, "wrk fails: " + output.strip());
    }
    return new Measured(
        Long.parseLong(requests.group(1)),
        Double.parseDouble(cpu.group(1)) + Double.parseDouble(cpu.group(2)),
        seconds);
  }
}

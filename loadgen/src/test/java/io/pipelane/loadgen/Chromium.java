package io.pipelane.loadgen;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A headless Chromium that is started once for each page. */
final class Chromium {
  private static final List<String> NAMES =
      List.of("chromium", "chromium-browser", "google-chrome", "chrome");

  /** Runs ahead of the page's own scripts: what they throw or complain of is kept. */
  private static final String WATCH =
      """
      <script>
      window.complaints = [];
      addEventListener("error", event => complaints.push(String(event.message)));
      console.error = console.warn = (...texts) => complaints.push(texts.join(" "));
      </script>
      """;

  private static final Pattern FOUND = Pattern.compile("<pre id=\"found\">([^<]*)</pre>");

  private final Path program;
  private final Path folder;

  private Chromium(Path program, Path folder) {
    this.program = program;
    this.folder = folder;
  }

  /**
   * The program, where one is installed.
   *
   * @param folder for its profile and for pages
   */
  static Optional<Chromium> installed(Path folder) {
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1))
        .flatMap(path -> NAMES.stream().map(name -> Path.of(path, name)))
        .filter(Files::isExecutable)
        .findFirst()
        .map(program -> new Chromium(program, folder));
  }

  /**
   * Opens a page and asks it something.
   *
   * @param function in JavaScript, called without arguments once the page has been drawn
   * @return what it returned, and as {@code complaints} what went wrong in the page
   */
  JsonNode ask(Path page, String function) throws IOException, InterruptedException {
    String asked =
        Files.readString(page)
                .replace("<meta charset=\"utf-8\">", "<meta charset=\"utf-8\">" + WATCH)
            + """
            <script>
            {
              let found = {};
              try { found = (%s)(); } catch (failure) { complaints.push(String(failure.stack)); }
              const pre = document.createElement("pre");
              pre.id = "found";
              pre.textContent = encodeURIComponent(JSON.stringify({...found, complaints}));
              document.body.append(pre);
            }
            </script>
            """
                .formatted(function);
    Path file = Files.writeString(folder.resolve("asked.html"), asked);
    Matcher found = FOUND.matcher(run("--dump-dom", file.toUri().toString()));
    if (!found.find()) {
      throw new AssertionError("the page has not come to its end");
    }
    return new ObjectMapper().readTree(URLDecoder.decode(found.group(1), StandardCharsets.UTF_8));
  }

  private String run(String... arguments) throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(
            List.of(
                program.toString(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--window-size=1280,1600",
                "--user-data-dir=" + folder.resolve("profile")));
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
    builder.environment().put("TMPDIR", folder.toString());
    Process process = builder.start();
    try {
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly().waitFor();
    }
  }
}

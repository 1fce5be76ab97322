package io.pipelane.demo.report;

import java.net.URI;
import java.nio.file.Path;

/**
 * A command to paste into a shell.
 *
 * @param purpose what it shows, in a few words
 */
public record CurlExample(String purpose, String command) {
  private static final String JSON = "-H 'Content-Type: application/json'";

  /** Fetches a page such as {@code /v2}. */
  public static CurlExample get(String purpose, URI server, String path) {
    return new CurlExample(purpose, "curl -s %s; echo".formatted(server.resolve(path)));
  }

  /** Lists the models of a repository and their states. */
  public static CurlExample index(String purpose, URI server) {
    return new CurlExample(
        purpose, "curl -s -X POST %s; echo".formatted(server.resolve("/v2/repository/index")));
  }

  /** Sends an inference request whose body stands in the command; shows the answer's beginning. */
  public static CurlExample infer(String purpose, URI server, String model, String body) {
    return new CurlExample(
        purpose,
        "curl -s %s %s \\\n  -d %s | head -c 300; echo"
            .formatted(address(server, model), JSON, quoted(body)));
  }

  /** Sends an inference request whose body is in a file; shows the answer's beginning. */
  public static CurlExample infer(String purpose, URI server, String model, Path bodyFile) {
    return infer(purpose, server, model, "@" + bodyFile.toAbsolutePath());
  }

  private static URI address(URI server, String model) {
    return server.resolve("/v2/models/" + model + "/infer");
  }

  private static String quoted(String text) {
    return "'" + text.replace("'", "'\\''") + "'";
  }
}

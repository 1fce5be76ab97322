package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class HeadersTest {
  private static final String METADATA =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1]}]}";

  private final Set<String> authorizations = ConcurrentHashMap.newKeySet();
  private final StringWriter err = new StringWriter();

  @Test
  void header_everyRequestCarriesItAndNoFileKeepsIt(@TempDir Path folder) throws Exception {
    Path result = folder.resolve("result.json");
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      int status =
          Loadgen.commandLine()
              .setOut(new PrintWriter(new StringWriter()))
              .setErr(new PrintWriter(err))
              .execute(
                  "-u=" + server.url(),
                  "-mm",
                  "--concurrency=1",
                  "--request-count=3",
                  "--warmup=0s",
                  "-H",
                  "Authorization: Bearer secret",
                  "-HX-Other:secret",
                  "--header=X-Third: secret",
                  "--json=" + result);

      assertTrue(
          Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(ExitStatus.of(status)),
          err.toString());
    }
    assertEquals(Set.of("Bearer secret"), authorizations);
    String json = Files.readString(result);
    assertTrue(json.contains("Authorization: (not kept)"), json);
    assertFalse(json.contains("secret"), json);
  }

  @Test
  void header_ofAFile_isSentAndNotKept(@TempDir Path folder) throws Exception {
    Path secrets = folder.resolve("headers");
    Files.writeString(secrets, "X-Other: other\n\nAuthorization: Bearer secret\n");
    Path result = folder.resolve("result.json");
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      Console console = new Console();
      ExitStatus status =
          console.loadgen(
              "-u %s -m m --concurrency 1 --request-count 3 --warmup 0s -H @%s --json %s"
                  .formatted(server.url(), secrets, result));

      assertTrue(Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(status), console::toString);
    }
    assertEquals(Set.of("Bearer secret"), authorizations);
    String json = Files.readString(result);
    assertTrue(json.contains("Authorization: (not kept)"), json);
    assertTrue(json.contains("X-Other: (not kept)"), json);
    assertFalse(json.contains("secret"), json);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\n \n", "Bearer secret\n"})
  void header_ofAFileWithoutAny_isRefusedAndNotRepeated(String text, @TempDir Path folder)
      throws Exception {
    Path file = folder.resolve("headers");
    Files.writeString(file, text);
    Console console = new Console();

    ExitStatus status = console.loadgen("-m m --concurrency 1 -H @" + file);

    assertEquals(ExitStatus.WRONG_OPTION, status, console::toString);
    assertTrue(console.err.toString().contains("write NAME:VALUE"), console::toString);
    assertFalse(console.err.toString().contains("secret"), console::toString);
  }

  @Test
  void header_withoutColon_isRefusedAndNotRepeated() {
    int status =
        Loadgen.commandLine()
            .setErr(new PrintWriter(err))
            .execute("-m", "m", "--concurrency", "1", "-H", "Bearer secret");

    assertEquals(ExitStatus.WRONG_OPTION.code(), status);
    assertFalse(err.toString().contains("secret"), err.toString());
  }

  private Optional<String> serve(ScriptedServer.Request request) {
    authorizations.add(request.header("authorization"));
    return ScriptedServer.answer(200, "", request.startLine().startsWith("GET") ? METADATA : "{}");
  }
}

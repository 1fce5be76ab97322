package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A result is measured again with the files it was measured with, or not at all. */
@Timeout(60)
class RerunFilesTest {
  /** SHA-256 of 32 zeros. */
  private static final String ZEROS =
      "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925";

  /** SHA-256 of a one and 31 zeros. */
  private static final String CHANGED =
      "01d0fabd251fcbbe2b93b4b927b26ad2a1a99077152e45ded1e678afa45dbec5";

  @TempDir private Path folder;
  private final Console console = new Console();
  private final StubModel model = new StubModel();

  @Test
  void rerun_fileThatHasChanged_isRefusedWithBothDigests() throws Exception {
    try (ScriptedServer server = new ScriptedServer(model::serve)) {
      Path ids = Files.write(folder.resolve("ids"), new byte[32]);
      Path unused = Files.write(folder.resolve("unused"), new byte[3]);
      Path json = measure(server);
      JsonNode files = new ObjectMapper().readTree(json.toFile()).path("files");
      assertEquals(
          List.of(ids.toString(), folder.resolve("trace.csv").toString()),
          files.findValuesAsText("path"));
      assertEquals(ZEROS, files.at("/0/sha256").asText());

      Files.write(unused, new byte[4]);
      assertNotEquals(ExitStatus.WRONG_OPTION, rerun(json), console::toString);

      int asked = model.inferences.get();
      Files.write(ids, new byte[] {1}, StandardOpenOption.WRITE);
      assertEquals(ExitStatus.WRONG_OPTION, rerun(json), console::toString);
      assertSaid(ids + " has changed: its SHA-256 was " + ZEROS + ", and is " + CHANGED);

      Files.move(ids, folder.resolve("ids.bin"));
      assertEquals(ExitStatus.WRONG_OPTION, rerun(json), console::toString);
      assertSaid(ids + " was read then");
      assertEquals(asked, model.inferences.get());
    }
  }

  @Test
  void rerun_resultWithoutDigests_saysSo() throws Exception {
    try (ScriptedServer server = new ScriptedServer(model::serve)) {
      Files.write(folder.resolve("ids"), new byte[32]);
      Path json = measure(server);
      ObjectNode result = (ObjectNode) new ObjectMapper().readTree(json.toFile());
      result.remove("files");
      new ObjectMapper().writeValue(json.toFile(), result);

      assertNotEquals(ExitStatus.WRONG_OPTION, rerun(json), console::toString);
      assertSaid("has no digests of the files it read");
    }
  }

  private Path measure(ScriptedServer server) throws IOException {
    Path trace = Files.writeString(folder.resolve("trace.csv"), "0,m\n0.001,m\n0.002,m\n");
    Path json = folder.resolve("result.json");
    console.loadgen(
        "--shape ids:1,4 --input-data %s --trace %s -u %s --json %s"
            .formatted(folder, trace, server.url(), json));
    return json;
  }

  private ExitStatus rerun(Path json) {
    return console.run(new RerunCommand(), json.toString());
  }

  private void assertSaid(String text) {
    assertTrue(console.err.toString().contains(text), console::toString);
  }
}

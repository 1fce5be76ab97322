package io.pipelane.bench.start;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.loadgen.Loadgen;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("long")
@Timeout(600)
class TryCommandTest {
  @TempDir private Path folder;

  @Test
  void shouldServeMeasureAndWriteAPage() throws Exception {
    int status =
        Loadgen.execute("try", "--work", folder.toString(), "--rates", "5:5:1", "--duration", "2s");

    assertTrue(Set.of(0, 4).contains(status), () -> "exit status " + status);
    JsonNode run =
        new ObjectMapper().readTree(folder.resolve("result.json").toFile()).at("/steps/0/runs/0");
    assertEquals(0, run.at("/total/errors").asInt(), run.toString());
    assertTrue(run.at("/total/answered").asInt() > 0);
    assertTrue(Files.readString(folder.resolve("report.html")).contains("ppocr-v4-rec"));
  }
}

package io.pipelane.bench.start;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.loadgen.ExitStatus;
import io.pipelane.loadgen.Loadgen;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
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
  void shouldServeFindARateMeasureAndWriteAPage() throws Exception {
    int status = Loadgen.execute("try", "--work", folder.toString(), "--duration", "2s");

    Set<ExitStatus> expected = EnumSet.of(ExitStatus.OK, ExitStatus.BOTTLENECK);
    assertTrue(expected.contains(ExitStatus.of(status)), () -> ExitStatus.of(status).toString());
    JsonNode result = new ObjectMapper().readTree(folder.resolve("result.json").toFile());
    assertEquals(3, result.at("/steps").size());
    JsonNode run = result.at("/steps/0/runs/0");
    assertEquals(0, run.at("/total/errors").asInt(), run.toString());
    assertTrue(run.at("/total/answered").asInt() > 0);
    assertTrue(Files.readString(folder.resolve("report.html")).contains("ppocr-v4-rec"));
  }
}

package io.pipelane.loadgen.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.loadgen.file.FilesRead;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceFileTest {
  @TempDir private Path folder;
  private Path file = Path.of("");

  @BeforeEach
  void nameFile() {
    file = folder.resolve("trace.csv");
  }

  @Test
  void read_headerCommentsAndDisorder_sortedRequests() throws Exception {
    Files.writeString(file, "# a comment\ntime,model,batch\n2.5,b,4\n\n0.25, a \n2.5,b,1\n");

    List<TracedRequest> requests = TraceFile.read(file, new FilesRead());

    assertEquals(
        List.of(
            new TracedRequest(0.25, "a", 1),
            new TracedRequest(2.5, "b", 4),
            new TracedRequest(2.5, "b", 1)),
        requests);
    TracePlan plan = TracePlan.of(requests);
    assertEquals(Map.of("a", List.of(1), "b", List.of(4, 1)), plan.batches());
    assertEquals(250_000_000, plan.trace().offsetNanos(0));
    assertEquals(1, plan.trace().model(2));
    assertEquals(1, plan.trace().variant(2));
  }

  @Test
  void read_byteOrderMark_isPassedOver() throws Exception {
    Files.writeString(file, "\uFEFF0.25,a\n");

    assertEquals(List.of(new TracedRequest(0.25, "a", 1)), TraceFile.read(file, new FilesRead()));
  }

  @Test
  void write_thenRead_theSame() throws Exception {
    List<TracedRequest> requests =
        List.of(new TracedRequest(0, "a", 1), new TracedRequest(1.000001, "b", 32));

    TraceFile.write(file, requests);

    assertEquals(requests, TraceFile.read(file, new FilesRead()));
  }

  @Test
  void read_noText_refused() throws Exception {
    Files.write(file, new byte[] {'0', ',', (byte) 0xff, '\n'});

    StatusException refused =
        assertThrows(StatusException.class, () -> TraceFile.read(file, new FilesRead()));

    assertTrue(refused.toString().contains("cannot read the trace"), refused.toString());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1.0,a,1,x  | line 2",
        "x,a        | line 2",
        "-1,a       | between 0 s and a week",
        "1,a,0      | between 1 and 65536",
        "1,,1       | has no name",
        "NaN,a      | between 0 s and a week"
      })
  void read_badLine_refusedWithItsNumber(String line, String message) throws Exception {
    Files.writeString(file, "0,a\n" + line + "\n");

    StatusException refused =
        assertThrows(StatusException.class, () -> TraceFile.read(file, new FilesRead()));

    assertTrue(refused.toString().contains(message), refused.toString());
  }
}

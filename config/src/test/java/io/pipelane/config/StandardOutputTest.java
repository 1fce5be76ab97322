package io.pipelane.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StandardOutputTest {
  private static final int LOST = 7;

  private static StandardOutput printed(OutputStream to, boolean isPipe) {
    StandardOutput output = new StandardOutput(to, () -> isPipe);
    new PrintStream(output, true, StandardCharsets.UTF_8).println("a line");
    return output;
  }

  @ParameterizedTest
  @CsvSource({"false, 0, 7", "false, 3, 3", "true, 0, 0"})
  void output_thatCannotBeWritten_isAFailure_butForAClosedPipe(
      boolean isPipe, int ended, int expected) {
    StandardOutput output =
        printed(
            new OutputStream() {
              @Override
              public void write(int single) throws IOException {
                throw new IOException("a reason");
              }
            },
            isPipe);

    assertEquals(expected, output.exitStatus(ended, LOST));
  }

  @Test
  void output_thatIsWritten_isAll() {
    ByteArrayOutputStream to = new ByteArrayOutputStream();

    assertEquals(0, printed(to, false).exitStatus(0, LOST));
    assertEquals("a line" + System.lineSeparator(), to.toString(StandardCharsets.UTF_8));
  }
}

package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.GpuTests;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A GPU that is lost while it lends its link, in a process of its own. */
@Tag("gpu")
class LostLenderTest {
  private static final long LIMIT_SECONDS = 120;

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(ints = {500, 1_500, 3_000})
  void copies_lenderFaultsWhilePiecesAreUnderWay_allEnd(int afterMicros)
      throws IOException, InterruptedException {
    CudaDriver driver = GpuTests.driverOrSkip();
    Assumptions.assumeTrue(driver.deviceCount() > 1, "there is one GPU only");
    Path said = folder.resolve("said");
    Process program =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path"),
                LostLender.class.getName(),
                Integer.toString(afterMicros))
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    try {
      assertTrue(program.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), () -> "no end: " + read(said));
      assertEquals(0, program.exitValue(), () -> read(said));
    } finally {
      program.destroyForcibly();
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}

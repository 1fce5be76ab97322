package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** Certificates of tests, made with openssl; without that the test is left out. */
public final class Certificates {
  private static final String ELLIPTIC = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

  private Certificates() {}

  /** Makes a certificate for this machine that signs itself, NAME.pem, and its key, NAME.key. */
  public static void make(Path folder, String name) throws IOException, InterruptedException {
    make(folder, name, ELLIPTIC + " -keyout " + name + ".key");
  }

  /** The same, with what openssl is told of its key. */
  static void make(Path folder, String name, String key) throws IOException, InterruptedException {
    List<String> command =
        Stream.of(
                "openssl req -x509 -days 2 -subj /CN=" + name,
                "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -out " + name + ".pem",
                key)
            .flatMap(line -> Stream.of(line.split(" ")))
            .toList();
    Path said = folder.resolve(name + ".log");
    try {
      Process process =
          new ProcessBuilder(command)
              .directory(folder.toFile())
              .redirectErrorStream(true)
              .redirectOutput(new File(said.toString()))
              .start();
      assertEquals(0, process.waitFor(), () -> text(said));
    } catch (IOException e) {
      Assumptions.abort("openssl cannot be run: " + e.getMessage());
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}

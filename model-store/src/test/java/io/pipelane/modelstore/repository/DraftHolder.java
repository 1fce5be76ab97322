package io.pipelane.modelstore.repository;

import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.IncomingVersion.Form;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;

/** Another process that uploads a version and has carried a model; it waits before it finishes. */
final class DraftHolder {
  static final String READY = "ready";
  static final String PUBLISHED = "published";

  private DraftHolder() {}

  static Process start(Path root) throws IOException {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            DraftHolder.class.getName(),
            root.toString());
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  @SuppressWarnings("SystemOut") // It is how the test is told.
  public static void main(String[] arguments) throws Exception {
    RepositoryWriter writer =
        new RepositoryWriter(Path.of(arguments[0]), new ByteSize(1000), new Random(1));
    CarriedModel carried = writer.carry("carried", Map.of("1/model.onnx", new byte[1]));
    try (carried) {
      IncomingVersion incoming = writer.receive(new ModelVersion("uploaded", 1), Form.MODEL);
      try (incoming) {
        incoming.write(ByteBuffer.wrap(new byte[1]));
        System.out.println(READY);
        System.in.read();
        incoming.finish(Optional.empty());
      }
      System.out.println(PUBLISHED);
      new CountDownLatch(1).await(); // Until the test ends this process.
    }
  }
}

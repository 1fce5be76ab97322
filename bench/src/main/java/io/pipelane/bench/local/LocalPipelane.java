package io.pipelane.bench.local;

import io.pipelane.bench.measure.Run;
import io.pipelane.bench.process.Readiness;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.PipelaneServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Pipelane in this process, without HTTP between, with room for every model; it loads a copy of
 * ONNX Runtime's library of its own.
 */
public final class LocalPipelane implements AutoCloseable {
  private static final String MEMORY = "1GiB";

  private final PipelaneServer server;

  private LocalPipelane(PipelaneServer server) {
    this.server = server;
  }

  /**
   * Starts one and waits for its imports.
   *
   * @param work where derived files and the copy of the library go; may be there from earlier
   */
  public static LocalPipelane start(Path repository, Path work)
      throws IOException, InterruptedException {
    Map<String, String> values = new HashMap<>();
    values.put("repository.path", repository.toString());
    values.put("repository.cache", work.resolve("cache").toString());
    values.put("runtime.library", copyLibrary(work).toString());
    values.put("device.memory", MEMORY);
    values.put("server.http-port", "0");
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(values));
    Readiness.await(server);
    return new LocalPipelane(server);
  }

  private static Path copyLibrary(Path work) throws IOException {
    Path library = OrtLibrary.locate(Optional.empty(), work.resolve("cache"));
    Path folder = Files.createDirectories(work.resolve("library"));
    Files.copy(library, folder.resolve(library.getFileName()), StandardCopyOption.REPLACE_EXISTING);
    return folder;
  }

  /** A caller, for one thread. */
  public Run caller(String model, List<Tensor> inputs) {
    List<String> outputs =
        server.catalog().resolve(model, null).outputs().stream().map(TensorSpec::name).toList();
    return new LocalCaller(server.switcher(), new ModelVersion(model, 1), inputs, outputs);
  }

  /** Takes a model's weights off the device. */
  public void evict(String model) {
    server.switcher().evict(new ModelVersion(model, 1));
  }

  @Override
  public void close() {
    server.close();
  }
}

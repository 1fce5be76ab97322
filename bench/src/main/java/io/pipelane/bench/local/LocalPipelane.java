package io.pipelane.bench.local;

import io.pipelane.bench.measure.Run;
import io.pipelane.bench.process.Readiness;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.PipelaneServer;
import io.pipelane.switcher.InferenceService;
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
    return start(repository, work, Map.of());
  }

  /**
   * Starts one that is configured otherwise.
   *
   * @param configuration values by key
   */
  public static LocalPipelane start(Path repository, Path work, Map<String, String> configuration)
      throws IOException, InterruptedException {
    Map<String, String> values = new HashMap<>();
    values.put("repository.path", repository.toString());
    values.put("repository.cache", work.resolve("cache").toString());
    values.put("runtime.library", copyLibrary(work).toString());
    values.put("device.memory", MEMORY);
    values.put("server.http-port", "0");
    values.putAll(configuration);
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
    return caller(model, inputs, Priority.ONLINE);
  }

  /** A caller of a class, for one thread. */
  public Run caller(String model, List<Tensor> inputs, Priority priority) {
    ModelVersion version = new ModelVersion(model, 1);
    InferenceService service =
        (request, handler) ->
            server
                .switcher()
                .submit(priority == Priority.OFFLINE ? request.offline() : request, handler);
    return new LocalCaller(service, version, inputs, outputs(model));
  }

  /** What a model declares. */
  public List<TensorSpec> inputs(String model) {
    return server.catalog().resolve(model, null).inputs();
  }

  /** A caller that does not wait for answers. */
  public OpenCaller openCaller(String model, List<Tensor> inputs) {
    ModelVersion version = new ModelVersion(model, 1);
    return new OpenCaller(server.switcher(), version, inputs, outputs(model));
  }

  private List<String> outputs(String model) {
    return server.catalog().resolve(model, null).outputs().stream().map(TensorSpec::name).toList();
  }

  /** The median over the latest runs of how far what was expected of them was off, as a share. */
  public double estimateError() {
    return server.switcher().estimateError();
  }

  /** ONNX Runtime's version. */
  public String runtimeVersion() {
    return server.switcher().runtimeVersion();
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

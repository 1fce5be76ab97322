package io.pipelane.bench.local;

import io.pipelane.bench.measure.Run;
import io.pipelane.bench.process.Readiness;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.PipelaneServer;
import io.pipelane.switcher.memory.Ledger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Pipelane in this process, without HTTP between, with room for every model in both forms.
 *
 * <p>Several can run at a time: each loads a copy of ONNX Runtime's library of its own.
 */
public final class LocalPipelane implements AutoCloseable {
  private static final String MEMORY = "1GiB";

  private final PipelaneServer server;
  private final boolean packs;

  private LocalPipelane(PipelaneServer server, boolean packs) {
    this.server = server;
    this.packs = packs;
  }

  /**
   * Starts one and waits for its imports.
   *
   * @param work where derived files and the copy of the library go; may be there from earlier
   * @param packs whether models get their packed form with their first run, or never
   */
  public static LocalPipelane start(Path repository, Path work, boolean packs)
      throws IOException, InterruptedException {
    Map<String, String> values = new HashMap<>();
    values.put("repository.path", repository.toString());
    values.put("repository.cache", work.resolve("cache").toString());
    values.put("runtime.library", copyLibrary(work, packs ? "packed" : "gated").toString());
    values.put("runtime.prepack", Boolean.toString(packs));
    values.put("runtime.prepack-after", "1");
    values.put("device.memory", MEMORY);
    values.put("server.http-port", "0");
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(values));
    Readiness.await(server);
    return new LocalPipelane(server, packs);
  }

  private static Path copyLibrary(Path work, String name) throws IOException {
    Path library = OrtLibrary.locate(Optional.empty(), work.resolve("cache"));
    Path folder = Files.createDirectories(work.resolve("library-" + name));
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

  /** Whether a model is served from the form it keeps: packed where it has weights to pack. */
  public boolean isSettled(String model) {
    return !packs || Readiness.isPacked(server, model);
  }

  /** Who holds what of the memory for weights. */
  public Ledger ledger() {
    return server.switcher().memory().weights();
  }

  @Override
  public void close() {
    server.close();
  }
}

package io.pipelane.bench.local;

import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.process.Readiness;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.calibration.Calibration;
import io.pipelane.lanes.calibration.CalibrationFile;
import io.pipelane.lanes.execution.AllocationSizes;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.device.DeviceList;
import io.pipelane.server.device.Processor;
import io.pipelane.server.device.ServingDevices;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.schedule.turn.Preemptions;
import io.pipelane.switcher.sharing.Sharing;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Pipelane in this process, without HTTP between, with room for every model; it loads a copy of
 * ONNX Runtime's library of its own.
 */
public final class LocalPipelane implements AutoCloseable {
  private static final String MEMORY = "1GiB";
  private static final long LEAST_MEMORY = 256L << 20;

  private final PipelaneServer server;
  private final Queue<MemorySegment> taken = new ConcurrentLinkedQueue<>();

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
    LocalPipelane started = begin(repository, work, configuration);
    try {
      Readiness.await(started.server);
      return started;
    } catch (StatusException | InterruptedException e) {
      started.close();
      throw e;
    }
  }

  /**
   * Starts one that serves what it can: models may be refused.
   *
   * @param configuration values by key
   */
  public static LocalPipelane startWithReady(
      Path repository, Path work, Map<String, String> configuration)
      throws IOException, InterruptedException {
    LocalPipelane started = begin(repository, work, configuration);
    try {
      List<ModelCatalog.Entry> _ = Readiness.refused(started.server);
      return started;
    } catch (StatusException | InterruptedException e) {
      started.close();
      throw e;
    }
  }

  private static LocalPipelane begin(Path repository, Path work, Map<String, String> configuration)
      throws IOException {
    Map<String, String> values = new HashMap<>();
    values.put("repository.path", repository.toString());
    values.put("repository.cache", work.resolve("cache").toString());
    values.put("runtime.library", copyLibrary(work).toString());
    values.put("device.memory", MEMORY);
    values.put("server.http-port", "0");
    values.put("residency.share-pages", "false"); // Copies of one model stand for different ones.
    values.putAll(configuration);
    return new LocalPipelane(PipelaneServer.start(PipelaneConfig.of(values)));
  }

  /**
   * Starts one for a model alone, with one lane and room for all that the model may take.
   *
   * @param repository holds nothing else
   * @param device says which device it is
   */
  public static LocalPipelane startFor(
      AskedModel asked, Path repository, Path work, Map<String, String> device)
      throws IOException, InterruptedException {
    Map<String, String> settings = new HashMap<>(device);
    long bytes = LEAST_MEMORY + 2 * Files.size(asked.file());
    settings.put("device.memory", Long.toString(bytes));
    settings.putIfAbsent("device.working-memory", "4GiB");
    settings.put("device.lanes", "1");
    return start(repository, work, settings);
  }

  /**
   * Measures the processor's link as {@code pipelane devices} does, for servers of this
   * configuration, unless that was done before.
   *
   * @param configuration values by key
   */
  public static void calibrate(Path work, Map<String, String> configuration) throws IOException {
    Map<String, String> values = new HashMap<>(configuration);
    values.put("repository.cache", work.resolve("cache").toString());
    PipelaneConfig config = PipelaneConfig.of(values);
    Calibration _ =
        new DeviceList(config, System::nanoTime)
            .cpu(Processor.description())
            .calibration(new CalibrationFile(config.repository().cache()));
  }

  /** Why models were refused, by their names. */
  public Map<String, String> refusals() {
    Map<String, String> reasons = new TreeMap<>();
    for (ModelCatalog.Entry entry : server.catalog().index()) {
      if (entry.state() != ModelCatalog.State.READY) {
        reasons.put(entry.name(), entry.reason());
      }
    }
    return reasons;
  }

  /** What is to be known of a model: what its import has left out, what of it is captured. */
  public List<String> notes(String model) {
    return server.catalog().index().stream()
        .filter(entry -> entry.name().equals(model))
        .flatMap(entry -> entry.notes().stream())
        .toList();
  }

  private static Path copyLibrary(Path work) throws IOException {
    Path library = OrtLibrary.locate(Optional.empty(), work.resolve("cache"));
    Path folder = Files.createDirectories(work.resolve("library"));
    Path copy = folder.resolve(library.getFileName());
    if (!Files.exists(copy) || Files.size(copy) != Files.size(library)) {
      Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
    }
    return folder;
  }

  /** A caller, for one thread. */
  public LocalCaller caller(String model, List<Tensor> inputs) {
    return caller(model, inputs, Priority.ONLINE, 0, LocalPipelane::ordinary);
  }

  /** A caller of a class, for one thread, while there is no other; the first of a number. */
  public LocalCaller caller(AskedModel asked, Priority priority) {
    return caller(asked, priority, 0);
  }

  /**
   * One of several callers of a class, for one thread.
   *
   * @param number of a model that keeps state, those of different numbers have sequences of their
   *     own, and who has the number of an earlier one begins its sequence anew
   */
  public LocalCaller caller(AskedModel asked, Priority priority, int number) {
    return caller(asked.model(), inputs(asked), priority, number, LocalPipelane::ordinary);
  }

  /** A caller whose requests and answers lie where those of the front ends do, for one thread. */
  public LocalCaller receivingCaller(AskedModel asked) {
    return caller(asked.model(), inputs(asked), Priority.ONLINE, 0, this::received);
  }

  /** Lent until this server is closed. */
  private MemorySegment received(long bytes) {
    @Nullable MemorySegment found =
        bytes < TransferBuffers.LEAST_BYTES ? null : server.transferMemory().take(bytes);
    if (found == null) {
      return ordinary(bytes);
    }
    taken.add(found);
    return found;
  }

  private static MemorySegment ordinary(long bytes) {
    return Arena.ofAuto().allocate(bytes, 64);
  }

  private LocalCaller caller(
      String model,
      List<Tensor> inputs,
      Priority priority,
      int number,
      LongFunction<MemorySegment> memory) {
    ModelVersion version = new ModelVersion(model, 1);
    InferenceService service =
        server.catalog().resolve(model, "").options().state().isEmpty()
            ? (request, handler) -> submit(request, priority, handler)
            : new SequenceSteps((request, handler) -> submit(request, priority, handler), number);
    return new LocalCaller(service, version, inputs, outputs(model), memory);
  }

  /** A caller of an ensemble, for one thread. */
  public LocalCaller ensembleCaller(String name, List<Tensor> inputs) {
    return new LocalCaller(server.service(), new ModelVersion(name, 1), inputs, outputs(name));
  }

  private InferenceService.Ticket submit(
      InferenceRequest request, Priority priority, ResultHandler handler) {
    return server
        .devices()
        .submit(priority == Priority.OFFLINE ? request.offline() : request, handler);
  }

  /** What a model is asked. */
  public List<Tensor> inputs(AskedModel asked) {
    return inputs(asked, asked.model());
  }

  /** What a model of another name, and otherwise the same, is asked. */
  public List<Tensor> inputs(AskedModel asked, String name) {
    return asked.inputs().apply(server.catalog().resolve(name, "").inputs());
  }

  /** A caller that does not wait for answers. */
  public OpenCaller openCaller(AskedModel asked) {
    return openCaller(asked, asked.model());
  }

  /** A caller that asks the same of a model of another name. */
  public OpenCaller openCaller(AskedModel asked, String name) {
    return openCaller(name, inputs(asked, name));
  }

  /** A caller that does not wait for answers. */
  public OpenCaller openCaller(String model, List<Tensor> inputs) {
    ModelVersion version = new ModelVersion(model, 1);
    return new OpenCaller(server.devices(), version, inputs, outputs(model));
  }

  private List<String> outputs(String model) {
    return server.catalog().resolve(model, "").outputs().stream().map(TensorSpec::name).toList();
  }

  /** The median over the latest runs of how far what was expected of them was off, as a share. */
  public double estimateError() {
    return server.switcher().estimateError();
  }

  /** The same of the time from a request's coming to its answer. */
  public double answerEstimateError() {
    return server.switcher().answerEstimateError();
  }

  /** What is counted of each device, all devices together, now. */
  public double total(ToLongFunction<DeviceState> counted) {
    return server.devices().states().values().stream().mapToLong(counted).sum();
  }

  /** ONNX Runtime's version. */
  public String runtimeVersion() {
    return server.devices().runtimeVersion();
  }

  /** Takes a model's weights off the device. */
  public void evict(String model) {
    server.switcher().evict(new ModelVersion(model, 1));
  }

  /** Brings a model's weights onto the device; blocks until they are there. */
  public void warmUp(String model) {
    server.switcher().warmUp(new ModelVersion(model, 1));
  }

  /** Says that a model will be asked soon; its weights come in while nobody waits for the link. */
  public void wish(String model) {
    server.switcher().wish(new ModelVersion(model, 1), Optional.empty(), Priority.ONLINE);
  }

  /** Who holds what of the device's memory, now. */
  public MemoryOverview memory() {
    return server.switcher().memory();
  }

  /** How large what ONNX Runtime has allocated was, in this process. */
  public AllocationSizes allocations() {
    return server.switcher().allocations();
  }

  /**
   * Device memory that models, sessions, lanes, states and libraries have, pages that nobody has
   * left out.
   */
  public long takenBytes() {
    MemoryOverview memory = memory();
    return memory.weights().lentBytes()
        + memory.constantBytes()
        + memory.laneBytes()
        + memory.stateBytes()
        + memory.frameworkBytes();
  }

  /** What transfers have come to. */
  public TransferCounters transfers() {
    return server.switcher().transfers();
  }

  /** Whole pages for the weights of the largest model, in bytes. */
  public long roomForLargest() {
    Ledger weights = memory().weights();
    long most = weights.entries().stream().mapToLong(Ledger.Entry::weightBytes).max().orElseThrow();
    return Math.ceilDiv(most, weights.pageBytes()) * weights.pageBytes();
  }

  /** Its devices, several perhaps; what follows speaks of an only one. */
  public ServingDevices devices() {
    return server.devices();
  }

  /** How online and offline work share the device. */
  public Sharing sharing() {
    return server.switcher().sharing();
  }

  /** What has been interrupted so far. */
  public Preemptions preemptions() {
    return server.switcher().preemptions();
  }

  /** Where it answers over HTTP. */
  public URI url() {
    return URI.create(server.url());
  }

  @Override
  public void close() {
    taken.forEach(server.transferMemory()::giveBack);
    server.close();
  }
}

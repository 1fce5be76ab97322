package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A model that ONNX Runtime has loaded. It may run on several platform threads at once, each with
 * an {@link IoBinding} of its own.
 */
public final class OrtSession implements AutoCloseable {
  /*
   * ONNX Runtime looks whether a domain is known to the process, and adds it, without a lock: of
   * two first sessions one would be refused. So the first is built alone, once for the process.
   */
  private static final System.Logger LOG = System.getLogger(OrtSession.class.getName());
  private static final Object FIRST = new Object();
  private static volatile boolean gateDomainKnown;

  private final OrtEnvironment environment;
  private final ExecutionProvider provider;
  private final long session;
  private final long enqueueOptions;
  private final List<TensorSpec> inputs;
  private final List<TensorSpec> outputs;
  private final Set<String> hostInputs;
  private final Set<String> hostOutputs;

  private OrtSession(
      OrtEnvironment environment, long session, long enqueueOptions, ExecutionProvider provider) {
    this.environment = environment;
    this.provider = provider;
    this.session = session;
    this.enqueueOptions = enqueueOptions;
    inputs =
        specs(
            OrtApi.SESSION_GET_INPUT_COUNT,
            OrtApi.SESSION_GET_INPUT_NAME,
            OrtApi.SESSION_GET_INPUT_TYPE_INFO);
    outputs =
        specs(
            OrtApi.SESSION_GET_OUTPUT_COUNT,
            OrtApi.SESSION_GET_OUTPUT_NAME,
            OrtApi.SESSION_GET_OUTPUT_TYPE_INFO);
    boolean host = provider instanceof ExecutionProvider.Cpu;
    hostInputs = host ? names(inputs) : onHost(OrtApi.SESSION_GET_MEMORY_INFO_FOR_INPUTS, inputs);
    hostOutputs =
        host ? names(outputs) : onHost(OrtApi.SESSION_GET_MEMORY_INFO_FOR_OUTPUTS, outputs);
  }

  static OrtSession open(OrtEnvironment environment, Path model, SessionSettings settings) {
    OrtApi api = environment.api();
    long options = api.create(OrtApi.CREATE_SESSION_OPTIONS);
    try (Arena arena = Arena.ofConfined()) {
      api.call(
          OrtApi.SET_SESSION_GRAPH_OPTIMIZATION_LEVEL, options, settings.optimization().level());
      api.call(OrtApi.SET_INTRA_OP_NUM_THREADS, options, settings.intraOpThreads());
      api.call(OrtApi.ADD_CUSTOM_OP_DOMAIN, options, environment.gateDomain());
      settings.optimizedModel().ifPresent(file -> writeOptimized(api, options, arena, file));
      if (settings.provider() instanceof ExecutionProvider.Cuda cuda) {
        CudaProviderOptions.append(api, options, cuda, settings.optimization());
      }
      if (settings.deviceAllocator()) {
        configure(api, options, arena, "session.use_env_allocators", "1");
      }
      for (Map.Entry<String, OrtTensor> entry : settings.initializers().entrySet()) {
        api.call(
            OrtApi.ADD_INITIALIZER,
            options,
            arena.allocateFrom(entry.getKey()).address(),
            entry.getValue().address());
      }
      MemorySegment out = arena.allocate(JAVA_LONG);
      create(environment, arena.allocateFrom(model.toString()), options, out);
      return described(environment, out.get(JAVA_LONG, 0), settings);
    } finally {
      api.invoke(OrtApi.RELEASE_SESSION_OPTIONS, options);
    }
  }

  private static void create(
      OrtEnvironment environment, MemorySegment model, long options, MemorySegment out) {
    if (gateDomainKnown) {
      createAtOnce(environment, model, options, out);
      return;
    }
    synchronized (FIRST) {
      createAtOnce(environment, model, options, out);
      gateDomainKnown = true;
    }
  }

  private static void createAtOnce(
      OrtEnvironment environment, MemorySegment model, long options, MemorySegment out) {
    environment
        .api()
        .call(
            OrtApi.CREATE_SESSION, environment.address(), model.address(), options, out.address());
  }

  /** Takes over a native session, which ends when it has something that cannot be served. */
  private static OrtSession described(
      OrtEnvironment environment, long session, SessionSettings settings) {
    OrtApi api = environment.api();
    long enqueueOptions = 0;
    try {
      enqueueOptions = api.create(OrtApi.CREATE_RUN_OPTIONS);
      leaveAsynchronous(api, enqueueOptions);
      return new OrtSession(environment, session, enqueueOptions, settings.provider());
    } catch (RuntimeException e) {
      if (enqueueOptions != 0) {
        api.invoke(OrtApi.RELEASE_RUN_OPTIONS, enqueueOptions);
      }
      api.invoke(OrtApi.RELEASE_SESSION, session);
      throw e;
    }
  }

  /** A run on a device returns once its work is enqueued; its stream tells when it is done. */
  private static void leaveAsynchronous(OrtApi api, long runOptions) {
    try (Arena arena = Arena.ofConfined()) {
      api.call(
          OrtApi.ADD_RUN_CONFIG_ENTRY,
          runOptions,
          arena.allocateFrom("disable_synchronize_execution_providers").address(),
          arena.allocateFrom("1").address());
    }
  }

  /** The graph goes to the file, its large constants to another beside it: files have no limit. */
  private static void writeOptimized(OrtApi api, long options, Arena arena, Path file) {
    String key = "session.optimized_model_external_initializers_";
    api.call(
        OrtApi.SET_OPTIMIZED_MODEL_FILE_PATH,
        options,
        arena.allocateFrom(file.toString()).address());
    configure(api, options, arena, key + "file_name", file.getFileName() + ".data");
    configure(api, options, arena, key + "min_size_in_bytes", "1024");
  }

  private static void configure(OrtApi api, long options, Arena arena, String key, String value) {
    api.call(
        OrtApi.ADD_SESSION_CONFIG_ENTRY,
        options,
        arena.allocateFrom(key).address(),
        arena.allocateFrom(value).address());
  }

  /** The graph's inputs, in its order; streamed weights are among them. */
  public List<TensorSpec> inputs() {
    return inputs;
  }

  public List<TensorSpec> outputs() {
    return outputs;
  }

  /** Names of the inputs that are read in ordinary memory, whatever device the session is for. */
  public Set<String> hostInputs() {
    return hostInputs;
  }

  /** Names of the outputs that are computed in ordinary memory. */
  public Set<String> hostOutputs() {
    return hostOutputs;
  }

  /** Creates a set of inputs and outputs to run with. */
  public IoBinding newBinding() {
    return new IoBinding(environment, this);
  }

  long address() {
    return session;
  }

  /** Options of a run that returns once its work is enqueued. */
  long enqueueOptions() {
    return enqueueOptions;
  }

  /**
   * Ends the session, once its device has done everything it was given: a callback that frees a
   * run's pinned memory, and finds the session's allocator otherwise gone, ends the process.
   */
  @Override
  public void close() {
    if (provider instanceof ExecutionProvider.Cuda) {
      awaitDevice();
    }
    environment.api().invoke(OrtApi.RELEASE_RUN_OPTIONS, enqueueOptions);
    environment.api().invoke(OrtApi.RELEASE_SESSION, session);
  }

  private void awaitDevice() {
    OrtApi api = environment.api();
    long binding = 0;
    try {
      binding = api.get(OrtApi.CREATE_IO_BINDING, session);
      api.call(OrtApi.SYNCHRONIZE_BOUND_INPUTS, binding);
    } catch (StatusException e) {
      LOG.log(System.Logger.Level.WARNING, "a device failed before its session ended", e);
    } finally {
      if (binding != 0) {
        api.invoke(OrtApi.RELEASE_IO_BINDING, binding);
      }
    }
  }

  private static Set<String> names(List<TensorSpec> specs) {
    return specs.stream().map(TensorSpec::name).collect(Collectors.toUnmodifiableSet());
  }

  /** Those whose memory is not the device's own. */
  private Set<String> onHost(int function, List<TensorSpec> specs) {
    Set<String> result = new HashSet<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment infos = arena.allocate(JAVA_LONG, Math.max(1, specs.size()));
      environment.api().call(function, session, infos.address(), specs.size());
      for (int i = 0; i < specs.size(); i++) {
        if (environment.isHostMemory(infos.getAtIndex(JAVA_LONG, i))) {
          result.add(specs.get(i).name());
        }
      }
    }
    return Set.copyOf(result);
  }

  private List<TensorSpec> specs(int counter, int namer, int typer) {
    OrtApi api = environment.api();
    long count = api.get(counter, session);
    List<TensorSpec> result = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      result.add(spec(api, i, namer, typer));
    }
    return List.copyOf(result);
  }

  private TensorSpec spec(OrtApi api, long index, int namer, int typer) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_LONG);
      api.call(namer, session, index, environment.defaultAllocator(), out.address());
      long name = out.get(JAVA_LONG, 0);
      String text = OrtApi.string(name);
      api.call(OrtApi.ALLOCATOR_FREE, environment.defaultAllocator(), name);
      long info = api.get(typer, session, index);
      try {
        long tensor = api.get(OrtApi.CAST_TYPE_INFO_TO_TENSOR_INFO, info);
        if (tensor == 0) {
          throw new StatusException(
              Status.UNIMPLEMENTED,
              "\"" + text + "\" is a sequence, a map or optional; only tensors can be served");
        }
        Shape shape = shape(api, tensor, arena);
        return new TensorSpec(
            text, type(api, tensor), shape, dimensionNames(api, tensor, shape.rank(), arena));
      } finally {
        api.invoke(OrtApi.RELEASE_TYPE_INFO, info);
      }
    }
  }

  private static TensorType type(OrtApi api, long tensorInfo) {
    return TensorType.ofOnnx((int) api.get(OrtApi.GET_TENSOR_ELEMENT_TYPE, tensorInfo));
  }

  private static Shape shape(OrtApi api, long tensorInfo, Arena arena) {
    long rank = api.get(OrtApi.GET_DIMENSIONS_COUNT, tensorInfo);
    MemorySegment dimensions = arena.allocate(JAVA_LONG, Math.max(1, rank));
    api.call(OrtApi.GET_DIMENSIONS, tensorInfo, dimensions.address(), rank);
    long[] result = new long[(int) rank];
    for (int d = 0; d < rank; d++) {
      result[d] = Math.max(-1, dimensions.getAtIndex(JAVA_LONG, d));
    }
    return Shape.of(result);
  }

  private static List<String> dimensionNames(OrtApi api, long tensorInfo, int rank, Arena arena) {
    MemorySegment names = arena.allocate(JAVA_LONG, Math.max(1, rank));
    api.call(OrtApi.GET_SYMBOLIC_DIMENSIONS, tensorInfo, names.address(), rank);
    List<String> result = new ArrayList<>(rank);
    for (int d = 0; d < rank; d++) {
      result.add(OrtApi.string(names.getAtIndex(JAVA_LONG, d)));
    }
    return result.stream().allMatch(String::isEmpty) ? List.of() : result;
  }
}

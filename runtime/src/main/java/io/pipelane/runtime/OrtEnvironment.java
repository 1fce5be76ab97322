package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * ONNX Runtime, loaded once for the process, with our allocator and the gate operator registered.
 *
 * <p>Sessions are built and run on platform threads only: their upcalls would pin the carriers of
 * virtual threads. Safe for any thread; close it after its sessions. ONNX Runtime itself has one
 * environment a process and keeps one allocator for each memory in it, so several are open at the
 * same time only if each has the memory of another device.
 */
public final class OrtEnvironment implements AutoCloseable {
  /** Errors come back as statuses, which say the same. */
  private static final int LOG_FATAL = 4;

  private static final int DEVICE_ALLOCATOR = 0;
  private static final int DEFAULT_MEMORY = 0;
  private static final int PROCESSOR = 0;

  /** The kind of device memory that is pinned host memory. */
  private static final int HOST_ACCESSIBLE = 5;

  private final OrtApi api;
  private final Arena arena = Arena.ofShared();
  private final long environment;
  private final long memoryInfo;
  private final long hostMemoryInfo;
  private final long gateDomain;
  private final long defaultAllocator;

  private OrtEnvironment(
      OrtApi api, TensorMemory tensorMemory, ExecutionProvider gates, DeviceAllocator allocator) {
    this.api = api;
    environment = api.get(OrtApi.CREATE_ENV, LOG_FATAL, arena.allocateFrom("pipelane").address());
    memoryInfo = createMemoryInfo(tensorMemory);
    hostMemoryInfo = createMemoryInfo(TensorMemory.HOST);
    RegisteredAllocator registered = new RegisteredAllocator(allocator, memoryInfo, arena);
    api.call(OrtApi.REGISTER_ALLOCATOR, environment, registered.address());
    gateDomain =
        api.get(OrtApi.CREATE_CUSTOM_OP_DOMAIN, arena.allocateFrom(GateOperator.DOMAIN).address());
    GateOperator gate = new GateOperator(api, gates, tensorMemory, arena);
    api.call(OrtApi.CUSTOM_OP_DOMAIN_ADD, gateDomain, gate.address());
    defaultAllocator = api.create(OrtApi.GET_ALLOCATOR_WITH_DEFAULT_OPTIONS);
  }

  /**
   * Loads the library and opens an environment whose sessions run on the processor.
   *
   * @param library see {@link OrtLibrary}
   * @param allocator serves every session opened with {@link SessionSettings#deviceAllocator}
   * @throws io.pipelane.config.StatusException when the library cannot be loaded or is too old
   */
  public static OrtEnvironment open(Path library, DeviceAllocator allocator) {
    return open(library, TensorMemory.HOST, ExecutionProvider.CPU, allocator);
  }

  /**
   * The same for any provider.
   *
   * @param tensorMemory where tensors are bound: a session whose provider has memory of its own
   *     copies from and to ordinary memory by itself
   * @param gates the provider that the gates of its sessions belong to
   */
  public static OrtEnvironment open(
      Path library, TensorMemory tensorMemory, ExecutionProvider gates, DeviceAllocator allocator) {
    return new OrtEnvironment(OrtApi.load(library), tensorMemory, gates, allocator);
  }

  /** ONNX Runtime's version, e.g. {@code 1.28.0}. */
  public String version() {
    return api.version();
  }

  /**
   * Builds a session of a model file.
   *
   * @throws io.pipelane.config.StatusException when ONNX Runtime refuses the model, or has no
   *     memory for its constants
   */
  public OrtSession open(Path model, SessionSettings settings) {
    return OrtSession.open(this, model, settings);
  }

  @Override
  public void close() {
    api.invoke(OrtApi.UNREGISTER_ALLOCATOR, environment, memoryInfo);
    api.invoke(OrtApi.RELEASE_CUSTOM_OP_DOMAIN, gateDomain);
    api.invoke(OrtApi.RELEASE_MEMORY_INFO, memoryInfo);
    api.invoke(OrtApi.RELEASE_MEMORY_INFO, hostMemoryInfo);
    api.invoke(OrtApi.RELEASE_ENV, environment);
    arena.close();
  }

  OrtApi api() {
    return api;
  }

  long address() {
    return environment;
  }

  /** Describes the memory that tensors are bound in. */
  long memoryInfo() {
    return memoryInfo;
  }

  /** Describes ordinary memory. */
  long hostMemoryInfo() {
    return hostMemoryInfo;
  }

  /** Whether a memory information of ONNX Runtime's is about memory that the processor reads. */
  boolean isHostMemory(long info) {
    MemorySegment type = api.results();
    api.invoke(OrtApi.MEMORY_INFO_GET_DEVICE_TYPE, info, type.address());
    int memory = (int) api.invoke(OrtApi.MEMORY_INFO_GET_DEVICE_MEMORY_TYPE, info);
    return type.get(JAVA_INT, 0) == PROCESSOR || memory == HOST_ACCESSIBLE;
  }

  long gateDomain() {
    return gateDomain;
  }

  /** ONNX Runtime's own allocator, for the few things that it insists to own. */
  long defaultAllocator() {
    return defaultAllocator;
  }

  private long createMemoryInfo(TensorMemory tensorMemory) {
    String memoryName;
    int device;
    switch (tensorMemory) {
      case TensorMemory.Host host -> {
        memoryName = "Cpu";
        device = 0;
      }
      case TensorMemory.Cuda cuda -> {
        memoryName = "Cuda";
        device = cuda.device();
      }
    }
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment out = scratch.allocate(JAVA_LONG);
      api.call(
          OrtApi.CREATE_MEMORY_INFO,
          scratch.allocateFrom(memoryName).address(),
          DEVICE_ALLOCATOR,
          device,
          DEFAULT_MEMORY,
          out.address());
      return out.get(JAVA_LONG, 0);
    }
  }
}

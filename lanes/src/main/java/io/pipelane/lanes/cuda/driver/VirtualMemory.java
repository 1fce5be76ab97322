package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * CUDA's virtual memory management on one device: addresses are reserved, memory is created, and
 * the one is mapped to the other. Sizes and addresses are multiples of the granularity.
 *
 * <p>Safe for any thread; binds the context itself. Nothing here waits for work on the device.
 */
public final class VirtualMemory implements Mappings {
  private static final long PROPERTIES_BYTES = 32;
  private static final long ACCESS_BYTES = 12;
  private static final int PINNED = 1;
  private static final int POSIX_FILE_DESCRIPTOR = 1;
  private static final int ON_DEVICE = 1;
  private static final int READ = 1;
  private static final int READ_WRITE = 3;

  private final CudaContext context;
  private final DriverFunctions functions;
  private final MemorySegment properties;
  private final MemorySegment access;
  private final MemorySegment readAccess;
  private final long granularity;

  public VirtualMemory(CudaContext context) {
    this.context = context;
    this.functions = context.functions();
    // CUmemAllocationProp: type, requested handle types, location (type, id).
    properties = Arena.global().allocate(PROPERTIES_BYTES, Long.BYTES);
    properties.set(JAVA_INT, 0, PINNED);
    properties.set(JAVA_INT, 4, POSIX_FILE_DESCRIPTOR);
    properties.set(JAVA_INT, 8, ON_DEVICE);
    properties.set(JAVA_INT, 12, context.index());
    access = access(READ_WRITE);
    readAccess = access(READ);
    try (Arena arena = Arena.ofConfined()) {
      context.bind();
      MemorySegment answer = arena.allocate(JAVA_LONG);
      functions.allocationGranularity.call(answer.address(), properties.address(), 0);
      granularity = answer.get(JAVA_LONG, 0);
    }
  }

  /** A CUmemAccessDesc: location (type, id), flags. */
  private MemorySegment access(int flags) {
    MemorySegment description = Arena.global().allocate(ACCESS_BYTES, Long.BYTES);
    description.set(JAVA_INT, 0, ON_DEVICE);
    description.set(JAVA_INT, 4, context.index());
    description.set(JAVA_INT, 8, flags);
    return description;
  }

  /** The least that memory is created and mapped in: 2 MiB on all devices so far. */
  public long granularity() {
    return granularity;
  }

  /** Reserves addresses without memory; touching them is an error that the context dies of. */
  public long reserve(long bytes, long alignment) {
    context.bind();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment answer = arena.allocate(JAVA_LONG);
      functions.addressReserve.call(answer.address(), bytes, alignment, 0);
      return answer.get(JAVA_LONG, 0);
    }
  }

  /** Gives reserved addresses back, all that one call reserved. */
  public void free(long address, long bytes) {
    context.bind();
    functions.addressFree.call(address, bytes);
  }

  /**
   * Takes device memory, which can be exported as a file descriptor.
   *
   * @return its handle
   */
  public long create(long bytes) {
    context.bind();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment answer = arena.allocate(JAVA_LONG);
      functions.create.call(answer.address(), bytes, properties.address(), 0);
      return answer.get(JAVA_LONG, 0);
    }
  }

  /**
   * Makes a file descriptor of memory, by which another process can {@link #importFrom} it.
   *
   * @return the caller's to close
   */
  public int export(long handle) {
    context.bind();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment answer = arena.allocate(JAVA_INT);
      functions.exportHandle.call(answer.address(), handle, POSIX_FILE_DESCRIPTOR, 0);
      return answer.get(JAVA_INT, 0);
    }
  }

  /**
   * Takes a share in memory of another process, which lives until all that share it have released
   * it.
   *
   * @param descriptor may be closed afterwards
   * @return its handle here
   */
  public long importFrom(int descriptor) {
    context.bind();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment answer = arena.allocate(JAVA_LONG);
      functions.importHandle.call(answer.address(), descriptor, POSIX_FILE_DESCRIPTOR);
      return answer.get(JAVA_LONG, 0);
    }
  }

  /** Mappings that the device may not write to, if it knows such, beside those that it may. */
  public Mappings forReading() {
    return new ReadMappings(this);
  }

  /** Lets the device read mapped addresses alone. */
  void allowReading(long address, long bytes) {
    context.bind();
    functions.setAccess.call(address, bytes, readAccess.address(), 1);
  }

  /** Gives memory back, once it is mapped nowhere. */
  public void release(long handle) {
    context.bind();
    functions.release.call(handle);
  }

  @Override
  public void map(long address, long bytes, long handle) {
    context.bind();
    functions.map.call(address, bytes, 0, handle);
  }

  @Override
  public void allowAccess(long address, long bytes) {
    context.bind();
    functions.setAccess.call(address, bytes, access.address(), 1);
  }

  @Override
  public void unmap(long address, long bytes) {
    context.bind();
    functions.unmap.call(address, bytes);
  }
}

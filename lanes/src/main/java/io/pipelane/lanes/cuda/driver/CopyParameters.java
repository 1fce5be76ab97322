package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.lanes.cuda.driver.CopyNode.MemoryType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongToIntFunction;
import jcuda.driver.CUmemorytype;

/** CUDA's description of a copy, the structure CUDA_MEMCPY3D, read and written. */
final class CopyParameters {
  private static final long BYTE_SIZE = 200;

  private static final long SOURCE_OFFSET = 0;
  private static final long SOURCE_TYPE = 32;
  private static final long SOURCE_HOST = 40;
  private static final long SOURCE_DEVICE = 48;
  private static final long DESTINATION_OFFSET = 88;
  private static final long DESTINATION_TYPE = 120;
  private static final long DESTINATION_HOST = 128;
  private static final long DESTINATION_DEVICE = 136;
  private static final long WIDTH_BYTES = 176;
  private static final long HEIGHT = 184;
  private static final long DEPTH = 192;

  private CopyParameters() {}

  static MemorySegment allocate(Arena arena) {
    return arena.allocate(BYTE_SIZE, Long.BYTES);
  }

  /**
   * Reads a copy.
   *
   * @param memoryType what an address is to CUDA, for those that say no more than themselves
   */
  static CopyNode read(long node, MemorySegment parameters, LongToIntFunction memoryType) {
    long rows =
        Math.max(1, parameters.get(JAVA_LONG, HEIGHT))
            * Math.max(1, parameters.get(JAVA_LONG, DEPTH));
    int sourceType = parameters.get(JAVA_INT, SOURCE_TYPE);
    int destinationType = parameters.get(JAVA_INT, DESTINATION_TYPE);
    long source =
        parameters.get(JAVA_LONG, SOURCE_OFFSET)
            + parameters.get(JAVA_LONG, isHost(sourceType) ? SOURCE_HOST : SOURCE_DEVICE);
    long destination =
        parameters.get(JAVA_LONG, DESTINATION_OFFSET)
            + parameters.get(
                JAVA_LONG, isHost(destinationType) ? DESTINATION_HOST : DESTINATION_DEVICE);
    return new CopyNode(
        node,
        type(sourceType, source, memoryType),
        source,
        type(destinationType, destination, memoryType),
        destination,
        parameters.get(JAVA_LONG, WIDTH_BYTES),
        rows);
  }

  /** Lets a copy read from device memory, and write to it if it said no more than an address. */
  static void readFromDevice(MemorySegment parameters, long address) {
    parameters.set(JAVA_LONG, SOURCE_OFFSET, 0);
    parameters.set(JAVA_INT, SOURCE_TYPE, CUmemorytype.CU_MEMORYTYPE_DEVICE);
    parameters.set(JAVA_LONG, SOURCE_HOST, 0);
    parameters.set(JAVA_LONG, SOURCE_DEVICE, address);
    if (parameters.get(JAVA_INT, DESTINATION_TYPE) == CUmemorytype.CU_MEMORYTYPE_UNIFIED) {
      parameters.set(JAVA_INT, DESTINATION_TYPE, CUmemorytype.CU_MEMORYTYPE_DEVICE);
    }
  }

  private static MemoryType type(int type, long address, LongToIntFunction memoryType) {
    return switch (type) {
      case CUmemorytype.CU_MEMORYTYPE_DEVICE -> MemoryType.DEVICE;
      case CUmemorytype.CU_MEMORYTYPE_ARRAY -> MemoryType.ARRAY;
      case CUmemorytype.CU_MEMORYTYPE_UNIFIED ->
          memoryType.applyAsInt(address) == CUmemorytype.CU_MEMORYTYPE_DEVICE
              ? MemoryType.DEVICE
              : MemoryType.HOST;
      default -> MemoryType.HOST;
    };
  }

  private static boolean isHost(int type) {
    return type == CUmemorytype.CU_MEMORYTYPE_HOST;
  }
}

package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Values without meaning for constants that a session repacks when it is built: their repacked form
 * arrives later. Of use until the session is built.
 */
public final class StandInWeights implements AutoCloseable {
  /*
   * No two may be equal: ONNX Runtime keeps one repacked form of constants that are equal once they
   * are repacked, and gives it to several kernels. So each stand-in is another window of the same
   * memory, which counts up.
   */
  private static final long STEP_BYTES = 64;

  private final Arena arena = Arena.ofShared();
  private final OrtEnvironment environment;
  private final MemorySegment memory;
  private final Map<String, OrtTensor> tensors = new LinkedHashMap<>();

  /**
   * Makes room for stand-ins.
   *
   * @param windows how many different ones there are
   * @param largestBytes the size of the largest
   */
  public StandInWeights(OrtEnvironment environment, int windows, long largestBytes) {
    this.environment = environment;
    memory = arena.allocate(largestBytes + windows * STEP_BYTES, STEP_BYTES);
    for (long i = 0; i < memory.byteSize() / Integer.BYTES; i++) {
      memory.setAtIndex(JAVA_INT, i, (int) i);
    }
  }

  /** Stand-ins for all of some weights. */
  public static StandInWeights of(OrtEnvironment environment, List<RepackedWeight> weights) {
    long largest = weights.stream().mapToLong(RepackedWeight::byteSize).max().orElse(0);
    StandInWeights standIns = new StandInWeights(environment, weights.size(), largest);
    for (int i = 0; i < weights.size(); i++) {
      RepackedWeight weight = weights.get(i);
      standIns.add(weight.name(), weight.type(), weight.shape(), weight.byteSize(), i);
    }
    return standIns;
  }

  /** Adds a stand-in; different windows have different content. */
  public void add(String name, TensorType type, Shape shape, long byteSize, int window) {
    long address = memory.asSlice(window * STEP_BYTES, byteSize).address();
    tensors.put(name, OrtTensor.over(environment, address, byteSize, type, shape));
  }

  /** What was added, by name. */
  public Map<String, OrtTensor> tensors() {
    return tensors;
  }

  @Override
  public void close() {
    tensors.values().forEach(OrtTensor::close);
    arena.close();
  }
}

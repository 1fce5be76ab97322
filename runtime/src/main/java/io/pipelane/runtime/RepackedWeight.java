package io.pipelane.runtime;

/**
 * A constant that one kernel repacks, into memory that it allocates while its session is built, and
 * never reads itself again.
 *
 * @param byteSize of the constant as the model has it
 * @param allocation which of the session's allocations holds it repacked, counted from 0
 * @param offset where that lies, from the beginning of the weights
 * @param packedBytes the size of that allocation
 * @param segment the segment that reads it
 */
public record RepackedWeight(
    String name,
    TensorType type,
    Shape shape,
    long byteSize,
    int allocation,
    long offset,
    long packedBytes,
    int segment) {

  /** The same, repacked to another place. */
  public RepackedWeight at(long place) {
    return new RepackedWeight(name, type, shape, byteSize, allocation, place, packedBytes, segment);
  }
}

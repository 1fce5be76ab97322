package io.pipelane.demo.report;

/**
 * The demo's measurements of one model.
 *
 * @param weightBytes brought to the device
 * @param inPlaceBytes read where they lie in host memory
 * @param groups copies that brought the weights to the device
 * @param coldMillis a request that finds no weights on the device
 * @param warmMillis a request that finds all of them there
 * @param difference of its answers from a plain ONNX Runtime session's, relative, the largest seen
 * @param tolerance up to which they count as equal
 */
public record ModelRow(
    String model,
    long weightBytes,
    long inPlaceBytes,
    int groups,
    double coldMillis,
    double warmMillis,
    double difference,
    double tolerance) {

  /** Whether its answers count as equal. */
  public boolean isEqual() {
    return difference <= tolerance;
  }
}

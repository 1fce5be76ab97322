package io.pipelane.lanes.cuda.execution.recording;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CopyNode;
import io.pipelane.lanes.cuda.driver.CopyNode.MemoryType;
import java.util.List;

/** The decision on a captured segment's copies. */
final class HostCopies {
  /*
   * Kernels read tables of pointers and shapes, a few hundred bytes each, which are uploaded from
   * pinned buffers that ONNX Runtime reuses. A replayed copy of that kind would read whatever lies
   * there by then, and would queue behind the weights on the same copy engine. A copy from device
   * memory does neither.
   */
  static final long MAXIMUM_BYTES = 16L << 20;

  private HostCopies() {}

  /**
   * Those of a segment's copies that read host memory, and have to read device memory instead.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} when one of them cannot be replayed
   */
  static List<CopyNode> toReplace(List<CopyNode> copies) {
    for (CopyNode copy : copies) {
      if (copy.destinationType() != MemoryType.DEVICE) {
        throw refusal("a segment brings %d bytes to the host", copy);
      }
      if (copy.sourceType() == MemoryType.HOST && !copy.isContiguous()) {
        throw refusal("a segment reads rows of %d bytes from the host", copy);
      }
    }
    List<CopyNode> result = copies.stream().filter(CopyNode::isHostToDevice).toList();
    long bytes = result.stream().mapToLong(CopyNode::bytes).sum();
    if (bytes > MAXIMUM_BYTES) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "a segment reads %d bytes from the host; %d can be kept".formatted(bytes, MAXIMUM_BYTES));
    }
    return result;
  }

  private static StatusException refusal(String reason, CopyNode copy) {
    return new StatusException(Status.UNIMPLEMENTED, reason.formatted(copy.bytes()));
  }
}

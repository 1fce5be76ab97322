package io.pipelane.lanes.cuda.execution.recording;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CapturedGraph;
import io.pipelane.lanes.cuda.driver.CopyNode;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * A captured segment, and what its copies would have read from host memory, which is reused once
 * the run is over.
 */
public record RecordedSegment(CapturedGraph graph, List<HostPayload> payloads) {
  /** The bytes that a copy brings to the device. */
  record HostPayload(CopyNode copy, MemorySegment content) {}

  /**
   * Takes the payloads of a graph that has just been captured.
   *
   * @throws StatusException when the graph works on the host at each launch
   */
  static RecordedSegment of(CapturedGraph graph) {
    if (graph.hasHostNodes()) {
      throw new StatusException(Status.UNIMPLEMENTED, "a segment calls functions on the host");
    }
    List<HostPayload> payloads =
        HostCopies.toReplace(graph.copies()).stream()
            .map(copy -> new HostPayload(copy, content(copy)))
            .toList();
    return new RecordedSegment(graph, payloads);
  }

  private static MemorySegment content(CopyNode copy) {
    MemorySegment source = MemorySegment.ofAddress(copy.source()).reinterpret(copy.bytes());
    return MemorySegment.ofArray(source.toArray(ValueLayout.JAVA_BYTE));
  }
}

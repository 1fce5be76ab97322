package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.graph.content.TensorContent;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The kind of device that a graph is cut for: it decides which constants are streamed and which
 * values are gated.
 */
public enum GraphTarget {
  /**
   * The processor: one memory for every value; small constants stay, for kernels to repack; tables
   * are read in place.
   */
  PROCESSOR,

  /**
   * A GPU: shapes are computed beside it, on the host; weights of every size are streamed, so that
   * versions with other weights share one structure; of tables only those are read in place, over
   * the link, whose rows are many more than a run names.
   */
  GPU;

  /** Streamed weights below this stand together in front of all others. */
  static final long SLAB_BYTES = 1 << 10;

  /** The constants that are streamed. */
  public WeightSelection selection() {
    return switch (this) {
      case PROCESSOR -> WeightSelection.DEFAULT;
      case GPU -> WeightSelection.SHARED_STRUCTURE;
    };
  }

  HostValues hostValues(GraphProto graph, List<NodeProto> order, ElementTypes types) {
    return switch (this) {
      case PROCESSOR -> HostValues.NONE;
      case GPU -> HostValues.of(graph, order, types);
    };
  }

  /** The weights that a run reads where they lie in host memory. */
  Set<String> readInPlace(List<NodeProto> order, Map<String, TensorProto> weights) {
    return switch (this) {
      case PROCESSOR -> RowReads.of(order, weights, RowReads.Least.MAPPED);
      case GPU -> RowReads.of(order, weights, RowReads.Least.OVER_THE_LINK);
    };
  }

  /**
   * How many times smaller than others the first segment is to be, for which all computation waits;
   * the second is half as many times smaller. Where copies are grouped anyway it is of no use.
   */
  int headStart() {
    return switch (this) {
      case PROCESSOR -> 4;
      case GPU -> 1;
    };
  }

  DeviceSpeed speed() {
    return switch (this) {
      case PROCESSOR -> DeviceSpeed.PROCESSOR;
      case GPU -> DeviceSpeed.GPU;
    };
  }

  /** The weights that stand in front, in segment 0, whichever segment reads them. */
  Set<String> slab(Map<String, TensorProto> weights) {
    return switch (this) {
      case PROCESSOR -> Set.of();
      case GPU ->
          weights.values().stream()
              .filter(tensor -> TensorContent.byteSize(tensor) < SLAB_BYTES)
              .map(TensorProto::getName)
              .collect(Collectors.toSet());
    };
  }
}

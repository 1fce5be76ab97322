package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.util.List;

/**
 * A graph whose streamed weights are inputs, with a gate between every two segments.
 *
 * <p>A gate is a node {@code Gate} of the domain {@code ai.pipelane}, version 1, with an integer
 * attribute {@code gate}: the number of the segment it begins, from 1. Output i of it is input i.
 * The weights follow the model's own inputs, in the order of the weights file; behind them come
 * those that are read in place.
 *
 * @param inPlace in ascending order of offsets
 * @param segments at least one; segment 0 has no gate
 * @param weightBytes the size of the weights file
 */
public record GatedGraph(
    ModelProto model,
    List<Weight> weights,
    List<InPlaceWeight> inPlace,
    List<Segment> segments,
    long weightBytes) {
  public static final String GATE_DOMAIN = "ai.pipelane";
  public static final String GATE_OPERATOR = "Gate";
  public static final String GATE_ATTRIBUTE = "gate";
  public static final long GATE_VERSION = 1;

  /**
   * Every weight begins at a multiple of this, which is what CUDA's libraries choose kernels by.
   */
  public static final long ALIGNMENT = 256;

  public GatedGraph {
    weights = List.copyOf(weights);
    inPlace = List.copyOf(inPlace);
    segments = List.copyOf(segments);
  }

  /**
   * A streamed weight.
   *
   * @param offset bytes from the beginning of the weights file
   * @param segment the first segment that reads it
   */
  public record Weight(
      String name, TensorType type, Shape shape, long offset, long byteSize, int segment) {}

  /**
   * A stretch of nodes between two gates.
   *
   * @param byteSize bytes of weights it is the first to read, padding included
   * @param layers nodes in it, gates not counted
   * @param estimatedNanos what its nodes take, as {@link NodeTimes} estimates it
   */
  public record Segment(long offset, long byteSize, int layers, long estimatedNanos) {}

  static long align(long bytes) {
    return Math.addExact(bytes, ALIGNMENT - 1) & -ALIGNMENT;
  }
}

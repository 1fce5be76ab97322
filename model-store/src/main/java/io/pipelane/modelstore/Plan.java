package io.pipelane.modelstore;

import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.AssumedSizes;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.util.List;

/**
 * The plan of a structure, which import has found out: the order of its weights, their offsets, and
 * its gates.
 *
 * <p>The weights file holds the streamed weights in execution order. Segments are contiguous,
 * ordered ranges of it: segment 0 needs no gate, segment i &gt; 0 begins with gate i. A segment
 * without weights has zero bytes. Some weights lie in the file as the model has them, and are
 * inputs of the session; others lie there as kernels have repacked them, and are initializers.
 *
 * <p>Weights of which a run reads a few rows may be read where they lie in host memory, by a GPU
 * over its link. They have a file of their own, belong to no segment, and are never brought onto
 * the device.
 *
 * @param structureHash identifies the graph without what is streamed; versions may share it
 * @param weights those that are inputs
 * @param repacked those that lie in the file repacked
 * @param inPlace those that are inputs and are read in place, in ascending order of offsets
 * @param weightBytes the size of the weights file
 * @param weightChecksum CRC-32C of the weights file
 * @param constantBytes bytes of the constants that stay inside a session
 * @param batchPadding whether batches may be filled up; inputs' open dimensions are -1 in their
 *     specs
 * @param batching whether requests may run together
 * @param channelsLast whether the graph's convolutions run channels last, which its sessions have
 *     to be told
 * @param broughtToHost how many values a run on a GPU brings to the processor, for nodes that have
 *     no kernel there
 * @param repeats whether the graph repeats a part of itself as often as values say, so that shapes
 *     do not tell how long a run takes
 * @param notes what an owner should know, e.g. which constants could not be streamed and why
 */
public record Plan(
    String structureHash,
    List<TensorSpec> inputs,
    List<TensorSpec> outputs,
    List<StreamedWeight> weights,
    List<RepackedWeight> repacked,
    List<InPlaceWeight> inPlace,
    List<Segment> segments,
    long weightBytes,
    long weightChecksum,
    long constantBytes,
    Padding batchPadding,
    Batching batching,
    boolean channelsLast,
    int broughtToHost,
    boolean repeats,
    List<String> notes) {

  /** Every streamed weight begins at a multiple of this, in the file and on the device. */
  public static final long WEIGHT_ALIGNMENT = GatedGraph.ALIGNMENT;

  public Plan {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    weights = List.copyOf(weights);
    repacked = List.copyOf(repacked);
    inPlace = List.copyOf(inPlace);
    segments = List.copyOf(segments);
    notes = List.copyOf(notes);
  }

  /**
   * A plan of a model whose requests run alone, are never padded, and none of whose weights is
   * repacked or read in place.
   */
  public Plan(
      String structureHash,
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      List<StreamedWeight> weights,
      List<Segment> segments,
      long weightBytes,
      long weightChecksum,
      long constantBytes,
      List<String> notes) {
    this(
        structureHash,
        inputs,
        outputs,
        weights,
        List.of(),
        List.of(),
        segments,
        weightBytes,
        weightChecksum,
        constantBytes,
        Padding.notApplicable("nobody has tried"),
        Batching.notApplicable("nobody has tried"),
        false,
        0,
        false,
        notes);
  }

  /** The same of a structure that goes by another name. */
  public Plan withStructure(String name) {
    return new Plan(
        name,
        inputs,
        outputs,
        weights,
        repacked,
        inPlace,
        segments,
        weightBytes,
        weightChecksum,
        constantBytes,
        batchPadding,
        batching,
        channelsLast,
        broughtToHost,
        repeats,
        notes);
  }

  /** The size of the file of weights that are read in place. */
  public long inPlaceBytes() {
    return inPlace.isEmpty() ? 0 : inPlace.getLast().end();
  }

  /** The weights of a graph that was cut, as a plan keeps them. */
  public static List<StreamedWeight> weightsOf(GatedGraph gated) {
    return gated.weights().stream()
        .map(
            w ->
                new StreamedWeight(
                    w.name(), w.type(), w.shape(), w.offset(), w.byteSize(), w.segment()))
        .toList();
  }

  /** The segments of a graph that was cut, as a plan keeps them. */
  public static List<Segment> segmentsOf(GatedGraph gated) {
    return gated.segments().stream()
        .map(s -> new Segment(s.offset(), s.byteSize(), s.layers(), s.estimatedNanos()))
        .toList();
  }

  /**
   * A constant of the model that lives outside the session and is bound by address.
   *
   * @param offset bytes from the beginning of the weights file
   * @param segment the first segment that reads it
   */
  public record StreamedWeight(
      String name, TensorType type, Shape shape, long offset, long byteSize, int segment) {

    /** The same in another place. */
    public StreamedWeight at(long place) {
      return new StreamedWeight(name, type, shape, place, byteSize, segment);
    }
  }

  /**
   * A stretch of layers between two gates.
   *
   * @param offset where its weights begin in the weights file
   * @param byteSize bytes of weights it is the first to read, padding included
   * @param layers graph nodes in it
   * @param estimatedNanos what it was expected to take when the graph was cut, on a usual device of
   *     the import's kind: for inputs of {@link AssumedSizes#USUAL}; 0 where that is not known
   */
  public record Segment(long offset, long byteSize, int layers, long estimatedNanos) {
    /** The same where the shapes that its time was estimated by do not hold. */
    public Segment withoutEstimate() {
      return new Segment(offset, byteSize, layers);
    }

    /** A segment of which nobody has estimated the time. */
    public Segment(long offset, long byteSize, int layers) {
      this(offset, byteSize, layers, 0);
    }

    public long end() {
      return offset + byteSize;
    }
  }
}

package io.pipelane.modelstore.importing;

import ai.onnx.proto.OnnxMl.GraphProto;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.StandInWeights;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.RepackedGraph;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.TensorContent;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.zip.CRC32C;

/** The search for the allocations of a session's building that hold weights, repacked. */
final class RepackSearch {
  /*
   * The session is built once with some content in every weight, then once for each binary digit of
   * the weights' numbers, with other content in those weights whose number has the digit. What an
   * allocation depends on shows in which builds its content changes, however weights are repacked.
   *
   * ONNX Runtime loads the graph's own constants first (the small ones, others stay where the graph
   * was parsed), in an order that differs from build to build; then it lets one kernel after the
   * other repack, in the order of the nodes.
   */
  private final OrtEnvironment environment;
  private final ImportMemory memory;
  private final Path model;
  private final List<Weight> weights;

  /** Bytes and checksum of one allocation. */
  private record Trace(long bytes, long checksum) {
    static Trace of(MemorySegment allocation) {
      CRC32C sum = new CRC32C();
      for (long at = 0; at < allocation.byteSize(); at += 1 << 30) {
        long bytes = Math.min(1 << 30, allocation.byteSize() - at);
        sum.update(allocation.asSlice(at, bytes).asByteBuffer());
      }
      return new Trace(allocation.byteSize(), sum.getValue());
    }
  }

  private RepackSearch(
      OrtEnvironment environment, ImportMemory memory, Path model, List<Weight> weights) {
    this.environment = environment;
    this.memory = memory;
    this.model = model;
    this.weights = weights;
  }

  /**
   * Searches for the weights that are repacked.
   *
   * @param model see {@link RepackedGraph}
   * @param weights the initializers of the graph that are streamed
   * @return those that are, in their order, all with offset 0
   * @throws IllegalStateException when a session's building cannot be repeated or understood
   */
  static List<RepackedWeight> of(
      OrtEnvironment environment, ImportMemory memory, Path model, List<Weight> weights)
      throws IOException {
    RepackSearch search = new RepackSearch(environment, memory, model, weights);
    return search.find(ModelFile.read(model).graph());
  }

  private List<RepackedWeight> find(GraphProto graph) {
    List<Trace> base = build(-1);
    int constants = constants(graph, base);
    int[] numbers = new int[base.size()];
    for (int digit = 0; 1 << digit <= weights.size(); digit++) {
      List<Trace> changed = build(digit);
      require(changed.size() == base.size(), "the number of allocations varies");
      for (int i = constants; i < base.size(); i++) {
        require(changed.get(i).bytes == base.get(i).bytes, "allocation " + i + " varies in size");
        numbers[i] |= changed.get(i).checksum == base.get(i).checksum ? 0 : 1 << digit;
      }
    }
    TreeMap<Integer, RepackedWeight> found = new TreeMap<>();
    for (int i = constants; i < numbers.length; i++) {
      int number = numbers[i];
      require(number <= weights.size(), "allocation " + i + " depends on several weights");
      if (number > 0) {
        RepackedWeight weight = repacked(weights.get(number - 1), i, base.get(i).bytes);
        require(
            found.put(number, weight) == null, weight.name() + " is repacked into several pieces");
      }
    }
    return List.copyOf(found.values());
  }

  /** Builds the session with other content in the weights whose number, from 1, has a digit. */
  private List<Trace> build(int digit) {
    long largest = weights.stream().mapToLong(Weight::byteSize).max().orElse(0);
    try (StandInWeights standIns = new StandInWeights(environment, 2 * weights.size(), largest)) {
      for (int i = 0; i < weights.size(); i++) {
        boolean other = digit >= 0 && ((i + 1) >> digit & 1) == 1;
        Weight weight = weights.get(i);
        standIns.add(
            weight.name(),
            weight.type(),
            weight.shape(),
            weight.byteSize(),
            other ? weights.size() + i : i);
      }
      SessionSettings settings = SessionSettings.onDevice(1).withInitializers(standIns.tensors());
      return memory.recording(
          () -> environment.open(model, settings),
          allocations -> allocations.stream().map(Trace::of).toList());
    }
  }

  /** How many of the first allocations hold constants of the graph; it owns others by itself. */
  private int constants(GraphProto graph, List<Trace> allocations) {
    List<String> streamed = weights.stream().map(Weight::name).toList();
    List<Long> sizes = new ArrayList<>();
    graph.getInitializerList().stream()
        .filter(constant -> !streamed.contains(constant.getName()))
        .forEach(constant -> sizes.add(TensorContent.byteSize(constant)));
    int count = 0;
    while (count < allocations.size() && sizes.remove((Long) allocations.get(count).bytes)) {
      count++;
    }
    return count;
  }

  private static RepackedWeight repacked(Weight weight, int allocation, long bytes) {
    return new RepackedWeight(
        weight.name(),
        weight.type(),
        weight.shape(),
        weight.byteSize(),
        allocation,
        0,
        bytes,
        weight.segment());
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalStateException(otherwise);
    }
  }
}

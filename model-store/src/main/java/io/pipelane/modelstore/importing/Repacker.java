package io.pipelane.modelstore.importing;

import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.RepackedGraph;
import io.pipelane.runtime.graph.content.ModelFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The repacking of a gated graph's weights by ONNX Runtime, whose result is kept. A weights file
 * then holds, for each segment, weights as they are and weights as kernels want them.
 */
final class Repacker {
  private final OrtEnvironment environment;
  private final ImportMemory memory;
  private final GatedGraph gated;
  private final Path rawWeights;

  /**
   * A repacker for one graph.
   *
   * @param rawWeights its weights file
   */
  Repacker(OrtEnvironment environment, ImportMemory memory, GatedGraph gated, Path rawWeights) {
    this.environment = environment;
    this.memory = memory;
    this.gated = gated;
    this.rawWeights = rawWeights;
  }

  /**
   * Writes a model and its weights file.
   *
   * @param model beside the raw weights
   * @return empty when no kernel repacks a weight; the files are of no use then
   * @throws IllegalStateException when it cannot be found out what kernels do
   */
  Optional<Layout> write(Path model, Path weights) throws IOException {
    List<Weight> candidates = RepackedGraph.candidates(gated);
    List<RepackedWeight> found = List.of();
    while (found.size() < candidates.size()) {
      String anyFile = rawWeights.getFileName().toString();
      ModelFile.write(RepackedGraph.of(gated, candidates, anyFile), model);
      found = RepackSearch.of(environment, memory, model, candidates);
      Set<String> names = new HashSet<>();
      found.forEach(weight -> names.add(weight.name()));
      candidates = candidates.stream().filter(weight -> names.contains(weight.name())).toList();
    }
    return found.isEmpty() ? Optional.empty() : Optional.of(write(model, weights, found));
  }

  private Layout write(Path model, Path weights, List<RepackedWeight> repacked) throws IOException {
    Layout layout = layOut(repacked);
    try (Arena arena = Arena.ofShared();
        FileChannel file = FileChannel.open(rawWeights)) {
      MemorySegment bytes = file.map(MapMode.READ_ONLY, 0, gated.weightBytes(), arena);
      Map<String, MemorySegment> raw = new HashMap<>();
      for (Weight weight : gated.weights()) {
        raw.put(weight.name(), bytes.asSlice(weight.offset(), weight.byteSize()));
      }
      Map<String, OrtTensor> values = new HashMap<>();
      repacked.forEach(weight -> values.put(weight.name(), over(weight, raw)));
      try {
        SessionSettings settings = SessionSettings.onDevice(1).withInitializers(values);
        return memory.recording(
            () -> environment.open(model, settings),
            allocations -> write(weights, layout, raw, allocations));
      } finally {
        values.values().forEach(OrtTensor::close);
      }
    }
  }

  private OrtTensor over(RepackedWeight weight, Map<String, MemorySegment> raw) {
    MemorySegment bytes = content(weight.name(), raw);
    return OrtTensor.over(
        environment, bytes.address(), bytes.byteSize(), weight.type(), weight.shape());
  }

  private static MemorySegment content(String name, Map<String, MemorySegment> raw) {
    return Objects.requireNonNull(raw.get(name), name);
  }

  /** Segment by segment, what stays as it is first; the layout's checksum is yet unknown. */
  private Layout layOut(List<RepackedWeight> found) {
    Set<String> names = new HashSet<>();
    found.forEach(weight -> names.add(weight.name()));
    List<Plan.StreamedWeight> asTheyAre = new ArrayList<>();
    List<RepackedWeight> repacked = new ArrayList<>();
    List<Plan.Segment> segments = new ArrayList<>();
    long end = 0;
    for (int segment = 0; segment < gated.segments().size(); segment++) {
      long begin = end;
      for (Plan.StreamedWeight weight : Plan.weightsOf(gated)) {
        if (weight.segment() == segment && !names.contains(weight.name())) {
          asTheyAre.add(weight.at(end));
          end = aligned(end + weight.byteSize());
        }
      }
      for (RepackedWeight weight : found) {
        if (weight.segment() == segment) {
          repacked.add(weight.at(end));
          end = aligned(end + weight.packedBytes());
        }
      }
      GatedGraph.Segment raw = gated.segments().get(segment);
      segments.add(new Plan.Segment(begin, end - begin, raw.layers(), raw.estimatedNanos()));
    }
    return new Layout(asTheyAre, repacked, gated.inPlace(), segments, end, 0);
  }

  private static Layout write(
      Path file, Layout layout, Map<String, MemorySegment> raw, List<MemorySegment> allocations) {
    SortedMap<Long, MemorySegment> parts = new TreeMap<>();
    for (Plan.StreamedWeight weight : layout.weights()) {
      parts.put(weight.offset(), content(weight.name(), raw));
    }
    for (RepackedWeight weight : layout.repacked()) {
      parts.put(weight.offset(), allocations.get(weight.allocation()));
    }
    try (WeightsFile weights = WeightsFile.create(file)) {
      for (Map.Entry<Long, MemorySegment> part : parts.entrySet()) {
        weights.padTo(part.getKey());
        weights.write(part.getValue());
      }
      weights.padTo(layout.byteSize());
      return layout.withChecksum(weights.checksum());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long aligned(long bytes) {
    return (bytes + Plan.WEIGHT_ALIGNMENT - 1) & -Plan.WEIGHT_ALIGNMENT;
  }
}

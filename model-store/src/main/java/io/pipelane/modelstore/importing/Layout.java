package io.pipelane.modelstore.importing;

import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.RepackedPlacement;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.StandInWeights;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.nio.file.Path;
import java.util.List;

/**
 * The layout of a weights file, and of the file of what is read in place.
 *
 * @param weights those that the session takes as inputs
 * @param repacked those that lie there as kernels have repacked them
 * @param inPlace those in the other file
 * @param byteSize of the weights file
 * @param checksum CRC-32C of the weights file
 */
record Layout(
    List<Plan.StreamedWeight> weights,
    List<RepackedWeight> repacked,
    List<InPlaceWeight> inPlace,
    List<Plan.Segment> segments,
    long byteSize,
    long checksum) {

  /** Every weight as the model has it. */
  static Layout of(GatedGraph gated, long checksum) {
    return new Layout(
        Plan.weightsOf(gated),
        List.of(),
        gated.inPlace(),
        Plan.segmentsOf(gated),
        gated.weightBytes(),
        checksum);
  }

  Layout withChecksum(long sum) {
    return new Layout(weights, repacked, inPlace, segments, byteSize, sum);
  }

  /**
   * Builds a session for weights at an address; their content arrives afterwards.
   *
   * @param settings of a session that repacks nothing
   */
  OrtSession open(
      OrtEnvironment environment,
      Path model,
      long address,
      SessionSettings settings,
      ImportMemory memory) {
    if (repacked.isEmpty()) {
      return environment.open(model, settings);
    }
    try (StandInWeights standIns = StandInWeights.of(environment, repacked)) {
      SessionSettings repacking = SessionSettings.onDevice(1).withInitializers(standIns.tensors());
      return memory.placing(
          new RepackedPlacement(repacked, address), () -> environment.open(model, repacking));
    }
  }
}

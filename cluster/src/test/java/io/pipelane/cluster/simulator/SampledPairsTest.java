package io.pipelane.cluster.simulator;

import io.pipelane.cluster.speed.MeasuredPair;
import io.pipelane.cluster.speed.PerceptronPredictor;
import java.util.List;
import org.junit.jupiter.api.Test;

class SampledPairsTest {
  @Test
  void error() {
    for (GpuType gpu : List.of(GpuType.T4_LIKE, GpuType.H200_LIKE))
      for (SharingWay way : List.of(SharingWay.SPACE, SharingWay.GATES))
        for (int epochs : new int[] {50, 200, 400}) {
          List<MeasuredPair> pairs = SampledPairs.draw(gpu, way, 2000, 1);
          long b = System.nanoTime();
          PerceptronPredictor p = PerceptronPredictor.train(pairs.subList(0, 1600), epochs, 1);
          System.out.println(
              gpu.name()
                  + way
                  + epochs
                  + " err "
                  + p.error(pairs.subList(1600, 2000))
                  + " train "
                  + p.error(pairs.subList(0, 1600))
                  + " s "
                  + (System.nanoTime() - b) / 1e9);
        }
  }
}

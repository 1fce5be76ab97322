package io.pipelane.loadgen.drive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RequestPickerTest {
  private static final int DRAWS = 200_000;

  @Test
  void nextModel_zipf_frequenciesAreTheShares() {
    assertFrequencies(new ModelChoice.Zipf(0.9), 7);
  }

  @Test
  void nextModel_uniform_frequenciesAreEqual() {
    assertFrequencies(new ModelChoice.Uniform(), 8);
  }

  @Test
  void shares_zipfOfOne_areHarmonic() {
    assertArrayEquals(
        new double[] {6 / 11.0, 3 / 11.0, 2 / 11.0}, new ModelChoice.Zipf(1).shares(3), 1e-12);
  }

  @Test
  void nextVariant_severalVariants_takeTurns() {
    RequestPicker picker =
        new RequestPicker(new ModelChoice.Uniform(), models(2, 3), new SplittableRandom(1));

    List<Integer> first = IntStream.range(0, 4).map(_ -> picker.nextVariant(0)).boxed().toList();

    assertEquals(List.of(0, 1, 2, 0), first);
    assertEquals(0, picker.nextVariant(1));
  }

  private static void assertFrequencies(ModelChoice choice, long seed) {
    int models = 10;
    RequestPicker picker = new RequestPicker(choice, models(models, 1), new SplittableRandom(seed));
    double[] frequencies = new double[models];
    for (int i = 0; i < DRAWS; i++) {
      frequencies[picker.nextModel()] += 1.0 / DRAWS;
    }

    assertArrayEquals(choice.shares(models), frequencies, 0.005, "seed " + seed);
  }

  private static List<ModelRequests> models(int models, int variants) {
    PreparedRequest request = PreparedRequest.json(new byte[0]);
    return IntStream.range(0, models)
        .mapToObj(i -> ModelRequests.infer("m" + i, Collections.nCopies(variants, request)))
        .toList();
  }
}

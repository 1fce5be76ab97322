package io.pipelane.switcher.schedule.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.schedule.estimate.RunKey;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class UnfitSizesTest {
  private static final ModelVersion MODEL = new ModelVersion("bert", 1);
  private static final ModelVersion OTHER = new ModelVersion("resnet", 1);

  private final AtomicLong now = new AtomicLong();
  private final UnfitSizes unfit = new UnfitSizes(now::get);

  @Test
  void sizeThatFailed_isFollowedByTheNextSmallerForTheModelAlone() {
    unfit.add(MODEL, 2);
    assertEquals(1, unfit.fitting(MODEL, 2));
    assertEquals(2, unfit.fitting(OTHER, 2));
    unfit.add(MODEL, 1);
    unfit.add(MODEL, 0);
    assertEquals(UnfitSizes.NONE, unfit.fitting(MODEL, 2));
    assertEquals(UnfitSizes.NONE, unfit.fitting(OTHER, -1), "the share is closed");
  }

  @Test
  void tenMinutesLater_itIsTriedAgain() {
    unfit.add(MODEL, 1);
    now.set(Duration.ofMinutes(10).toNanos() - 1);
    assertEquals(0, unfit.fitting(MODEL, 1));
    now.incrementAndGet();
    assertEquals(1, unfit.fitting(MODEL, 1));
  }

  private static RunKey run(ModelVersion model) {
    return RunKey.of(new InferenceRequest(model, List.of(), List.of()));
  }

  @Test
  void runThatIsTooLarge_keepsItsModelsSizes() {
    unfit.addTooLarge(run(MODEL));
    assertTrue(unfit.isTooLarge(run(MODEL)));
    assertFalse(unfit.isTooLarge(run(OTHER)));
    assertEquals(2, unfit.fitting(MODEL, 2));
    now.set(Duration.ofMinutes(10).toNanos());
    assertFalse(unfit.isTooLarge(run(MODEL)));
    unfit.addTooLarge(run(MODEL));
    unfit.forget(MODEL);
    assertFalse(unfit.isTooLarge(run(MODEL)));
  }

  @Test
  void howeverManyRunsAreTooLarge_notAllAreKept() {
    for (int size = 0; size < 5_000; size++) {
      unfit.addTooLarge(run(new ModelVersion("m" + size, 1)));
    }
    assertTrue(unfit.tooLarge() <= 1_000, unfit.tooLarge() + " are kept");
  }

  @Test
  void forgotten_itIsTriedAgain() {
    unfit.add(MODEL, 1);
    unfit.add(OTHER, 1);
    unfit.forget(MODEL);
    assertEquals(1, unfit.fitting(MODEL, 1));
    assertEquals(0, unfit.fitting(OTHER, 1));
  }
}

package io.pipelane.switcher.grouping;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel.Prediction;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.util.List;
import org.junit.jupiter.api.Test;

class PipelineModelTest {
  private static final long COST = 10;

  /** One nanosecond a byte. */
  private static final LinkModel LINK = LinkModel.line(COST, 1e9);

  private static final PipelineModel MODEL =
      new PipelineModel(
          LINK,
          List.of(new Segment(100, 50), new Segment(0, 30), new Segment(200, 40)),
          /* leadNanos= */ 5,
          /* waitNanos= */ 2);

  @Test
  void copyNanos_ofALine_isTheLineAndNothingForNothing() {
    assertEquals(0, LINK.copyNanos(0));
    assertEquals(11, LINK.copyNanos(1));
    assertEquals(COST + (1 << 30), LINK.copyNanos(1 << 30));
  }

  @Test
  void predict_everythingResident_isWarm() {
    assertEquals(new Prediction(120, 120), MODEL.predict(List.of()));
  }

  @Test
  void predict_oneGroup_isTheCopyAndThenTheRun() {
    Prediction prediction = MODEL.predict(List.of(new Group(0, 300)));
    assertEquals(5 + LINK.copyNanos(300) + 2 + 120, prediction.totalNanos());
    assertEquals(prediction.totalNanos() - 120, prediction.stallNanos());
  }

  @Test
  void predict_groupPerSegment_overlapsCopiesAndExecution() {
    long first = 5 + LINK.copyNanos(100);
    long second = first + LINK.copyNanos(200);
    Prediction prediction = MODEL.predict(List.of(new Group(0, 100), new Group(100, 300)));
    assertEquals(Math.max(first + 2 + 80, second) + 2 + 40, prediction.totalNanos());
  }

  @Test
  void predict_groupsInsideASegment_areAllWaitedForThere() {
    long arrived = 5 + LINK.copyNanos(100) + LINK.copyNanos(100);
    Prediction prediction = MODEL.predict(List.of(new Group(100, 200), new Group(200, 300)));
    assertEquals(Math.max(80 + 2, arrived) + 2 + 40, prediction.totalNanos());
  }

  @Test
  void predict_residentPrefix_computesMeanwhile() {
    PipelineModel fast =
        new PipelineModel(LINK, List.of(new Segment(100, 1000), new Segment(200, 40)), 0, 0);
    assertEquals(0, fast.predict(List.of(new Group(100, 300))).stallNanos());
  }
}

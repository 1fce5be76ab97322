package io.pipelane.switcher.grouping;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.switcher.grouping.ContendedRun.Course;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel.Prediction;
import io.pipelane.switcher.grouping.PipelineModel.Ready;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class ContendedRunTest {
  /** One nanosecond a byte. */
  private static final LinkModel LINK = LinkModel.line(0, 1e9);

  private static final PipelineModel ONE = model(new Segment(100, 1_000));

  private static PipelineModel model(Segment... segments) {
    return new PipelineModel(LINK, List.of(segments), 0, 0);
  }

  private static Course predict(
      PipelineModel model, Contention contention, long othersNanos, Group... missing) {
    return ContendedRun.predict(model, List.of(missing), List.of(), contention, othersNanos);
  }

  @Test
  void predict_copiesBesideTheWholeRun_computesLongerAndWaitsLess() {
    PipelineModel even = model(new Segment(100, 60), new Segment(1_000, 60));
    Course course = predict(even, new Contention(0.25, 0), 0, new Group(100, 1_100));
    assertEquals(new Prediction(1_000 + 60, 80 + 60), course.prediction());
    assertEquals(1_000 - 80, course.prediction().stallNanos());
    assertEquals(1_000, course.copiedNanos());
  }

  @Test
  void predict_copiesGoSlowerBesideComputation_notWhileItWaits() {
    PipelineModel even = model(new Segment(100, 60), new Segment(1_000, 60));
    Course course = predict(even, new Contention(0, 0.5), 0, new Group(100, 1_100));
    assertEquals(1_000 + 60 / 2, course.copiedNanos(), "beside 60 only 30 bytes have come");
    assertEquals(new Prediction(1_030 + 60, 120), course.prediction());
  }

  @Test
  void predict_bothLose_eachBesideTheOther() {
    PipelineModel even = model(new Segment(100, 60), new Segment(1_000, 60));
    Course course = predict(even, new Contention(0.25, 0.5), 0, new Group(100, 1_100));
    assertEquals(1_000 + 80 / 2, course.copiedNanos());
    assertEquals(new Prediction(1_040 + 60, 80 + 60), course.prediction());
  }

  @Test
  void predict_copiesEndAmidASegment_theRestIsAsFastAsAlone() {
    Course course = predict(ONE, new Contention(0.5, 0), 400);
    assertEquals(new Prediction(200 + 1_000, 1_200), course.prediction());
    assertEquals(0, course.copiedNanos());
  }

  @Test
  void predict_othersCopiesGoBefore_ownOnesBeginBehindThem() {
    Course course = predict(ONE, Contention.NONE, 400, new Group(0, 100));
    assertEquals(new Prediction(400 + 100 + 1_000, 1_000), course.prediction());
    assertEquals(500, course.copiedNanos());
  }

  @Test
  void predict_whatIsThereCanBeReadLater_copiesLoseNothingMeanwhile() {
    PipelineModel even = model(new Segment(100, 60), new Segment(100, 60));
    Contention half = new Contention(0.5, 0.5);
    Course course =
        ContendedRun.predict(
            even, List.of(new Group(100, 200)), List.of(new Ready(0, 100)), half, 0);
    assertEquals(new Prediction(100 + 120, 120), course.prediction());
    assertEquals(100, course.copiedNanos(), "it has come while nothing was computed");
  }

  @RepeatedTest(5)
  void predict_nothingIsLost_isThePipelines() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Segment> segments = new ArrayList<>();
    long bytes = 0;
    for (int i = 0; i < 1 + random.nextInt(8); i++) {
      segments.add(new Segment(random.nextInt(300), random.nextInt(300)));
      bytes += segments.getLast().bytes();
    }
    List<Group> missing = new ArrayList<>();
    for (long at = random.nextLong(bytes + 1); at < bytes; ) {
      long end = Math.min(bytes, at + 1 + random.nextInt(200));
      missing.add(new Group(at, end));
      at = end;
    }
    List<Ready> ready = List.of(new Ready(0, random.nextInt(200)));
    PipelineModel model = new PipelineModel(LinkModel.line(7, 1e9), segments, 5, 3);
    Course course = ContendedRun.predict(model, missing, ready, Contention.NONE, 0);
    assertEquals(model.predict(missing, ready), course.prediction(), "seed " + seed);
  }
}

package io.pipelane.bench.grouping;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.util.ArrayList;
import java.util.List;

/** The predicted times of a cold start in simple groups, by the model of the pipeline. */
final class Predictions {
  private final PipelineModel model;
  private final Plan plan;

  Predictions(PipelineModel model) {
    this.model = model;
    List<Plan.Segment> segments = new ArrayList<>();
    long offset = 0;
    for (Segment segment : model.segments()) {
      segments.add(new Plan.Segment(offset, segment.bytes(), 1));
      offset += segment.bytes();
    }
    plan = new Plan("", List.of(), List.of(), List.of(), segments, offset, 0, 0, List.of());
  }

  /** Nothing is resident; at most so many groups of about equal bytes, no small ones. */
  double equalBytesMillis(int groups, long minimumBytes) {
    return millis(new EqualBytesGrouping(groups, minimumBytes));
  }

  double oneGroupMillis() {
    return millis(new EqualBytesGrouping(1, 1));
  }

  double perLayerMillis() {
    return millis(new EqualBytesGrouping(Integer.MAX_VALUE, 1));
  }

  private double millis(Grouping grouping) {
    return model.predict(grouping.groups(plan, 0)).totalNanos() / 1e6;
  }

  /** The same model cut into stretches of about equal bytes, as import cuts. */
  static PipelineModel cut(PipelineModel layers, int most) {
    long target = Math.max(1, Math.ceilDiv(layers.weightBytes(), most));
    List<Segment> segments = new ArrayList<>();
    long bytes = 0;
    long nanos = 0;
    for (Segment layer : layers.segments()) {
      if (bytes >= target) {
        segments.add(new Segment(bytes, nanos));
        bytes = 0;
        nanos = 0;
      }
      bytes += layer.bytes();
      nanos += layer.executionNanos();
    }
    segments.add(new Segment(bytes, nanos));
    return new PipelineModel(layers.link(), segments, layers.leadNanos(), layers.waitNanos());
  }
}

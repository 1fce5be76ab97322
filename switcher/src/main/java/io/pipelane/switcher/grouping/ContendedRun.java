package io.pipelane.switcher.grouping;

import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel.Prediction;
import io.pipelane.switcher.grouping.PipelineModel.Ready;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.util.List;

/**
 * A run as {@link PipelineModel} has it, whose computation and copies take from each other what
 * {@link Contention} says.
 */
public final class ContendedRun {
  private final PipelineModel model;
  private final List<Group> missing;
  private final Contention contention;
  private final double othersEnd;
  private final double ownBegin;
  private double now;
  private double computing;
  private int arrived;

  /** Of the group under way, what its copy takes from now on without computation beside it. */
  private double copyLeft;

  private double copied;

  private ContendedRun(
      PipelineModel model, List<Group> missing, Contention contention, long othersNanos) {
    this.model = model;
    this.missing = missing;
    this.contention = contention;
    othersEnd = othersNanos;
    ownBegin = Math.max(model.leadNanos(), othersNanos);
    copyLeft = missing.isEmpty() ? 0 : copyNanos(0);
  }

  /**
   * The course of one run.
   *
   * @param copiedNanos since its begin, when its last group has come; 0 where it misses none
   */
  public record Course(Prediction prediction, long copiedNanos) {}

  /**
   * Follows a run.
   *
   * @param missing see {@link PipelineModel#predict(List)}
   * @param ready see {@link PipelineModel#predict(List, List)}
   * @param othersNanos how long copies for others, sent for before, are under way yet
   */
  public static Course predict(
      PipelineModel model,
      List<Group> missing,
      List<Ready> ready,
      Contention contention,
      long othersNanos) {
    return new ContendedRun(model, missing, contention, othersNanos).follow(ready);
  }

  private Course follow(List<Ready> ready) {
    long end = 0;
    int next = 0;
    int mapped = 0;
    for (Segment segment : model.segments()) {
      end += segment.bytes();
      for (; mapped < ready.size() && ready.get(mapped).offset() < end; mapped++) {
        pauseUntil((double) ready.get(mapped).nanos());
      }
      for (; next < missing.size() && missing.get(next).offset() < end; next++) {
        while (arrived <= next) {
          advance(nextChange(1), 1);
        }
        pauseUntil(now + model.waitNanos());
      }
      compute(segment.executionNanos());
    }
    Prediction prediction = new Prediction(Math.round(now), Math.round(computing));
    return new Course(prediction, Math.round(copied));
  }

  private void compute(long nanos) {
    double begin = now;
    double left = nanos;
    while (left > 0) {
      double speed = isCopying() ? contention.computingSpeed() : 1;
      double finished = now + left / speed;
      double change = nextChange(contention.copySpeed());
      if (finished <= change) {
        left = 0;
        advance(finished, contention.copySpeed());
      } else {
        left -= (change - now) * speed;
        advance(change, contention.copySpeed());
      }
    }
    computing += now - begin;
  }

  private void pauseUntil(double nanos) {
    while (now < nanos) {
      advance(Math.min(nanos, nextChange(1)), 1);
    }
  }

  private boolean isCopying() {
    return now < othersEnd || copiesOwn();
  }

  private boolean copiesOwn() {
    return now >= ownBegin && arrived < missing.size();
  }

  /** When the link ends what it does, or begins with something, if its copies have such a speed. */
  private double nextChange(double speed) {
    if (now < othersEnd) {
      return othersEnd;
    }
    if (arrived == missing.size()) {
      return Double.POSITIVE_INFINITY;
    }
    return now < ownBegin ? ownBegin : now + copyLeft / speed;
  }

  /** Time passes, at most to the next change. */
  private void advance(double until, double speed) {
    if (copiesOwn()) {
      if (until < nextChange(speed)) {
        copyLeft -= (until - now) * speed;
      } else {
        arrived++;
        copied = until;
        copyLeft = arrived < missing.size() ? copyNanos(arrived) : 0;
      }
    }
    now = until;
  }

  private long copyNanos(int group) {
    return model.link().copyNanos(missing.get(group).byteSize());
  }
}

package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.runtime.TensorType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The input shapes that one session is asked for again and again: what workers that stand by should
 * have run with before they take over. Safe for any thread.
 */
final class RepeatedShapes {
  /*
   * Every run passes here, most of them with the shapes of the one before, of which all has been
   * told: those are only compared, and make nothing. The monitor guards everything.
   */

  /** Shapes that one worker is warmed up for: as many as a session captures. */
  static final int MOST = 8;

  /** Shapes that are counted at a time; requests of more of them are hardly ever repeated. */
  private static final int COUNTED = 64;

  private static final int REPEATED = 2;

  /** Workers in a row. */
  private static final int MOST_LOSSES = 2;

  /**
   * The counts of a shape: how often it came, and how many workers in a row were lost at its run;
   * and how a standby should run it, once it should.
   */
  private record Counted(int times, Message.@Nullable WarmUp told, int losses) {
    static final Counted NONE = new Counted(0, null, 0);

    /** Whether there is nothing more to tell of it. */
    boolean isTold(boolean captured) {
      return isGivenUp() || (told != null && (told.captured() || !captured));
    }

    boolean isGivenUp() {
      return losses >= MOST_LOSSES;
    }

    boolean isOf(Message.WarmUp run) {
      return told != null && told.inputs().equals(run.inputs());
    }

    Counted withLosses(int now) {
      return new Counted(times, told, now);
    }
  }

  private final Map<List<InputShape>, Counted> counted = new LinkedHashMap<>(16, 0.75f, true);
  private List<InputShape> latest = List.of();
  private Counted latestCounted = Counted.NONE;
  private long runs;

  /**
   * Notes a run that has ended well.
   *
   * @param captured whether such runs are captured from now on
   * @param repetition how a standby should do it; asked where the run has changed that
   * @return what standbys should do now, if the run has changed that
   */
  synchronized Optional<Message.WarmUp> ran(
      List<InputTensor> inputs, boolean captured, Supplier<Message.WarmUp> repetition) {
    runs++;
    boolean isKnown = latestCounted.isTold(captured) && InputShape.areOf(latest, inputs);
    return isKnown || inputs.stream().anyMatch(RepeatedShapes::isOfStrings)
        ? Optional.empty()
        : count(InputShape.of(inputs), captured, repetition);
  }

  private static boolean isOfStrings(InputTensor input) {
    return input.type() == TensorType.BYTES;
  }

  private Optional<Message.WarmUp> count(
      List<InputShape> shapes, boolean captured, Supplier<Message.WarmUp> repetition) {
    Counted before = counted.getOrDefault(shapes, Counted.NONE);
    int times = before.times + 1;
    boolean isNews = (times >= REPEATED || captured) && !before.isTold(captured);
    Counted now = new Counted(times, isNews ? repetition.get() : before.told, before.losses);
    counted.put(shapes, now);
    if (counted.size() > COUNTED) {
      counted.remove(counted.keySet().iterator().next());
    }
    latest = shapes;
    latestCounted = now;
    return isNews ? Optional.ofNullable(now.told) : Optional.empty();
  }

  /** What a worker should do that has done nothing of it, what was asked for last first. */
  synchronized List<Message.WarmUp> all() {
    return List.copyOf(counted.values()).reversed().stream()
        .filter(each -> !each.isGivenUp())
        .map(Counted::told)
        .filter(Objects::nonNull)
        .limit(MOST)
        .toList();
  }

  /** How many runs there were. */
  synchronized long runs() {
    return runs;
  }

  /** Captures are no longer to be made: there is no memory for them. */
  synchronized void forgetCaptures() {
    counted.replaceAll(
        (shapes, each) ->
            new Counted(
                each.times, each.told == null ? null : each.told.captured(false), each.losses));
    latest = List.of();
  }

  /** A worker that stands by has run with one of them, and lives. */
  synchronized void warmedUp(Message.WarmUp run) {
    counted.replaceAll((shapes, each) -> each.isOf(run) ? each.withLosses(0) : each);
  }

  /**
   * A worker was lost that ran with one of them, which may be why. Where that happens again no
   * worker is to try it any more; once it may have been the device.
   */
  synchronized void costAWorker(Message.WarmUp run) {
    counted.replaceAll((shapes, each) -> each.isOf(run) ? each.withLosses(each.losses + 1) : each);
    latest = List.of();
  }
}

package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.runtime.Shape;
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

  private record Input(String name, TensorType type, Shape shape) {
    static Input of(InputTensor tensor) {
      return new Input(tensor.name(), tensor.type(), tensor.shape());
    }

    boolean is(InputTensor tensor) {
      return type == tensor.type() && name.equals(tensor.name()) && shape.equals(tensor.shape());
    }
  }

  /** How often there was a shape, and how a standby should run it, once it should. */
  private record Counted(int times, Message.@Nullable WarmUp told) {
    boolean isTold(boolean captured) {
      return told != null && (told.captured() || !captured);
    }
  }

  private final Map<List<Input>, Counted> counted = new LinkedHashMap<>(16, 0.75f, true);
  private List<Input> latest = List.of();
  private Counted latestCounted = new Counted(0, null);
  private long runs;
  private int losses;

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
    boolean isKnown = latestCounted.isTold(captured) && isLatest(inputs);
    return losses >= MOST_LOSSES || isKnown || inputs.stream().anyMatch(RepeatedShapes::isOfStrings)
        ? Optional.empty()
        : count(inputs.stream().map(Input::of).toList(), captured, repetition);
  }

  private boolean isLatest(List<InputTensor> inputs) {
    boolean same = inputs.size() == latest.size();
    for (int i = 0; same && i < latest.size(); i++) {
      same = latest.get(i).is(inputs.get(i));
    }
    return same;
  }

  private static boolean isOfStrings(InputTensor input) {
    return input.type() == TensorType.BYTES;
  }

  private Optional<Message.WarmUp> count(
      List<Input> shapes, boolean captured, Supplier<Message.WarmUp> repetition) {
    Counted before = counted.getOrDefault(shapes, new Counted(0, null));
    int times = before.times + 1;
    boolean isNews = (times >= REPEATED || captured) && !before.isTold(captured);
    Counted now = new Counted(times, isNews ? repetition.get() : before.told);
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
            new Counted(each.times, each.told == null ? null : each.told.captured(false)));
    latest = List.of();
  }

  /** A worker that stands by has run with one of them, and lives. */
  synchronized void warmedUp() {
    losses = 0;
  }

  /**
   * A worker was lost that ran with one of them, which may be why. Where that happens again and
   * again no worker is to try any more; once it may have been the device.
   */
  synchronized void costAWorker() {
    losses++;
    if (losses >= MOST_LOSSES) {
      counted.clear();
    }
  }
}

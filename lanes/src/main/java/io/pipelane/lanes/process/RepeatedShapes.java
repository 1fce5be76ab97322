package io.pipelane.lanes.process;

import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The input shapes that one session is asked for again and again: what workers that stand by should
 * have run with before they take over. Safe for any thread.
 */
final class RepeatedShapes {
  /** As many as a session captures. */
  private static final int MOST = 8;

  /** Shapes that are counted at a time; requests of more of them are hardly ever repeated. */
  private static final int COUNTED = 64;

  private static final int REPEATED = 2;

  /** A shape's latest run, as a standby should do it, and how often there was one. */
  private record Counted(Message.WarmUp run, int times) {
    boolean isRepeated() {
      return times >= REPEATED || run.captured();
    }
  }

  private final Map<List<PlacedTensor>, Counted> counted = new LinkedHashMap<>(16, 0.75f, true);
  private long runs;
  private boolean givenUp;

  /**
   * Notes a run that has ended well.
   *
   * @param run as a standby should do it
   * @return what standbys should do now, if the run has changed that
   */
  synchronized Optional<Message.WarmUp> ran(Message.WarmUp run) {
    runs++;
    if (givenUp || run.inputs().stream().anyMatch(PlacedTensor::isString)) {
      return Optional.empty();
    }
    List<PlacedTensor> shapes = run.inputs().stream().map(input -> input.at(0)).toList();
    Counted before = counted.getOrDefault(shapes, new Counted(run, 0));
    boolean wasCaptured = before.times > 0 && before.run.captured();
    Counted now = new Counted(run.captured(wasCaptured || run.captured()), before.times + 1);
    counted.put(shapes, now);
    if (counted.size() > COUNTED) {
      counted.remove(counted.keySet().iterator().next());
    }
    boolean isNews = now.times == REPEATED || now.run.captured() != wasCaptured;
    return now.isRepeated() && isNews ? Optional.of(now.run) : Optional.empty();
  }

  /** What a worker should do that has done nothing of it, what was asked for last first. */
  synchronized List<Message.WarmUp> all() {
    return counted.values().stream()
        .filter(Counted::isRepeated)
        .map(Counted::run)
        .toList()
        .reversed()
        .stream()
        .limit(MOST)
        .toList();
  }

  /** How many runs there were. */
  synchronized long runs() {
    return runs;
  }

  /** Captures are no longer to be made: there is no memory for them. */
  synchronized void forgetCaptures() {
    counted.replaceAll((shapes, each) -> new Counted(each.run.captured(false), each.times));
  }

  /** No worker is to try any more. */
  synchronized void giveUp() {
    givenUp = true;
    counted.clear();
  }
}

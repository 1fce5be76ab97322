package io.pipelane.switcher.simulator;

import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel.Prediction;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Replays traces against recorded plans, without a device and without a clock: the same trace gives
 * the same answer. Residency is decided by the classes that a server's memory daemon uses.
 */
public final class Simulator {
  /*
   * One link, first come, first served, and lanes that take requests in their order. A run's copies
   * are sent for when it begins, all at once, behind those of runs before it and behind a page that
   * is being brought in ahead; such a page is sent for only while the link has nothing to do. How
   * long a run takes from there on is the pipeline model's to say.
   *
   * Time moves from event to event; at each, everything that can begin does.
   */
  private static final int LOOK_AHEAD = 4;

  private final SimulatorSettings settings;
  private final SimulatedMemory memory;
  private final Consumer<Copied> copies;
  private final long objectiveNanos;

  private enum Kind {
    CAME,
    RAN,
    LINK_FREE
  }

  /** Something happens; events of one moment in the order in which they were foreseen. */
  private record Event(long nanos, long number, Kind kind, int subject) {}

  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::nanos).thenComparingLong(Event::number));
  private final Deque<Integer> queue = new ArrayDeque<>();
  private long foreseen;
  private int idleLanes;
  private long linkFree;
  private long now;

  /** What requests in the queue are expected to take, and when runs end. */
  private final Map<Integer, Long> expectedNanos = new HashMap<>();

  private final PriorityQueue<Long> ends = new PriorityQueue<>();
  private long queuedNanos;

  /** The last request that has asked for its model's weights. */
  private int asked = -1;

  /**
   * A device on which nothing is.
   *
   * @param copies told of every copy when it is sent for
   */
  public Simulator(
      SimulatorSettings settings, List<SimulatedModel> models, Consumer<Copied> copies) {
    this(settings, models, copies, Long.MAX_VALUE);
  }

  /**
   * The same where every request has to be answered in time, or is refused: when it comes and
   * cannot make it behind those that wait, or when its turn comes and it cannot make it any more,
   * before any work was done for it (Gujarati et al., Clockwork, OSDI 2020).
   *
   * @param objectiveNanos from a request's coming to its answer, at most
   */
  public Simulator(
      SimulatorSettings settings,
      List<SimulatedModel> models,
      Consumer<Copied> copies,
      long objectiveNanos) {
    this.settings = settings;
    this.copies = copies;
    this.objectiveNanos = objectiveNanos;
    this.memory = new SimulatedMemory(settings, models);
    this.idleLanes = settings.lanes();
  }

  /** Replays a trace, which is sorted by time; once. */
  public Replay replay(List<TracedUse> trace) {
    Recording recording = new Recording(trace);
    for (int request = 0; request < trace.size(); request++) {
      foresee(trace.get(request).nanos(), Kind.CAME, request);
    }
    while (!events.isEmpty()) {
      Event event = events.remove();
      now = event.nanos;
      switch (event.kind) {
        case CAME -> come(event.subject, trace, recording);
        case RAN -> {
          idleLanes++;
          ends.remove(now);
          memory.ran(trace.get(event.subject).model());
        }
        case LINK_FREE -> {}
      }
      beginRuns(trace, recording);
      fetchAhead(trace, recording);
    }
    return recording.replay();
  }

  private void foresee(long nanos, Kind kind, int subject) {
    events.add(new Event(nanos, foreseen++, kind, subject));
  }

  private void come(int request, List<TracedUse> trace, Recording recording) {
    long own = memory.expectedNanos(trace.get(request).model(), now, linkFree);
    long before = idleLanes > 0 || ends.isEmpty() ? 0 : ends.peek() - now;
    if (before + queuedNanos / settings.lanes() + own > objectiveNanos) {
      recording.refused(request);
      return;
    }
    expectedNanos.put(request, own);
    queuedNanos += own;
    queue.addLast(request);
  }

  /** Takes the first request out of the queue. */
  private void unqueue() {
    @Nullable Long expected = expectedNanos.remove(queue.removeFirst());
    queuedNanos -= expected == null ? 0 : expected;
  }

  private boolean isTooLate(TracedUse request) {
    long waited = now - request.nanos();
    return waited > objectiveNanos - memory.expectedNanos(request.model(), now, linkFree);
  }

  private void beginRuns(List<TracedUse> trace, Recording recording) {
    while (idleLanes > 0 && !queue.isEmpty()) {
      int request = queue.getFirst();
      int model = trace.get(request).model();
      if (isTooLate(trace.get(request))) {
        unqueue();
        recording.refused(request);
        continue;
      }
      if (request > asked) {
        asked = request;
        memory.asked(model, now);
      }
      if (!memory.canBegin(model, now)) {
        return;
      }
      unqueue();
      idleLanes--;
      run(request, model, recording);
    }
  }

  private void run(int request, int model, Recording recording) {
    SimulatedMemory.Start start = memory.begin(model, now, linkFree);
    List<Group> sent = start.sent();
    Prediction prediction = start.prediction();
    long end = now + prediction.totalNanos();
    if (!sent.isEmpty()) {
      for (Group group : sent) {
        send(new Copied(model, group.offset(), group.end(), CopyReason.DEMAND), recording);
      }
      linkFree = start.linkFree();
      foresee(linkFree, Kind.LINK_FREE, model);
    }
    recording.ran(request, prediction.stallNanos(), end);
    ends.add(end);
    foresee(end, Kind.RAN, request);
  }

  /** One page at a time: for requests in the queue, else for planned prefixes. */
  private void fetchAhead(List<TracedUse> trace, Recording recording) {
    if (linkFree > now || !settings.residency().prefetch()) {
      return;
    }
    List<Integer> upcoming =
        queue.stream().limit(LOOK_AHEAD).map(request -> trace.get(request).model()).toList();
    memory
        .fetchAhead(upcoming, now)
        .ifPresent(
            page -> {
              send(page.copied(), recording);
              linkFree = page.arrives();
              foresee(linkFree, Kind.LINK_FREE, page.copied().model());
            });
  }

  private void send(Copied copied, Recording recording) {
    recording.copied(copied);
    copies.accept(copied);
  }
}
